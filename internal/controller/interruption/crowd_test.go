package interruption

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
)

// TestManyInstancesThatFailTheirChecksStay: a zone or an image that is broken would break the next instances as well.
func TestManyInstancesThatFailTheirChecksStay(t *testing.T) {
	of := func(n int, c instancestatus.Category) []instancestatus.Status {
		out := make([]instancestatus.Status, 30)
		for i := range n {
			out[i].Failures = []instancestatus.Failure{{Category: c}}
		}
		return out
	}
	for name, tt := range map[string]struct {
		statuses []instancestatus.Status
		all      int
		want     bool
	}{
		"none":                         {of(0, instancestatus.System), 30, false},
		"one of one":                   {of(1, instancestatus.System), 1, false},
		"a fifth":                      {of(6, instancestatus.System), 30, false},
		"more than a fifth":            {of(7, instancestatus.Instance), 30, true},
		"two of five":                  {of(2, instancestatus.Instance), 5, true},
		"volumes, which end no node":   {of(20, instancestatus.Volumes), 30, false},
		"a fifth, of more than listed": {of(20, instancestatus.System), 100, false},
	} {
		if got := crowd(tt.statuses, tt.all); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
