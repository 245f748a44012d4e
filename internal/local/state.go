package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// Errors about the state folder.
var (
	ErrRunning    = errors.New("a local cluster is already running")
	ErrNotRunning = errors.New("no local cluster is running")
	ErrStarting   = errors.New("a local cluster is starting")
)

// State is what a running local cluster tells other processes, through a file in its state folder.
type State struct {
	PID        int       `json:"pid"` // of the process that holds it
	Cluster    string    `json:"cluster"`
	Region     string    `json:"region"`
	Started    time.Time `json:"started"`
	Kubeconfig string    `json:"kubeconfig"`
	Server     string    `json:"server"`
	Version    string    `json:"version"` // of Kubernetes
	AWS        string    `json:"aws"`     // URL
	Logs       []string  `json:"logs"`    // folders and files
	HealthURL  string    `json:"healthURL,omitempty"`
	Replicas   []string  `json:"replicas,omitempty"` // health URLs of the replicas after the first
	MetricsURL string    `json:"metricsURL,omitempty"`
	NodeGroup  string    `json:"nodeGroup,omitempty"` // whose nodes run the installation that somebody makes
	StateDir   string    `json:"stateDir"`
	Queue      string    `json:"interruptionQueue"`
	Env        []string  `json:"env"` // KEY=value, by which tools find the cluster and the simulated AWS
}

const (
	stateName = "state.json"
	lockName  = "local.lock"
)

