// Package dashboards holds the dashboards for Grafana as Go values, and writes them with Grafana's own SDK. Most queries use metrics
// that Karpenter serves too, so that the dashboards show both.
package dashboards

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Dashboard is one dashboard.
type Dashboard struct {
	// Name is that of its file, and its UID, by which links find it.
	Name, Title, Says string
	// ByPool adds a variable for NodePools.
	ByPool bool
	Rows   []Row
}

// Row is a line of panels under a title.
type Row struct {
	Title  string
	Panels []Panel
}

// Kind is how a panel draws.
type Kind string

// Kinds of panels.
const (
	Stat  Kind = "stat"
	Lines Kind = "timeseries"
	Area  Kind = "area" // lines that are stacked
)

// Panel is one panel.
type Panel struct {
	Title string
	// Says is what is seen, and what to do about it, in plain words.
	Says string
	Kind Kind
	// Unit is one of Grafana's: s, bytes, percentunit, …
	Unit string
	// Width is of 24.
	Width   uint32
	Queries []Query
	// Bad is from which value on a Stat is red; 0: never. Low turns that round.
	Bad float64
	Low bool
	// Texts are words in place of numbers.
	Texts map[string]string
	// Trouble: there may be no data while nothing has gone wrong.
	Trouble bool
}

// Query is one query in PromQL, in which {@} stands for the cluster and the job that are chosen, and how its series are called.
type Query struct{ Expr, Legend string }

// selected is what {@} stands for.
const selected = `cluster=~"$cluster",job=~"$job"`

// PromQL is the query as Grafana has it.
func (q Query) PromQL() string { return strings.ReplaceAll(q.Expr, "@", selected) }

// KerfOnly tells whether a panel needs a metric that Karpenter does not serve.
func (p Panel) KerfOnly() bool {
	for _, q := range p.Queries {
		if strings.Contains(q.Expr, "kerf_") {
			return true
		}
	}
	return false
}

// All are the dashboards.
func All() []Dashboard { return []Dashboard{overview(), cost(), controller()} }

// JSON is the dashboard as Grafana imports it.
//
// Errors: what the SDK refuses.
func (d Dashboard) JSON() ([]byte, error) {
	b := dashboard.NewDashboardBuilder(d.Title) //nolint:staticcheck // older Grafanas don't read its successor, and newer ones read both
	b.Uid(d.Name).Description(d.Says).Tags([]string{"kerf", "karpenter"}).
		Time("now-6h", "now").Refresh("1m").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).Editable().
		Link(dashboard.NewDashboardLinkBuilder("Kerf").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"kerf"}).IncludeVars(true).KeepTime(true)).
		Link(dashboard.NewDashboardLinkBuilder("Runbook").Type(dashboard.DashboardLinkTypeLink).Url(runbook).TargetBlank(true))
	b.WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	b.WithVariable(variable("cluster", "Cluster", `label_values(karpenter_build_info, cluster)`))
	b.WithVariable(variable("job", "Job", `label_values(karpenter_build_info{cluster=~"$cluster"}, job)`))
	if d.ByPool {
		b.WithVariable(variable("nodepool", "NodePool", `label_values(karpenter_nodepools_usage{`+selected+`}, nodepool)`))
	}
	for _, r := range d.Rows {
		b.WithRow(dashboard.NewRowBuilder(r.Title))
		for _, p := range r.Panels {
			b.WithPanel(p.builder())
		}
	}
	built, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("building the dashboard %s: %w", d.Name, err)
	}
	for i := range built.Links {
		built.Links[i].Placement = nil // the SDK's default hides them in a menu
	}
	for i, p := range built.Panels { // links to single panels go by their numbers
		id := uint32(i + 1)
		if p.Panel != nil {
			p.Panel.Id = &id
		} else {
			p.RowPanel.Id = id
		}
	}
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the dashboard %s: %w", d.Name, err)
	}
	return append(text, '\n'), nil
}

// variable is one whose values Prometheus has. What is chosen at first, everything, also matches series without the label: a
// Prometheus that serves one cluster gives none.
func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{Selected: new(true), Text: one("All"), Value: one("$__all")})
}

func one(s string) dashboard.StringOrArrayOfString {
	return dashboard.StringOrArrayOfString{String: &s}
}

// source is the Prometheus that is chosen.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// Panels are the panels of all rows.
func (d Dashboard) Panels() []Panel {
	var out []Panel
	for _, r := range d.Rows {
		out = append(out, r.Panels...)
	}
	return out
}
