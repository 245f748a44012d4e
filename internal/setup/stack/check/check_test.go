package check_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	return readSeed(t, name)
}

func readSeed(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checked reads and compares with an edition.
func checked(t *testing.T, name string, data []byte, want stack.Options, o check.ReadOptions) *check.Report {
	t.Helper()
	o.Source = name
	setup, kind, err := check.Read(data, o)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	r, err := check.Compare(setup, kind, check.Options{Stack: want})
	if err != nil {
		t.Fatalf("compare %s: %v", name, err)
	}
	return r
}

func text(t *testing.T, r *check.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGettingStartedStacksAreAsTheirEditionsWantThem(t *testing.T) {
	for name, edition := range map[string]stack.Compat{"getting-started-v0.32.yaml": stack.V032, "getting-started-v1.yaml": stack.V032Later, "getting-started-v1.0.yaml": stack.V10} {
		t.Run(name, func(t *testing.T) {
			r := checked(t, name, readFile(t, name), stack.Defaults(edition), check.ReadOptions{ClusterName: "demo"})
			if len(r.Findings) > 0 || len(r.Unread) > 0 {
				t.Errorf("want nothing, got\n%s", text(t, r))
			}
		})
	}
}

func TestGettingStartedStacksLackWhatCameLater(t *testing.T) {
	r := checked(t, "v1", readFile(t, "getting-started-v1.yaml"), stack.Defaults(stack.Latest), check.ReadOptions{ClusterName: "demo"})
	got := text(t, r)
	for _, want := range []string{"ec2:DescribeInstanceStatus", "iam:ListInstanceProfiles", "spot-instances-request/*", "capacity reservation interruption"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not named", want)
		}
	}
	if testing.Verbose() {
		t.Log(got)
	}
}
