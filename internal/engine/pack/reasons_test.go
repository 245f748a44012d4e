package pack_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// A pod whose volume is in a zone that the pool does not have is told of the volume, not of a zone with a similar name.
func TestAZoneThatAVolumeAsksForIsSaidToBeTheVolumes(t *testing.T) {
	for name, test := range map[string]struct {
		byVolume bool
		want     string
		not      string
	}{
		"by a volume":   {true, "which a volume of the pod or its storage class asks for", "did you mean"},
		"by a selector": {false, "did you mean", "volume"},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(t)(scenario.Large(1, 1, 0, 1, 1))
			c := *p.Pending[0].Class
			zone := []requirement.Term{in(requirement.Zone, "us-east-1z")}
			if c.Selector = nil; test.byVolume {
				c.Volumes = [][]requirement.Term{zone}
			} else {
				c.Selector = zone
			}
			c.ID = c.Hash()
			p.Pending[0].Class = &c
			out := pack.Solve(p)
			if len(out.Unplaced) != 1 {
				t.Fatalf("%d classes are unplaced", len(out.Unplaced))
			}
			text := out.Unplaced[0].Reasons[0].Text()
			if !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
				t.Errorf("%q: want %q, and not %q", text, test.want, test.not)
			}
		})
	}
}

// TestARefusalIsAValue: who looks for the cause of a wait need not read the words.
func TestARefusalIsAValue(t *testing.T) {
	now := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	p := shortOf(now, 0, 0)
	for _, x := range p.Pools[0].Types {
		x.Offerings[0].Available, x.Offerings[0].Unavailable, x.Offerings[0].Opens = false, "quota exceeded", time.Time{}
	}
	want := []plan.Refusal{{CapacityType: catalog.Spot, Why: "quota exceeded"}}
	out := pack.Solve(p)
	if len(out.Unplaced) != 1 || !slices.ContainsFunc(out.Unplaced[0].Reasons, func(r plan.Reason) bool { return r.Code == plan.NoOffering && slices.Equal(r.Refused.All(), want) }) {
		t.Errorf("%+v", out.Unplaced)
	}
}

// TestZonesWithoutASubnetAreNoSecondFault: they are named only where nothing else is in the way.
func TestZonesWithoutASubnetAreNoSecondFault(t *testing.T) {
	for why, want := range map[string]string{"quota exceeded": "can be launched now: quota exceeded", catalog.WithoutSubnet: "can be launched now: no subnet in zone"} {
		p := shortOf(time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC), 0, 0)
		for _, x := range p.Pools[0].Types {
			x.Offerings[0].Available, x.Offerings[0].Unavailable, x.Offerings[0].Opens = false, why, time.Time{}
			other := x.Offerings[0]
			other.Zone, other.ZoneID, other.Unavailable = "us-east-1z", "use1-az9", catalog.WithoutSubnet
			x.Offerings = append(x.Offerings, other)
		}
		out := pack.Solve(p)
		if len(out.Unplaced) != 1 {
			t.Fatalf("%d classes are unplaced", len(out.Unplaced))
		}
		if got := out.Unplaced[0].Reasons[0].Text(); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}
