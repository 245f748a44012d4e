package beside

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Placed are the pods that were bound after a decision had given them a place.
type Placed struct{ AsPlanned, Elsewhere int }

// Share that is where the decision had it; 0 where there are none.
func (p Placed) Share() float64 {
	return float64(p.AsPlanned) / float64(max(1, p.AsPlanned+p.Elsewhere))
}

func (p Placed) minus(o Placed) Placed {
	return Placed{p.AsPlanned - o.AsPlanned, p.Elsewhere - o.Elsewhere}
}

// placed reads kerf_pods_placed_total, by decision; nothing where the controller has no such metric.
func (h *testCluster) placed(ctx context.Context) (map[string]Placed, error) {
	url := h.cluster.Controller.MetricsURL
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reading the controller's metrics: %w", err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the controller's metrics at %s: %w", url, err)
	}
	out := map[string]Placed{}
	for _, m := range families["kerf_pods_placed_total"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		p := out[labels["decision"]]
		if n := int(m.GetCounter().GetValue()); labels["as_planned"] == "true" {
			p.AsPlanned += n
		} else {
			p.Elsewhere += n
		}
		out[labels["decision"]] = p
	}
	return out, nil
}
