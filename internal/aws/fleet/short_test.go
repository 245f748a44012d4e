package fleet

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/network"
)

// A zone whose pools have closed takes no subnet from the others, which may have less room, and holds no addresses.
func TestSubnetsAreChosenForPoolsThatAreOpen(t *testing.T) {
	for name, c := range map[string]struct {
		closed []string // zones
		places int
		want   Need
		err    error
	}{
		"all are open":    {places: 1, want: Need{Instances: 1, Each: network.Demand{Addresses: 9}, Planned: 2}},
		"one has closed":  {closed: []string{"a"}, places: 1, want: Need{Instances: 1, Each: network.Demand{Addresses: 1}, Planned: 2}},
		"all have closed": {closed: []string{"a", "b"}, err: errShort},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, places := newFleets(), 0
				b := begun(api, Options{
					Closed: func(_ *Request, o *Override) bool { return slices.Contains(c.closed, o.Zone) },
					Place: func(r *Request, n Need) Placement {
						places++
						if n.Instances != c.want.Instances || n.Each != c.want.Each || n.Planned != c.want.Planned {
							t.Errorf("needed: %+v, want %+v", n, c.want)
						}
						// The first zone of the request has most room.
						zone := r.Templates[0].Overrides[0].Zone
						return Placement{Subnets: map[string]string{zone: "subnet-" + zone}, Settle: func(map[string]int) {}}
					},
				})
				order := orderOf("c", "m5.large")
				order.Addresses = 2
				order.Request.Subnets = []awsv1.Subnet{{ID: "subnet-a", Zone: "a"}, {ID: "subnet-b", Zone: "b"}}
				order.Request.Templates = []Template{
					{Name: "t", Demand: network.Demand{Addresses: 9}, Overrides: []Override{{InstanceType: "m5.large", Zone: "a"}}},
					{Name: "u", Demand: network.Demand{Addresses: 1}, Overrides: []Override{{InstanceType: "m5.large", Zone: "b"}}},
				}
				got, err := b.Launch(t.Context(), order)
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || (got == nil) != (err != nil) || places != c.places || api.asked != c.places {
					t.Errorf("launched: %+v, %v, want error %v; subnets were chosen %d times, EC2 was asked %d times, want %d", got, err, c.err, places, api.asked, c.places)
				}
			})
		})
	}
}