// DefaultStateDir is where the state of the named cluster is kept unless the user says otherwise, so that another
// terminal finds it.
func DefaultStateDir(cluster string) (string, error) {
	if strings.ContainsAny(cluster, `/\`) || strings.Trim(cluster, ".") == "" {
		return "", fmt.Errorf("cluster name %q: want letters, digits, dashes and underscores", cluster)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	return filepath.Join(cache, "kerf", "local", cluster), nil
}

// DefaultName is the name of a cluster that is given none.
const DefaultName = "kerf"

// Flags are those by which the commands on local clusters find the one of a folder, with a space before; none for the default one.
func Flags(dir string) string {
	usual, err := DefaultStateDir(DefaultName)
	switch {
	case err != nil || filepath.Dir(dir) != filepath.Dir(usual):
		return " --state-dir " + shellescape.Quote(dir)
	case dir == usual:
		return ""
	}
	return " --cluster-name " + shellescape.Quote(filepath.Base(dir))
}

// others names the clusters that run in other folders than the given one, by the flags that find them. Those of --state-dir are
// not known.
func others(dir string) string {
	usual, err := DefaultStateDir(DefaultName)
	if err != nil {
		return ""
	}
	folders, err := filepath.Glob(filepath.Join(filepath.Dir(usual), "*", stateName))
	if err != nil {
		return ""
	}
	var out []string
	for _, f := range folders {
		folder := filepath.Dir(f)
		if folder == dir {
			continue
		}
		lock, err := lockState(folder)
		if err == nil {
			lock.Close()
		} else if errors.Is(err, ErrRunning) {
			out = append(out, "\"kerf local status"+Flags(folder)+"\"")
		}
	}
	if len(out) == 0 {
		return "; \"kerf local up" + Flags(dir) + "\" starts one"
	}
	return "; one that runs is found by " + strings.Join(out, ", ")
}

// Nowhere are lines for a shell to evaluate in place of Exports when no cluster runs in the folder: they lead kubectl, aws and kerf
// to nothing, so that no command that was meant for a local cluster reaches a real one, and fail.
func Nowhere(dir string) string {
	return Exports([]string{"KUBECONFIG=" + filepath.Join(dir, "no-local-cluster-is-running"), "AWS_ENDPOINT_URL=http://127.0.0.1:9"}) + "false\n"
}

// lockState makes the folder and locks it for as long as the result is open. The lock ends with the process, however
// it ends, so a state file whose folder is not locked is a leftover.
func lockState(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("%w in %s; \"kerf local down%s\" ends it, another --cluster-name or --state-dir starts a second one", ErrRunning, dir, Flags(dir))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the state folder %s: %w", dir, err)
	}
	return f, nil
}

// claimState is lockState for the process that holds the cluster. It writes its number into the lock, so that a cluster that
// has no state file yet can be ended.
func claimState(dir string) (io.Closer, error) {
	lock, err := lockState(dir)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, lockName), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock the state folder %s: %w", dir, err)
	}
	return lock, nil
}

// askedTwice is how long after another the lock is asked for. Whoever reads the state holds it for a moment.
const askedTwice = 100 * time.Millisecond

// starting returns the process that is starting a cluster in the folder, 0 if there is none.
func starting(dir string) int {
	if _, err := os.Stat(dir); err != nil {
		return 0
	}
	for range 2 {
		lock, err := lockState(dir)
		if err == nil {
			lock.Close()
		}
		if !errors.Is(err, ErrRunning) {
			return 0
		}
		time.Sleep(askedTwice)
	}
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(string(text)) // 0 if there is none
	return pid
}

func writeState(c *Cluster) error {
	s := State{
		PID: os.Getpid(), Cluster: c.Name, Region: c.Region, Started: time.Now().UTC().Truncate(time.Second),
		Kubeconfig: c.Kubeconfig, Server: c.Kube.Server, Version: c.Kube.Version, AWS: c.AWS,
		Logs: []string{c.Kube.Logs, c.Simulator.Log}, StateDir: c.StateDir, Queue: c.Name,
	}
	if c.Controller != nil {
		s.Logs = append(s.Logs, c.Controller.Log)
		s.HealthURL, s.MetricsURL = c.Controller.HealthURL, c.Controller.MetricsURL
	}
	for _, r := range c.Replicas {
		s.Logs, s.Replicas = append(s.Logs, r.Log), append(s.Replicas, r.HealthURL)
	}
	if len(c.nodes) > 0 {
		s.NodeGroup, s.MetricsURL = nodeGroup, c.installed.server+"/metrics"
		s.Logs = append(s.Logs, c.podsDir())
	}
	s.Env = c.Env()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	// Renaming makes a reader see all of it or nothing.
	path := filepath.Join(c.StateDir, stateName)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	return nil
}

// removeState removes the state file. One that stays is known for a leftover, because nobody locks its folder.
func removeState(dir string) { _ = os.Remove(filepath.Join(dir, stateName)) }

// ReadState returns the state of the cluster that runs in the folder.
//
// Errors: ErrNotRunning, also when the folder has the state file of a cluster that was killed; ErrStarting.
func ReadState(dir string) (State, error) {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	notRunning := func() error { return fmt.Errorf("%w in %s%s", ErrNotRunning, dir, others(dir)) }
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		if pid := starting(dir); pid != 0 {
			return State{}, fmt.Errorf("%w in %s, process %d: wait until it says \"ready\", or end it with \"kerf local down%s\"", ErrStarting, dir, pid, Flags(dir))
		}
		return State{}, notRunning()
	}
	if err != nil {
		return State{}, fmt.Errorf("read the state file: %w", err)
	}
	if lock, err := lockState(dir); err == nil {
		removeState(dir)
		lock.Close()
		return State{}, notRunning()
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		return State{}, fmt.Errorf("read the state file in %s: %w", dir, err)
	}
	return s, nil
}

// Down ends the cluster that runs or is starting in the folder, whichever process holds it, and returns when it is gone.
//
// Errors: ErrNotRunning; the context's when the cluster does not end in time.
func Down(ctx context.Context, dir string) error {
	s, err := ReadState(dir)
	if errors.Is(err, ErrStarting) {
		s.PID, err = starting(dir), nil
		if s.PID == 0 { // it is ready, or has ended, by now
			s, err = ReadState(dir)
		}
	}
	if err != nil {
		return err
	}
	if s.PID == os.Getpid() {
		return fmt.Errorf("end the local cluster: it belongs to this process, which must close it")
	}
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the local cluster: signal process %d: %w", s.PID, err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := lockState(dir)
		if err == nil {
			return lock.Close()
		}
		if !errors.Is(err, ErrRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end the local cluster: process %d still runs: %w", s.PID, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
