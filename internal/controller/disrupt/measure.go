package disrupt

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// measure shows a decision as metrics.
func (l *Loop) measure(v *view, d *disrupt.Decision) {
	m := &l.Metrics.Disruption
	eligible := map[disrupt.Cause]int{}
	for i := range v.problem.Nodes {
		n := &v.problem.Nodes[i]
		switch p := v.pools[v.nodes[n.Name].Pool]; {
		case len(n.Blocks) > 0 || p == nil || p.IsStatic():
		case empty(v.nodes[n.Name]):
			eligible[disrupt.Empty]++
		case p.Spec.Disruption.ConsolidationPolicy != karpv1.ConsolidationPolicyWhenEmpty:
			eligible[disrupt.Underutilized]++
		}
	}
	for _, cause := range []disrupt.Cause{disrupt.Empty, disrupt.Underutilized} {
		m.Eligible.WithLabelValues(strings.ToLower(string(cause))).Set(float64(eligible[cause]))
	}
	for _, s := range d.Scores {
		decision := "rejected"
		if s.Approved {
			decision = "approved"
		}
		m.Score.WithLabelValues(decision, s.Pool, string(disrupt.Balanced)).Observe(s.Value)
	}
	if d.Stats.NotLookedAt > 0 {
		m.Timeouts.WithLabelValues("single").Inc()
	}
	kept, dollars := map[string]float64{}, map[string]float64{} // by the first reason
	for i := range d.Kept {
		code := string(d.Kept[i].Reasons[0].Code)
		kept[code]++
		dollars[code] += float64(d.Kept[i].Saves) / 1e6
	}
	for gauge, values := range map[*prometheus.GaugeVec]map[string]float64{m.Kept: kept, m.Blocked: dollars} {
		l.Metrics.Replace(gauge, func(set func(float64, ...string)) {
			for code, x := range values {
				set(x, code)
			}
		})
	}
	l.Metrics.Replace(m.Consuming, func(set func(float64, ...string)) {
		for pool, s := range v.spending {
			for _, reason := range reasons {
				set(float64(s.Used), pool, strings.ToLower(string(reason)))
			}
		}
	})
	l.Metrics.Replace(m.Allowed, func(set func(float64, ...string)) {
		for pool, s := range v.spending {
			for reason, left := range s.Left {
				set(float64(left), pool, strings.ToLower(string(reason)))
			}
		}
	})
}

// begun counts a command.
func (q *Queue) begun(f *execution) {
	m := &q.Metrics.Disruption
	whole, reason := f.whole(), strings.ToLower(string(f.Cause))
	kind := whole.kind()
	m.Decisions.WithLabelValues(f.decision(), reason, kind).Inc()
	pools := map[string]bool{}
	for _, g := range f.Nodes {
		pools[g.Pool] = true
	}
	for pool := range pools {
		m.DecisionsByPool.WithLabelValues(f.decision(), reason, kind, pool).Inc()
		if f.Policy != "" {
			m.Moves.WithLabelValues(f.decision(), pool, string(f.Policy)).Inc()
		}
	}
}
