package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestOptionsAreCheckedBeforeAnythingStarts(t *testing.T) {
	t.Setenv("KERF_CONTROLPLANE", "")
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"no control plane binary names the way to make one": {Options{}, `run "make build"`},
		"a setting without a value":                         {Options{ControllerEnv: []string{"LOG_LEVEL"}}, `"LOG_LEVEL": want KEY=VALUE`},
		"fewer than no replicas":                            {Options{Replicas: -1}, "-1 replicas"},
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
