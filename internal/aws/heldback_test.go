package aws

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/catalog"
)

// A price that is set by hand must not open a class that is closed because its machines die.
func TestAClosedClassStaysClosedForWhatGetsAPriceLater(t *testing.T) {
	types := []*catalog.Type{{Name: "m5.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true},
		{Zone: "a", CapacityType: catalog.Spot, Unavailable: offering.NoPrice},
	}}}
	var h heldBack
	hand := h.back(types, offering.Dying)[0].Overlay([]catalog.Overlay{{Name: "by-hand", Price: &catalog.PriceRule{Price: 7}}}, nil)
	for _, o := range hand.Offerings {
		if o.Available || o.Unavailable != offering.Dying {
			t.Errorf("%s is available: %v, closed for %q", o.CapacityType, o.Available, o.Unavailable)
		}
	}
}
