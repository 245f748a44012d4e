package reserved

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/reservation"
)

// blocks is what is known of capacity blocks that instances run out of.
type blocks struct {
	asked time.Time // when the cloud was last asked for those that no class selects
	known map[string]awsv1.CapacityReservation
}

// ends are the ends of the capacity blocks that instances run out of and that are about to end, by id. Classes name most
// of them. The cloud is asked for the others, those that no class selects any more, once a minute: an end can be put off.
//
// Errors: what could not be read; what was known before of those blocks is returned all the same.
func (l *Loop) ends(ctx context.Context, claims []*karpv1.NodeClaim) (map[string]time.Time, error) {
	now := l.Clock.Now()
	used := map[string]bool{} // whether it may be a block
	for _, c := range claims {
		// What bears no type may be one: not every controller of this API has written it.
		if id := c.Labels[awsv1.LabelCapacityReservationID]; id != "" {
			used[id] = used[id] || c.Labels[awsv1.LabelCapacityReservationType] != awsv1.CapacityReservationTypeDefault
		}
	}
	var classes awsv1.EC2NodeClassList
	if err := l.Client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing ec2nodeclasses: %w", err)
	}
	known := map[string]awsv1.CapacityReservation{}
	for id, r := range l.blocks.known {
		if _, ok := used[id]; ok {
			known[id] = r
		}
	}
	l.blocks.known = known
	selected := map[string]bool{}
	for i := range classes.Items {
		for _, r := range classes.Items[i].Status.CapacityReservations {
			if _, ok := used[r.ID]; ok {
				selected[r.ID], known[r.ID] = true, r
			}
		}
	}
	var err error
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(id string) bool { return selected[id] || !used[id] })
	if len(others) > 0 && now.Sub(l.blocks.asked) >= maxAge {
		l.blocks.asked = now
		var found []awsv1.CapacityReservation
		if found, err = l.Reservations.Reservations(ctx, others); err != nil {
			err = fmt.Errorf("asking for the ends of %d capacity blocks that no ec2nodeclass selects: %w", len(others), err)
		}
		for _, r := range found {
			known[r.ID] = r
		}
	}
	out := map[string]time.Time{}
	for id := range known {
		if r := known[id]; reservation.Expiring(&r, now) {
			out[id] = r.EndTime.Time
		}
	}
	return out, err
}
