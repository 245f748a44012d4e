package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// The managed node group that an installation runs on. Its taint keeps workloads away; the chart tolerates it.
const (
	nodeGroup      = "local-system"
	nodeGroupLabel = "eks.amazonaws.com/nodegroup"
	nodeGroupTaint = "CriticalAddonsOnly"
)

// roleAnnotation is that of a service account with a role of IAM roles for service accounts.
const roleAnnotation = "eks.amazonaws.com/role-arn"

// startNodes makes the nodes of the node group and what finds the controller that runs on them.
func (c *Cluster) startNodes(ctx context.Context) error {
	c.options.Report(fmt.Sprintf("starting %d nodes of the managed node group %s, for an installation of yours", c.options.SystemNodes, nodeGroup))
	if err := os.RemoveAll(c.podsDir()); err != nil { // logs of the last cluster
		return fmt.Errorf("start the nodes: %w", err)
	}
	client, err := c.kubernetes()
	if err != nil {
		return err
	}
	if err := c.installed.serve(); err != nil {
		return err
	}
	for i := range c.options.SystemNodes {
		node := &kubelet.Node{Object: c.systemNode(i), Client: client, Report: c.options.Report}
		node.Prepare = func(ctx context.Context, pod *corev1.Pod) (*kubelet.Process, error) {
			return c.prepare(ctx, client, pod)
		}
		if err := node.Start(ctx); err != nil {
			return err
		}
		c.nodes = append(c.nodes, node)
	}
	return nil
}

// stopNodes ends what runs on the nodes, all at once.
func (c *Cluster) stopNodes() error {
	done := make(chan struct{})
	for _, n := range c.nodes {
		go func() { n.Close(); done <- struct{}{} }()
	}
	for range c.nodes {
		<-done
	}
	return c.installed.close()
}

// podsDir has a folder for each pod.
func (c *Cluster) podsDir() string { return filepath.Join(c.StateDir, "pods") }

// systemNode is a node of the size of an m5.xlarge. Each is in another zone, as far as there are zones.
func (c *Cluster) systemNode(i int) *corev1.Node {
	name, zone := fmt.Sprintf("%s-%d", nodeGroup, i+1), c.Region+string(rune('a'+i%3))
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"), corev1.ResourcePods: resource.MustParse("58"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			nodeGroupLabel: nodeGroup, corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
			corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: c.Region,
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: nodeGroupTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources.DeepCopy(),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: loopback}},
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: c.Kube.Version, OperatingSystem: "linux", Architecture: runtime.GOARCH, ContainerRuntimeVersion: "process://"},
		},
	}
}

// prepare makes the process of a pod, on ports of its own: the pods of a local cluster share one address.
func (c *Cluster) prepare(ctx context.Context, client kubernetes.Interface, object *corev1.Pod) (*kubelet.Process, error) {
	if err := c.runnable(object); err != nil {
		return nil, err
	}
	pod := kubelet.PodFrom(object)
	if err := c.complete(ctx, client, pod); err != nil {
		return nil, err
	}
	key, doubt, err := c.keyOf(ctx, client, pod)
	if err != nil {
		return nil, err
	}
	ports, release, err := kubelet.ClaimPorts(2)
	if err != nil {
		return nil, err
	}
	moved := setPorts(&pod.Container, ports[0], ports[1])
	dir := filepath.Join(c.podsDir(), pod.Namespace+"_"+pod.Name)
	volume, err := c.mount(ctx, filepath.Join(dir, "serviceaccount"), kubelet.Account{Namespace: pod.Namespace, Name: pod.ServiceAccount, Pod: object})
	if err != nil {
		release()
		return nil, err
	}
	container, err := c.process(pod, volume, key)
	if err != nil {
		volume.Close()
		release()
		return nil, err
	}
	container.Name, container.Log = "pod "+pod.Namespace+"/"+pod.Name, filepath.Join(dir, pod.Container.Name+".log")
	note := []string{"its log is " + container.Log}
	_, metrics := urls(pod)
	if metrics != "" {
		note = append(note, "its metrics are at "+metrics)
	}
	if doubt != "" {
		note = append(note, doubt)
		c.options.Report(container.Name + ": " + doubt)
	}
	c.options.Report(fmt.Sprintf("%s starts on %s; log: %s", container.Name, pod.Node, container.Log))
	forget := c.installed.add(container, strings.TrimSuffix(metrics, "/metrics"))
	return &kubelet.Process{Container: container, Note: strings.Join(note, "; "), Ports: moved, Release: func() {
		forget()
		volume.Close()
		release()
	}}, nil
}

