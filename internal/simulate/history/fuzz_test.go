package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kerf-sh/kerf/internal/simulate/history"
)

// FuzzRead reads anything as a history: it must end, and what it makes must be a workload that can be played.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 40_000 {
			f.Add(text)
		}
	}
	for i, line := range sampleLines(f) {
		if i%5 == 0 {
			f.Add(append([]byte("2026-11-20T10:00:00.000Z "), append(line, "\n"+auditLease...)...))
		}
	}
	f.Add([]byte("@timestamp,@message\n2026-11-20 10:00:00.000,\"{\"\"kind\"\":\"\"Event\"\",\"\"apiVersion\"\":\"\"audit.k8s.io/v1\"\"}\"\n"))
	f.Add([]byte(`{"type":"ADDED","object":` + podJSON("x", "", "") + `}{"type":"DELETED","object":` + podJSON("x", "", "") + `}`))
	f.Add([]byte(matrix(podSeries("kube_pod_created", "x", "", "1-5=7"), `"__name__":"kube_deployment_spec_replicas","namespace":"a","deployment":"web" | 0-10=3 11-20=5`)))
	folder := f.TempDir()
	path, hour := filepath.Join(folder, "pods-2026-11-20T10-00-00Z.json"), filepath.Join(folder, "audit.log")
	if err := os.WriteFile(hour, fmt.Appendf(nil, auditLease+"\n"+auditLease+"\n", at(0), at(59)), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		w, account, err := history.Read([]string{path, hour})
		if err != nil {
			return
		}
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		if account.To.Before(account.From) {
			t.Fatalf("from %s to %s", account.From, account.To)
		}
	})
}
