package obs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

func TestAScrapeNeverMissesWhatStays(t *testing.T) {
	m := obs.NewMetrics(prometheus.NewRegistry())
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "things", Help: "Things."}, []string{"kind", "color"})
	see := func(want ...string) {
		t.Helper()
		text := ""
		if len(want) > 0 {
			text = "# HELP things Things.\n# TYPE things gauge\n" + strings.Join(want, "\n") + "\n"
		}
		if err := testutil.CollectAndCompare(gauge, strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	m.Replace(gauge, func(set func(float64, ...string)) {
		set(1, "a", "red")
		set(2, "b", "red")
	})
	see(`things{color="red",kind="a"} 1`, `things{color="red",kind="b"} 2`)
	m.Replace(gauge, func(set func(float64, ...string)) {
		see(`things{color="red",kind="a"} 1`, `things{color="red",kind="b"} 2`) // a scrape before
		set(3, "b", "red")
		see(`things{color="red",kind="a"} 1`, `things{color="red",kind="b"} 3`) // and one in the middle
		set(4, "c", "blue")
	})
	see(`things{color="red",kind="b"} 3`, `things{color="blue",kind="c"} 4`)
	m.Replace(gauge, func(func(float64, ...string)) {})
	see()
}

// TestWhatIsGoneHasNoSeries: a NodePool or EC2NodeClass is named by metrics of its own, and by those of its NodeClaims and nodes.
func TestWhatIsGoneHasNoSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := obs.NewMetrics(registry)
	for _, name := range []string{"team-7", "stays"} {
		for _, k := range obs.Kinds {
			values := make([]string, len(k.Labels))
			for i := range values {
				values[i] = name
			}
			m.Conditions.Changed(k.Name, "Ready", "False", "True", "Ready", time.Second, values)
			m.Conditions.Ended(k.Name, time.Second, values)
		}
		m.NodePoolLimit.WithLabelValues("cpu", name).Set(1)
		m.AWS.UserDataBytes.WithLabelValues(name).Set(1)
	}
	named := func(name string) (out []string) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, one := range f.GetMetric() {
				for _, l := range one.GetLabel() {
					if l.GetValue() == name {
						out = append(out, f.GetName()+" "+l.GetName())
					}
				}
			}
		}
		return out
	}
	before := named("stays")
	m.Forget(obs.LabelNodePool, "team-7")
	m.Forget(obs.LabelNodeClass, "team-7")
	for _, series := range named("team-7") {
		t.Errorf("is still there: %s", series)
	}
	if after := named("stays"); len(after) != len(before) || len(after) < 10 {
		t.Errorf("of another: %v, before %v", after, before)
	}
}
