package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// Where nothing says the region of what somebody brought, the default one is played and said to be a guess.
func TestARegionThatIsNotKnownIsMarked(t *testing.T) {
	for name, c := range map[string]struct {
		flags   simulateFlags
		read    *workload.Workload
		region  string
		unknown bool
	}{
		"the quick start":                     {region: simulate.DefaultRegion},
		"files of NodePools":                  {flags: simulateFlags{files: []string{"pools/"}}, region: simulate.DefaultRegion, unknown: true},
		"a flag":                              {flags: simulateFlags{files: []string{"pools/"}, region: "eu-west-1"}, region: "eu-west-1"},
		"a history without nodes":             {read: &workload.Workload{}, region: simulate.DefaultRegion, unknown: true},
		"a history of nodes in another cloud": {read: &workload.Workload{Region: "us-central1"}, region: simulate.DefaultRegion, unknown: true},
		"a history with nodes":                {read: &workload.Workload{Region: "eu-west-1"}, region: "eu-west-1"},
	} {
		f := c.flags
		f.workload.register(&cobra.Command{})
		f.horizon, f.boot = time.Hour, time.Minute
		if f.workload.read = c.read; c.read != nil {
			f.workload.history = []string{"history/"}
		}
		s, err := f.spec(&simulate.Configuration{}, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Region != c.region || s.RegionUnknown != c.unknown {
			t.Errorf("%s: region %s, not known: %v", name, s.Region, s.RegionUnknown)
		}
	}
}
