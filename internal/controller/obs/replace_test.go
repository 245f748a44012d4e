package obs_test

import (
	"strings"
	"testing"

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