// runnable says why a pod can't run here.
func (c *Cluster) runnable(pod *corev1.Pod) error {
	image := pod.Spec.Containers[0].Image
	_, named := c.options.Programs[Repository(image)]
	if !named && Repository(image) != manifests.Image {
		can := []string{manifests.Image}
		for known := range c.options.Programs {
			can = append(can, known)
		}
		slices.Sort(can)
		return &kubelet.CannotRun{Reason: "ErrImagePull", Message: fmt.Sprintf(
			"image %s: the local cluster has no container engine; its nodes run %s. For another image, start it with \"kerf local up --no-install --program %s=PATH\", where PATH is a program of this computer",
			image, strings.Join(slices.Compact(can), ", "), Repository(image))}
	}
	if pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && pod.Spec.RestartPolicy != "" {
		return &kubelet.CannotRun{Reason: "CreateContainerConfigError", Message: fmt.Sprintf(
			"restartPolicy %s: the nodes of the local cluster run pods with the restartPolicy Always alone", pod.Spec.RestartPolicy)}
	}
	return nil
}

// keyOf are the AWS credentials of a pod: those of the role that EKS Pod Identity or an annotation gives to its service account.
// One that has none gets the controller's, with a doubt that says what EKS would do.
func (c *Cluster) keyOf(ctx context.Context, client kubernetes.Interface, pod *kubelet.Pod) (key world.AccessKey, doubt string, err error) {
	if pod.Namespace == controllerNamespace && pod.ServiceAccount == controllerServiceAccount {
		return c.key, "", nil
	}
	session := func(arn string) (world.AccessKey, string, error) {
		key, err := c.Simulator.World.RoleSession(arn[strings.LastIndexByte(arn, '/')+1:], "kerf")
		if err != nil {
			err = fmt.Errorf("AWS credentials of service account %s/%s: %w", pod.Namespace, pod.ServiceAccount, err)
		}
		return key, "", err
	}
	identities, err := c.Simulator.World.PodIdentities(c.Name)
	if err != nil {
		return key, "", err
	}
	for _, p := range identities {
		if p.Namespace == pod.Namespace && p.ServiceAccount == pod.ServiceAccount {
			return session(p.RoleARN)
		}
	}
	account, err := client.CoreV1().ServiceAccounts(pod.Namespace).Get(ctx, pod.ServiceAccount, metav1.GetOptions{})
	if err != nil {
		return key, "", fmt.Errorf("service account %s/%s: %w", pod.Namespace, pod.ServiceAccount, err)
	}
	if arn := account.Annotations[roleAnnotation]; arn != "" {
		return session(arn)
	}
	return c.key, fmt.Sprintf("no EKS Pod Identity association and no annotation %s gives service account %s/%s a role: it has the credentials of %s/%s here and would have none on EKS (release name %s, or kerf stack --service-account %s)",
		roleAnnotation, pod.Namespace, pod.ServiceAccount, controllerNamespace, controllerServiceAccount, controllerServiceAccount, pod.ServiceAccount), nil
}

// checkNodes judges the options of the nodes.
func (o *Options) checkNodes() error {
	if o.SystemNodes < 0 {
		return fmt.Errorf("%d system nodes: want 0 or more", o.SystemNodes)
	}
	if o.SystemNodes > 0 && !o.Bare {
		return errors.New("nodes for an installation of somebody else's go with no installation of the local cluster's own")
	}
	for image, path := range o.Programs {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return &InputError{fmt.Errorf("program %s of image %s: no executable file", path, image)}
		}
	}
	return nil
}
