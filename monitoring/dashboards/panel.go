package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const (
	statHeight  = 4
	graphHeight = 8
	runbook     = "https://github.com/kerf-sh/kerf/blob/main/docs/alerts.md"
)

// description is what Says says, and for whom.
func (p Panel) description() string {
	if p.KerfOnly() {
		return p.Says + "\n\nKerf only: Karpenter has no such metric."
	}
	return p.Says
}

func (p Panel) builder() cog.Builder[dashboard.Panel] {
	if p.Kind == Stat {
		return p.stat()
	}
	b := timeseries.NewPanelBuilder().Title(p.Title).Description(p.description()).Datasource(source()).Unit(p.Unit).Span(p.Width).Height(graphHeight).
		Min(0).LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.Kind == Area {
		b.FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	}
	if p.Trouble {
		b.NoValue("none")
	}
	for i, q := range p.Queries {
		b.WithTarget(q.target(i))
	}
	return b
}

func (p Panel) stat() cog.Builder[dashboard.Panel] {
	b := stat.NewPanelBuilder().Title(p.Title).Description(p.description()).Datasource(source()).Unit(p.Unit).Span(p.Width).Height(statHeight).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeArea).Orientation(common.VizOrientationAuto).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(p.steps()))
	if p.Trouble {
		b.NoValue("none")
	}
	if len(p.Texts) > 0 {
		words := map[string]dashboard.ValueMappingResult{}
		for value, text := range p.Texts {
			words[value] = dashboard.ValueMappingResult{Text: &text}
		}
		b.Mappings([]dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: words}}})
	}
	for i, q := range p.Queries {
		b.WithTarget(q.target(i))
	}
	return b
}

// steps colour a number.
func (p Panel) steps() []dashboard.Threshold {
	switch {
	case p.Bad == 0:
		return []dashboard.Threshold{{Color: "blue"}}
	case p.Low:
		return []dashboard.Threshold{{Color: "red"}, {Value: &p.Bad, Color: "green"}}
	}
	return []dashboard.Threshold{{Color: "green"}, {Value: &p.Bad, Color: "red"}}
}

func (q Query) target(i int) cog.Builder[variants.Dataquery] {
	return prometheus.NewDataqueryBuilder().Expr(q.PromQL()).LegendFormat(q.Legend).RefId(string(rune('A' + i))).Datasource(source()).Range()
}
