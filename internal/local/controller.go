package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/manifests"
)

// A Controller is the controller's process. It is started again when it ends by itself, as its Deployment would; a
// caller who kills it decides when it comes back.
type Controller struct {
	Log        string // file, with the output of every run
	HealthURL  string // base; has /healthz and /readyz
	MetricsURL string

	binary string
	env    []string
	report func(string)

	mu      sync.Mutex
	current *run // nil while no process runs
	wanted  bool // whether a process should run
	crashes int
	stopped bool // for good
}

// A run is one life of the process.
type run struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Restarts of a controller that ends by itself wait for this long, doubling up to the maximum.
const (
	firstRestartDelay = time.Second
	maxRestartDelay   = 30 * time.Second
)

// startController starts the controller as the installation's Deployment says.
func (c *Cluster) startController(ctx context.Context) error {
	metrics, health, err := freePorts()
	if err != nil {
		return err
	}
	objects, err := c.installation(cmp.Or(c.ports.Metrics, metrics), cmp.Or(c.ports.Health, health))
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			return c.Run(ctx, d)
		}
	}
	return errors.New("start the controller: the installation has no Deployment")
}

// Run starts a controller as a Deployment has its first container, with its ports and its environment, and waits until it is
// ready. One that runs already is ended before.
func (c *Cluster) Run(ctx context.Context, d *appsv1.Deployment) error {
	env, err := c.controllerEnv(d)
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	if c.Controller != nil {
		if err := c.Controller.Stop(); err != nil {
			return err
		}
	}
	url := map[string]string{}
	for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
		url[p.Name] = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.ContainerPort)))
	}
	c.Controller = &Controller{
		Log:        filepath.Join(c.StateDir, "controller.log"),
		HealthURL:  url[manifests.HealthPort],
		MetricsURL: url[manifests.MetricsPort] + "/metrics",
		binary:     c.options.Binary,
		env:        env,
		report:     c.options.Report,
	}
	if err := os.Remove(c.Controller.Log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start the controller: %w", err)
	}
	return c.Controller.Start(ctx)
}

// controllerEnv is the whole environment of the controller: that of its Deployment, and the settings by which the AWS SDK
// finds another endpoint. HOME keeps the user's own ~/.aws out of it.
func (c *Cluster) controllerEnv(d *appsv1.Deployment) ([]string, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.StateDir, "KUBECONFIG=" + c.Kube.Kubeconfigs[kube.Kerf]}
	env = append(env, c.Simulator.EnvFor(c.key)...)
	shipped, err := manifests.Environment(d)
	return append(env, shipped...), err
}

// Start starts the process unless it runs and waits until it says that it is ready.
//
// Errors: the end of the log if the process ends first; the context's if it is not ready in time.
func (c *Controller) Start(ctx context.Context) error {
	c.mu.Lock()
	c.wanted = true
	r, err := c.startLocked()
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	if err := c.awaitReady(ctx, r); err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	go c.keep(r)
	return nil
}

func (c *Controller) startLocked() (*run, error) {
	switch {
	case c.stopped:
		return nil, errors.New("the cluster is closed")
	case c.current != nil:
		return nil, errors.New("it runs already")
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.binary, "controller")
	cmd.Env = c.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &run{cmd: cmd, done: make(chan struct{})}
	c.current = r
	go func() {
		_ = cmd.Wait() // how it ended is in its ProcessState
		close(r.done)
	}()
	return r, nil
}

func (c *Controller) awaitReady(ctx context.Context, r *run) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = probe(client, c.HealthURL+"/readyz"); last == nil {
			return nil
		}
		select {
		case <-r.done:
			c.forget(r)
			return c.ended(r)
		case <-ctx.Done():
			return fmt.Errorf("it is not ready (%w): %w; see %s", last, context.Cause(ctx), c.Log)
		case <-tick.C:
		}
	}
}

func probe(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// keep waits for the end of a run and, if nobody asked for it, starts the next one.
func (c *Controller) keep(r *run) {
	delay := firstRestartDelay
	for {
		<-r.done
		c.mu.Lock()
		if !c.wanted || c.current != r {
			c.mu.Unlock()
			return
		}
		c.current = nil
		c.crashes++
		c.mu.Unlock()
		c.report(fmt.Sprintf("%v\nstarting it again in %s", c.ended(r), delay))
		time.Sleep(delay)
		delay = min(2*delay, maxRestartDelay)
		if r = c.restart(); r == nil {
			return
		}
	}
}

// restart starts the next run unless a caller has ended the controller or started it in the meantime.
func (c *Controller) restart() *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wanted || c.current != nil {
		return nil
	}
	r, err := c.startLocked()
	if err != nil {
		c.report(fmt.Sprintf("start the controller: %v", err))
		return nil
	}
	return r
}

// forget makes room for another start after a run that has ended.
func (c *Controller) forget(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == r {
		c.current = nil
	}
}

// ended describes how a run ended, with the end of the log.
func (c *Controller) ended(r *run) error {
	return fmt.Errorf("the controller ended (%s); the end of %s:\n%s", r.cmd.ProcessState, c.Log, tail(c.Log, 15))
}

// Kill ends the process with SIGKILL and returns when it is gone. It is not started again until Start is called.
func (c *Controller) Kill() error { return c.end(syscall.SIGKILL, 0) }

// Terminate asks the process to end, as a rollout does, and returns when it is gone. It is killed if it takes longer
// than the 30 seconds that Kubernetes gives. It is not started again until Start is called.
func (c *Controller) Terminate() error { return c.end(syscall.SIGTERM, 30*time.Second) }

// Stop ends the process for good. It may be called more than once.
func (c *Controller) Stop() error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	return c.end(syscall.SIGTERM, 10*time.Second)
}

func (c *Controller) end(signal syscall.Signal, grace time.Duration) error {
	c.mu.Lock()
	c.wanted = false
	r := c.current
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	if err := r.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the controller: %w", err)
	}
	if grace > 0 {
		select {
		case <-r.done:
		case <-time.After(grace):
			_ = r.cmd.Process.Kill() // an error means that it has just ended
		}
	}
	<-r.done
	c.forget(r)
	return nil
}

// PID returns the process id of the current run, 0 if there is none.
func (c *Controller) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return 0
	}
	return c.current.cmd.Process.Pid
}

// Crashes returns how often the process ended although nobody asked it to.
func (c *Controller) Crashes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashes
}

// freePorts returns two different ports that are free on 127.0.0.1.
func freePorts() (a, b int, err error) {
	first, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, fmt.Errorf("find a port: %w", err)
	}
	defer first.Close()
	second, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, fmt.Errorf("find a port: %w", err)
	}
	defer second.Close()
	port := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
	return port(first), port(second), nil
}

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimRight(content, "\n")), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
