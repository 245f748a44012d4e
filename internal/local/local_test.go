package local

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary play the controller when it is started with the controller's argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "controller" {
		playController()
	}
	os.Exit(m.Run())
}

func playController() {
	fmt.Println("I see", strings.Join(os.Environ(), " "))
	if why := os.Getenv("DIE"); why != "" {
		fmt.Println(why)
		os.Exit(3)
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(4) })
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Getenv("HEALTH_PROBE_PORT"), nil))
	os.Exit(1)
}

func testController(t *testing.T, env ...string) *Controller {
	t.Helper()
	port, _, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &Controller{
		Log:       filepath.Join(t.TempDir(), "controller.log"),
		HealthURL: fmt.Sprintf("http://127.0.0.1:%d", port),
		binary:    self,
		env:       append(env, fmt.Sprintf("HEALTH_PROBE_PORT=%d", port)),
		report:    func(line string) { t.Log(line) },
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestControllerIsKilledAndStartedAgain(t *testing.T) {
	c := testController(t)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := c.PID()
	if err := c.Start(t.Context()); err == nil {
		t.Error("a second start of a running controller is not refused")
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if pid := c.PID(); pid != 0 {
		t.Errorf("process %d runs after Kill", pid)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := c.PID(); second == 0 || second == first {
		t.Errorf("process %d after the restart, %d before it", second, first)
	}
	if err := c.Terminate(); err != nil {
		t.Fatal(err)
	}
	if n := c.Crashes(); n != 0 {
		t.Errorf("%d crashes counted, though each end was asked for", n)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a start after Stop is not refused")
	}
}

func TestControllerThatEndsByItselfIsStartedAgain(t *testing.T) {
	c := testController(t)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := c.PID()
	if resp, err := http.Get(c.HealthURL + "/die"); err == nil {
		resp.Body.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.PID() == first || c.PID() == 0 {
		select {
		case <-ctx.Done():
			t.Fatal("it is not started again")
		case <-tick.C:
		}
	}
	if n := c.Crashes(); n != 1 {
		t.Errorf("%d crashes counted, want 1", n)
	}
}

func TestControllerThatCannotStartSaysWhy(t *testing.T) {
	c := testController(t, "DIE=CLUSTER_NAME is not set")
	err := c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "CLUSTER_NAME is not set") || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v, want the exit status and the end of the log", err)
	}
	if pid := c.PID(); pid != 0 {
		t.Errorf("process %d is taken for running", pid)
	}
}

func TestControllerSeesOnlyWhatItIsGiven(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	c := testController(t, "CLUSTER_NAME=kerf")
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "AWS_PROFILE") || !strings.Contains(string(log), "CLUSTER_NAME=kerf") {
		t.Errorf("the controller's environment is %s", log)
	}
}

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

func TestOptionsAreCheckedBeforeAnythingStarts(t *testing.T) {
	t.Setenv("KERF_CONTROLPLANE", "")
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"no control plane binary names the way to make one": {Options{}, `run "make build"`},
		"a setting without a value":                         {Options{ControllerEnv: []string{"LOG_LEVEL"}}, `"LOG_LEVEL": want KEY=VALUE`},
		"a manifest that is not there":                      {Options{Manifests: []string{"/nowhere/pod.yaml"}}, "/nowhere/pod.yaml"},
		"a manifest that is no YAML":                        {Options{Manifests: []string{"testdata/broken.yaml"}}, "testdata/broken.yaml: document 2: "},
		"a template that is none":                           {Options{Stack: "testdata/broken.yaml"}, "stack template testdata/broken.yaml: "},
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
