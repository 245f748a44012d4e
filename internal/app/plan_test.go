package app

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/settings"
)

func TestAPlanTellsWhatItLeavesOut(t *testing.T) {
	for want, g := range map[string]settings.Gates{
		"":                {NodeRepair: true, StaticCapacity: true, ReservedCapacity: true},
		"NodeOverlays":    {NodeOverlay: true},
		"CapacityBuffers": {CapacityBuffer: true},
	} {
		got := strings.Join(leftOut(g), "\n")
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || strings.Count(got, "left out") > 1 {
			t.Errorf("%+v: %q", g, got)
		}
	}
}
