package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := ReadState(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("empty folder: got %v, want ErrNotRunning", err)
	}
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockState(dir); !errors.Is(err, ErrRunning) {
		t.Errorf("locked folder: got %v, want ErrRunning", err)
	}
	path := filepath.Join(dir, stateName)
	if err := os.WriteFile(path, []byte(`{"pid": 7, "cluster": "kerf"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(State{PID: 7, Cluster: "kerf"}, got); diff != "" {
		t.Error(diff)
	}
	lock.Close()
	if _, err := ReadState(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("leftover of a cluster that is gone: got %v, want ErrNotRunning", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
	if err := Down(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Down: got %v, want ErrNotRunning", err)
	}
}

// Messages about a cluster name the flags that find it, and one that runs where another was asked for.
func TestMessagesNameTheFlagsOfACluster(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	usual, err := DefaultStateDir(DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(usual), "other")
	for dir, want := range map[string]string{usual: "", other: " --cluster-name other", "/a b": " --state-dir '/a b'"} {
		if got := Flags(dir); got != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
	if _, err := ReadState(usual); err == nil || !strings.HasSuffix(err.Error(), `; "kerf local up" starts one`) {
		t.Errorf("with none: %v", err)
	}
	lock, err := lockState(other)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(other, stateName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadState(usual); !errors.Is(err, ErrNotRunning) || !strings.HasSuffix(err.Error(), `; one that runs is found by "kerf local status --cluster-name other"`) {
		t.Errorf("with another: %v", err)
	}
	if _, err := lockState(other); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), `"kerf local down --cluster-name other" ends it`) {
		t.Errorf("a second one: %v", err)
	}
}

// A cluster that is starting has a lock and no state file. It is named, and Down ends it.
func TestDownEndsAClusterThatIsStarting(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=TestHoldsALock")
	holder.Env = append(os.Environ(), "KERF_TEST_LOCK="+dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() }) // an error means that it has ended
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	if _, err := ReadState(dir); !errors.Is(err, ErrStarting) || !strings.Contains(err.Error(), fmt.Sprint("process ", holder.Process.Pid)) {
		t.Errorf("got %v, want ErrStarting with process %d", err, holder.Process.Pid)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reaped := make(chan error, 1)
	go func() { reaped <- holder.Wait() }()
	if err := Down(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if err := <-reaped; err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("the process that was starting ended with %v, want the signal", err)
	}
	if _, err := ReadState(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("afterwards: got %v, want ErrNotRunning", err)
	}
}

// TestHoldsALock is the process of the test before.
func TestHoldsALock(t *testing.T) {
	dir := os.Getenv("KERF_TEST_LOCK")
	if dir == "" {
		return
	}
	lock, err := claimState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	fmt.Println("locked")
	<-time.After(time.Minute) // a signal ends it
}

func TestOptionsAreCheckedBeforeAnythingStarts(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	t.Setenv("KERF_CONTROLPLANE", "")
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"no control plane binary names the way to make one": {Options{}, `run "make build"`},
		"a setting without a value":                         {Options{ControllerEnv: []string{"LOG_LEVEL"}}, `"LOG_LEVEL": want KEY=VALUE`},
		"fewer than no replicas":                            {Options{Replicas: -1}, "-1 replicas"},
		"nodes beside an installation of our own":           {Options{SystemNodes: 2}, "nodes for an installation of somebody else's"},
		"a program that is not there":                       {Options{Bare: true, Programs: map[string]string{"other": "/nowhere/other"}}, "program /nowhere/other of image other: no executable file"},
		"a manifest that is not there":                      {Options{Manifests: []string{"/nowhere/pod.yaml"}}, "/nowhere/pod.yaml"},
		"a manifest that is no YAML":                        {Options{Manifests: []string{"testdata/broken.yaml"}}, "testdata/broken.yaml: document 2: "},
		"a template that is none":                           {Options{Stack: "testdata/broken.yaml"}, "stack template testdata/broken.yaml: "},
		"a port that is taken":                              {Options{AWSPort: port}, fmt.Sprintf("port %d is in use; stop what listens there or choose another --aws-port", port)},
		"a cluster name that no stack may have":             {Options{ClusterName: "Eyes_31"}, `cluster name "Eyes_31": want at most 100 letters, digits and dashes`},
		"a cluster name that leads out of the cache":        {Options{ClusterName: "../etc"}, `cluster name "../etc"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Up(t.Context(), tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
