// Package kube starts and stops the Kubernetes control plane of
// kerf-controlplane as a child process and says where it is.
package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// BinaryName is the name of the control plane's binary.
const BinaryName = "kerf-controlplane"

// BinaryEnv is the environment variable that names the binary when it is not
// beside the running one.
const BinaryEnv = "KERF_CONTROLPLANE"

// lifelineEnv tells the child which of its descriptors is a pipe that ends
// when this process does. kerf-controlplane has the same name for it.
const lifelineEnv = "KERF_LIFELINE_FD"

// ErrNoBinary is wrapped by FindBinary when there is no control plane binary.
var ErrNoBinary = errors.New("no " + BinaryName + " binary")

// FindBinary returns the path of the control plane's binary: the one that
// $KERF_CONTROLPLANE names, or else the one beside the running program.
//
// Errors: ErrNoBinary, wrapped with the places that were looked at.
func FindBinary() (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		if err := executable(path); err != nil {
			return "", fmt.Errorf("%w: $%s: %w", ErrNoBinary, BinaryEnv, err)
		}
		return filepath.Abs(path)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the own binary: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	path := filepath.Join(filepath.Dir(self), BinaryName)
	if err := executable(path); err != nil {
		return "", fmt.Errorf("%w: %s: run \"make build\", or name one with $%s", ErrNoBinary, path, BinaryEnv)
	}
	return path, nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: %w: not an executable file", path, fs.ErrInvalid)
	}
	return nil
}

// Options say how to start a control plane. The zero value is a good default.
type Options struct {
	Binary           string        // empty: FindBinary
	StateDir         string        // certificates, kubeconfigs, logs; empty: a temporary folder
	Port             int           // of the apiserver on 127.0.0.1; 0: a free one
	ServiceCIDR      string        // empty: 10.100.0.0/16
	AuditLog         string        // file for one line per API write; empty: none
	NodeLeaseSeconds int           // 0: the binary's default
	Timeout          time.Duration // for the start; 0: three minutes
	Stderr           io.Writer     // nil: kept for the error only
}

// An Identity names a user of the cluster for whom there is a kubeconfig.
type Identity string

// The identities. Both may do everything. The controller has none of these: it
// has a token of its service account.
const (
	Admin    Identity = "admin"
	Machines Identity = "machines"
)

// Info says where a running control plane is.
type Info struct {
	Kubeconfig     string              `json:"kubeconfig"` // of Admin
	Kubeconfigs    map[Identity]string `json:"kubeconfigs"`
	CA             string              `json:"ca"` // file
	Server         string              `json:"server"`
	ServiceCIDR    string              `json:"serviceCIDR"`
	ClusterDNS     string              `json:"clusterDNS"`
	Version        string              `json:"version"`
	StateDir       string              `json:"stateDir"`
	Logs           string              `json:"logs"` // folder, one file per component
	PID            int                 `json:"pid"`
	PIDs           map[string]int      `json:"pids"` // by component
	Metrics        map[string]string   `json:"metrics"`
	StartupSeconds float64             `json:"startupSeconds"`
}

// A ControlPlane is a running control plane. It ends when it is closed or
// when this process ends, however that happens.
type ControlPlane struct {
	Info

	cmd      *exec.Cmd
	lifeline *os.File
	done     chan struct{}
	err      error // why it ended; to be read after done

	closeOnce sync.Once
	closing   bool
	mu        sync.Mutex
}

// Start starts a control plane and returns when every part of it answers.
//
// The context bounds the start only; Close ends the control plane.
// Errors: ErrNoBinary; otherwise what the control plane wrote before it ended.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Binary == "" {
		binary, err := FindBinary()
		if err != nil {
			return nil, err
		}
		o.Binary = binary
	}
	lifeline, holder, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	defer lifeline.Close()
	var stderr bytes.Buffer
	cmd := exec.Command(o.Binary, o.args()...)
	cmd.Stderr = &stderr
	if o.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&stderr, o.Stderr)
	}
	cmd.ExtraFiles = []*os.File{lifeline}
	cmd.Env = append(os.Environ(), lifelineEnv+"=3")
	// Ctrl-C in a terminal must not reach it before we are done with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		holder.Close()
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	c := &ControlPlane{cmd: cmd, lifeline: holder, done: make(chan struct{})}
	first := make(chan []byte, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadBytes('\n')
		first <- line
		_, _ = io.Copy(io.Discard, stdout)
		c.finish(cmd.Wait(), &stderr)
	}()
	select {
	case line := <-first:
		if len(line) == 0 {
			<-c.done
			return nil, fmt.Errorf("start the control plane: %w", c.err)
		}
		if err := json.Unmarshal(line, &c.Info); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("start the control plane: read its answer %q: %w", line, err)
		}
		return c, nil
	case <-ctx.Done():
		_ = c.Close()
		return nil, fmt.Errorf("start the control plane: %w", context.Cause(ctx))
	}
}

func (o Options) args() []string {
	args := []string{"up"}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("state-dir", o.StateDir)
	add("service-cidr", o.ServiceCIDR)
	add("audit-log", o.AuditLog)
	if o.Port != 0 {
		add("port", strconv.Itoa(o.Port))
	}
	if o.NodeLeaseSeconds != 0 {
		add("node-lease-seconds", strconv.Itoa(o.NodeLeaseSeconds))
	}
	if o.Timeout != 0 {
		add("timeout", o.Timeout.String())
	}
	return args
}

func (c *ControlPlane) finish(err error, stderr *bytes.Buffer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		message := bytes.TrimSpace(stderr.Bytes())
		switch {
		case len(message) > 0:
			c.err = errors.New(string(message))
		case err != nil:
			c.err = fmt.Errorf("the control plane ended: %w", err)
		default:
			c.err = errors.New("the control plane ended")
		}
	}
	c.lifeline.Close()
	close(c.done)
}

// Done is closed when the control plane has ended.
func (c *ControlPlane) Done() <-chan struct{} { return c.done }

// Err returns why the control plane ended by itself; nil while it runs and
// after Close.
func (c *ControlPlane) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the control plane and waits until all its processes are gone.
// It may be called more than once.
func (c *ControlPlane) Close() error {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.closing = true
		c.mu.Unlock()
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // an error means that it is gone
		select {
		case <-c.done:
		case <-time.After(closeTimeout):
			// Its children end with it: their lifeline breaks.
			_ = c.cmd.Process.Kill()
			<-c.done
		}
	})
	return c.Err()
}

// closeTimeout is how long a control plane may take to end before it is
// killed. It takes a second when the instance is idle.
const closeTimeout = time.Minute
