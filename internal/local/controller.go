package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// A Controller is one replica of the controller: the first container of a pod of its Deployment, run as a process of this
// instance. It is started again when it ends by itself or its liveness probe fails; a caller who kills it decides when it
// comes back.
type Controller struct {
	*kubelet.Container

	Pod        string          // name that its pod would have
	Volume     *kubelet.Volume // of its service account
	HealthURL  string          // base; has /healthz and /readyz
	MetricsURL string
}

// Stop ends the process for good, and its token with it. It may be called more than once.
func (c *Controller) Stop() error {
	err := c.Container.Stop()
	c.Volume.Close()
	return err
}

// startController starts the controller as the installation's Deployment says.
func (c *Cluster) startController(ctx context.Context) error {
	metrics, health, err := c.claimPorts()
	if err != nil {
		return err
	}
	d, err := c.Deployment(cmp.Or(c.ports.Metrics, metrics), cmp.Or(c.ports.Health, health))
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	return c.Run(ctx, d)
}

// Deployment is the Deployment of the installation with the settings that were asked for. A setting of a port beats the port here; ports
// that are 0 are the chart's, whatever is set.
func (c *Cluster) Deployment(metricsPort, healthPort int) (*appsv1.Deployment, error) {
	objects, err := c.installation(metricsPort, healthPort)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			return d, nil
		}
	}
	return nil, errors.New("the installation has no Deployment")
}

// Run starts the controller as a Deployment has its first container, and waits until it is ready: its command, environment,
// ports, probes, grace period and service account. Those that run already are ended before, as in a rollout. How many
// replicas there are is Options.Replicas.
func (c *Cluster) Run(ctx context.Context, d *appsv1.Deployment) error {
	if err := c.stopControllers(); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(c.StateDir, "controller*.log"))
	if err != nil {
		return err
	}
	for _, path := range logs {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("start the controller: %w", err)
		}
	}
	c.deployment = d.DeepCopy()
	if c.Controller, err = c.replica(ctx, c.deployment, "controller"); err != nil {
		return err
	}
	if err := c.Controller.Start(ctx); err != nil {
		return err
	}
	for range c.options.Replicas - 1 {
		if _, err := c.AddReplica(ctx); err != nil {
			return err
		}
	}
	return nil
}

// AddReplica starts one more controller of the Deployment that runs, on ports of its own: a pod would have an address of its
// own. It waits until the process is ready.
func (c *Cluster) AddReplica(ctx context.Context) (*Controller, error) {
	name := "controller-" + strconv.Itoa(len(c.Replicas)+2)
	metrics, health, err := c.claimPorts()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	r, err := c.replica(ctx, withPorts(c.deployment, metrics, health), name)
	if err != nil {
		return nil, err
	}
	c.Replicas = append(c.Replicas, r)
	return r, r.Start(ctx)
}

// RollOut replaces the controller as the rollout of a Deployment does: the new one is started beside the old one, on ports of
// its own as a pod has them, and the old one is asked to end when the new one is ready. The log of the old one is kept.
//
// Errors: those of Run, with the old one running on; that the old one can't be ended.
func (c *Cluster) RollOut(ctx context.Context, d *appsv1.Deployment) error {
	metrics, health, err := c.claimPorts()
	if err != nil {
		return fmt.Errorf("roll the controller out: %w", err)
	}
	c.rollouts++
	next, err := c.replica(ctx, withPorts(d, metrics, health), fmt.Sprintf("controller-rollout-%d", c.rollouts))
	if err != nil {
		return fmt.Errorf("roll the controller out: %w", err)
	}
	if err := next.Start(ctx); err != nil {
		return errors.Join(fmt.Errorf("roll the controller out: %w", err), next.Stop())
	}
	c.deployment = d.DeepCopy()
	old := append(slices.Clone(c.Replicas), c.Controller)
	c.Controller, c.Replicas = next, nil
	var errs []error
	for _, o := range old {
		if o != nil {
			errs = append(errs, o.Terminate(), o.Stop())
		}
	}
	return errors.Join(errs...)
}

// withPorts is a Deployment whose first container listens on other ports, where it has them by the chart's names.
func withPorts(d *appsv1.Deployment, metrics, health int) *appsv1.Deployment {
	d = d.DeepCopy()
	setPorts(&d.Spec.Template.Spec.Containers[0], metrics, health)
	return d
}

