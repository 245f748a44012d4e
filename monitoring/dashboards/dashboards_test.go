package dashboards_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/monitoring/dashboards"
)

const dir = "../../charts/kerf/files/monitoring"

// Each dashboard is valid by Grafana's schema, is what lies in the chart, and its panels fill the grid without overlapping.
func TestDashboards(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for _, d := range dashboards.All() {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		there, err := os.ReadFile(filepath.Join(dir, d.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(there, text) {
			t.Errorf("%s.json is not what the code says: make generate", d.Name)
		}
		var strict dashboard.Dashboard //nolint:staticcheck // as in Dashboard.JSON
		if err := strict.UnmarshalJSONStrict(text); refused(err) {
			t.Errorf("%s: %v", d.Name, err)
		}
		if err := strict.Validate(); refused(err) {
			t.Errorf("%s: %v", d.Name, err)
		}
		grid(t, d.Name, text)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(dashboards.All()) {
		t.Errorf("%s has %d dashboards, the code %d: remove what is left over", dir, len(files), len(dashboards.All()))
	}
}

// refused tells whether there are errors: the SDK also returns lists of none.
func refused(err error) bool {
	list, ok := errors.AsType[cog.BuildErrors](err)
	return err != nil && !(ok && len(list) == 0)
}

// grid looks at where panels are.
func grid(t *testing.T, name string, text []byte) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			ID      int
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	taken, widths, numbers := map[[2]int]string{}, map[int]int{}, map[int]bool{}
	for _, p := range d.Panels {
		if p.ID == 0 || numbers[p.ID] {
			t.Errorf("%s, %s: its number %d is of another as well", name, p.Title, p.ID)
		}
		numbers[p.ID] = true
		g := p.GridPos
		if g.W == 0 || g.H == 0 || g.X+g.W > 24 {
			t.Errorf("%s, %s: it lies at %+v of 24 columns", name, p.Title, g)
		}
		widths[g.Y] += g.W
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s: %s lies on %s", name, p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	for y, w := range widths {
		if w != 24 {
			t.Errorf("%s: the line at %d has %d columns of 24", name, y, w)
		}
	}
}

// Each query selects the cluster and the job that were chosen, and asks for metrics that are documented.
func TestQueries(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"ALERTS": true, "process_cpu_seconds_total": true, "process_resident_memory_bytes": true, "go_memstats_heap_inuse_bytes": true}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(page, -1) {
		known[string(m[1])] = true
	}
	for _, m := range obs.Karpenter() {
		known[m.Name] = true
	}
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	queries := 0
	for _, d := range dashboards.All() {
		for _, p := range d.Panels() {
			where := fmt.Sprintf("%s, %s", d.Title, p.Title)
			if !strings.HasSuffix(p.Says, ".") || p.Unit == "" || len(p.Queries) == 0 {
				t.Errorf("%s: it has no description, unit or query", where)
			}
			for _, q := range p.Queries {
				queries++
				expr, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(q.PromQL(), "$__rate_interval", "2m"))
				if err != nil {
					t.Errorf("%s: %v", where, err)
					continue
				}
				parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
					v, ok := n.(*parser.VectorSelector)
					if !ok {
						return nil
					}
					if !known[v.Name] && !known[suffix.ReplaceAllString(v.Name, "")] {
						t.Errorf("%s: there is no metric %s", where, v.Name)
					}
					chosen := 0
					for _, m := range v.LabelMatchers {
						if m.Name == "cluster" && m.Value == "$cluster" || m.Name == "job" && m.Value == "$job" {
							chosen++
						}
					}
					if chosen != 2 && v.Name != "ALERTS" {
						t.Errorf("%s: %s is of any cluster or job", where, v)
					}
					return nil
				})
			}
		}
	}
	if queries < 50 {
		t.Errorf("%d queries only", queries)
	}
}
