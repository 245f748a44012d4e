package offering

import (
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func TestShiftedZonesAreClosedForAllTypesUntilTheShiftEnds(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	before := u.Snapshot()
	shapes := []instancetype.Shape{{Type: catalog.Type{Name: "m5.large"}, Zones: []string{"a", "b"}, UsageClasses: []string{catalog.OnDemand}}}
	offer := func() [2]string {
		in := Input{Subnets: []awsv1.Subnet{{ID: "1", Zone: "a", ZoneID: "az1"}, {ID: "2", Zone: "b", ZoneID: "az2"}, {ID: "3", Zone: "a", ZoneID: "az1"}}, Prices: prices{"m5.large": 1}, Unavailable: u.Snapshot()}
		o := Assemble(shapes, in)[0].Offerings
		return [2]string{o[0].Unavailable, o[1].Unavailable}
	}
	u.ShiftZones(map[string]time.Time{"az1": c.t.Add(time.Hour), "az9": {}})
	if got, want := offer(), [2]string{Shifted, ""}; got != want {
		t.Errorf("zones a and b are closed for %q, want %q", got, want)
	}
	shifted := u.Snapshot()
	if _, single := shifted.Changed(before); single {
		t.Error("a shift changes more than single types")
	}
	c.pass(time.Minute)
	u.ShiftZones(map[string]time.Time{"az1": c.t.Add(59 * time.Minute), "az9": {}})
	if u.Snapshot() != shifted {
		t.Error("the same shifts make another snapshot")
	}
	c.pass(time.Hour)
	if got := offer(); got != [2]string{} {
		t.Errorf("after its end zone a is closed for %q", got[0])
	}
	if !opened(shifted, u.Snapshot()) {
		t.Error("nobody hears that a zone has opened")
	}
	c.pass(6 * time.Hour)
	u.ShiftZones(map[string]time.Time{"az9": {}})
	c.pass(unconfirmed - time.Minute)
	if !u.Snapshot().ZoneShifted("az9") {
		t.Error("a shift that was confirmed half a day ago is not heeded any more")
	}
	c.pass(time.Hour)
	if u.Snapshot().ZoneShifted("az9") {
		t.Error("a shift that nobody confirms is heeded for ever")
	}
	u.ShiftZones(map[string]time.Time{"az9": {}})
	u.ShiftZones(nil)
	if u.Snapshot().ZoneShifted("az9") {
		t.Error("a zone stays shifted after its shift was ended")
	}
	if u.Snapshot().ZoneShifted("") {
		t.Error("a zone without an id is shifted")
	}
}