func setPorts(container *corev1.Container, metrics, health int) (moved map[int]int) {
	moved = map[int]int{}
	port := map[string]int{manifests.MetricsPort: metrics, manifests.HealthPort: health}
	for i := range container.Ports {
		if n, ok := port[container.Ports[i].Name]; ok {
			moved[int(container.Ports[i].ContainerPort)] = n
			container.Ports[i].ContainerPort = int32(n)
		}
	}
	for i := range container.Env {
		switch e := &container.Env[i]; e.Name {
		case "METRICS_PORT":
			e.Value = strconv.Itoa(metrics)
		case "HEALTH_PROBE_PORT":
			e.Value = strconv.Itoa(health)
		}
	}
	return moved
}

func (c *Cluster) stopControllers() error {
	var errs []error
	all := c.Replicas
	if c.Controller != nil {
		all = append(slices.Clone(all), c.Controller)
	}
	for _, r := range all {
		errs = append(errs, r.Stop())
	}
	c.Controller, c.Replicas = nil, nil
	return errors.Join(errs...)
}

// replica makes what a controller needs to be started: the token of its service account, its environment and its probes.
func (c *Cluster) replica(ctx context.Context, d *appsv1.Deployment, name string) (*Controller, error) {
	fail := func(err error) (*Controller, error) { return nil, fmt.Errorf("start the controller: %w", err) }
	pod, err := c.Pod(ctx, d)
	if err != nil {
		return fail(err)
	}
	volume, err := c.Mount(ctx, pod)
	if err != nil {
		return fail(err)
	}
	container, err := c.process(pod, volume, c.key)
	if err != nil {
		volume.Close()
		return fail(err)
	}
	container.Name, container.Log = "the "+name, filepath.Join(c.StateDir, name+".log")
	r := &Controller{Pod: pod.Name, Volume: volume, Container: container}
	r.HealthURL, r.MetricsURL = urls(pod)
	return r, nil
}

// process is the first container of a pod as a process of this instance, without a name and a log.
func (c *Cluster) process(pod *kubelet.Pod, volume *kubelet.Volume, key world.AccessKey) (*kubelet.Container, error) {
	probes, err := kubelet.ProbesOf(&pod.Container, pod.Address)
	if err != nil {
		return nil, err
	}
	env, err := pod.Environment()
	if err != nil {
		return nil, err
	}
	command, err := c.command(pod, env)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := volume.Kubeconfig(c.Kube.Server)
	if err != nil {
		return nil, err
	}
	out := &kubelet.Container{
		Command: command, Dir: "/", Probes: probes, Report: c.options.Report,
		// The namespace of the Lease is what a program in a pod reads from a file that is mounted there.
		// What leads to this instance's API server and to the simulated AWS stands where a pod has its volume and EKS Pod Identity.
		Env: slices.Concat(manifests.ImageEnv(), []string{"KUBECONFIG=" + kubeconfig, "LEADER_ELECTION_NAMESPACE=" + pod.Namespace}, c.Simulator.EnvFor(key), env),
	}
	if pod.Grace != nil {
		out.Grace = time.Duration(*pod.Grace) * time.Second
	}
	return out, nil
}

// urls are where a pod answers by the chart's names of ports; empty where it has no such port.
func urls(pod *kubelet.Pod) (health, metrics string) {
	for _, p := range pod.Container.Ports {
		url := "http://" + net.JoinHostPort(pod.Address, strconv.Itoa(int(p.ContainerPort)))
		switch p.Name {
		case manifests.HealthPort:
			health = url
		case manifests.MetricsPort:
			metrics = url + "/metrics"
		}
	}
	return health, metrics
}

// command is the command line of a container: of the program that Options has for its image, or else of Kerf's own image.
func (c *Cluster) command(pod *kubelet.Pod, env []string) ([]string, error) {
	if program := c.options.Programs[Repository(pod.Container.Image)]; program != "" {
		return pod.Command([]string{program}, env), nil
	}
	command := pod.Command(manifests.EntryPoint(), env)
	if command[0] != manifests.Binary {
		return nil, fmt.Errorf("its container runs %s, and Kerf's image has %s alone", command[0], manifests.Binary)
	}
	command[0] = c.options.Binary
	return command, nil
}

// Repository is an image without its tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// claimPorts returns two ports for a controller, which are the cluster's until it is closed.
func (c *Cluster) claimPorts() (metrics, health int, err error) {
	ports, release, err := kubelet.ClaimPorts(2)
	if err != nil {
		return 0, 0, err
	}
	c.releases = append(c.releases, release)
	return ports[0], ports[1], nil
}
