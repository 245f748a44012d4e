package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/simulate/history"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// TestSamples reads a sample of each format. All are of the same hour of one cluster: testdata/README.md says what happened
// in it. What comes of one stands beside it as NAME.want: the trace, the account; KERF_UPDATE=1 writes it anew.
func TestSamples(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "fuzz" {
			continue
		}
		n++
		folder := filepath.Join("testdata", e.Name())
		t.Run(e.Name(), func(t *testing.T) { wantsSample(t, folder+".want", folder) })
	}
	if n < 10 {
		t.Fatalf("found %d folders of samples only", n)
	}
	t.Run("mixed", func(t *testing.T) {
		wantsSample(t, "testdata/mixed.want", "testdata/events/", "testdata/audit-metadata", "testdata/dumps/pods-2026-11-20T11-00-00Z.json")
	})
}

func wantsSample(t *testing.T, wantFile string, paths ...string) {
	t.Helper()
	w, account, err := history.Read(paths)
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, w, account)
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.WriteFile(wantFile, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(wantFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func render(t *testing.T, w *workload.Workload, account *history.Account) string {
	t.Helper()
	var out bytes.Buffer
	if err := w.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, d := range w.Daemons {
		c := d.Spec.Template.Spec.Containers[0].Resources.Requests
		fmt.Fprintf(&out, "daemon %s/%s: %s %s, %d tolerations, affinity %v\n", d.Namespace, d.Name, c.Cpu(), c.Memory(), len(d.Spec.Template.Spec.Tolerations), d.Spec.Template.Spec.Affinity)
	}
	for _, name := range []string{"shop.web", "shop.web-2"} {
		if x := w.Templates[name]; x != nil {
			fmt.Fprintf(&out, "template %s: labels %v, %s, %d spreads\n", name, x.Labels, x.Spec.Containers[0].Resources.Requests.Cpu(), len(x.Spec.TopologySpreadConstraints))
		}
	}
	fmt.Fprintln(&out)
	if err := account.Text(&out); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\\", "/")
}
