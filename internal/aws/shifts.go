package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/zonalshift"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// shifts is what the provider needs to leave zones alone that traffic is moved away from.
type shifts struct {
	reader *zonalshift.Reader
	ids    sync.Map // zone name → id, as subnets of classes have them, and instances that were launched before
}

// ReasonZonalShift is why an instance is not touched: something is wrong in its zone, and calls about it may not end.
const ReasonZonalShift = "ZonalShift"

// ZoneShifts asks which zones the cluster's traffic is moved away from, and closes all that could be launched there. When
// that can't be found out, what was known stays until it ends by itself.
//
// Errors: *cloud.Error; NotFound when the cluster is not registered for zonal shifts.
func (p *Provider) ZoneShifts(ctx context.Context) ([]cloud.ZoneShift, error) {
	facts, err := p.clusterFacts(ctx)
	if err != nil {
		return nil, err
	}
	found, err := p.shifts.reader.Read(ctx, facts.arn)
	if cloud.IsNotFound(err) {
		p.unavailable.ShiftZones(nil)
	}
	if err != nil {
		return nil, err
	}
	until, out := map[string]time.Time{}, make([]cloud.ZoneShift, len(found))
	for i, s := range found {
		until[s.ZoneID] = s.Until
		out[i] = cloud.ZoneShift{ZoneID: s.ZoneID, Zone: p.shifts.zone(s.ZoneID), Until: s.Until}
	}
	p.unavailable.ShiftZones(until)
	return out, nil
}

// LearnZone notes the id of a zone. Types notes those of the zones that classes select; an instance may stand in one that no class
// selects any more.
func (p *Provider) LearnZone(zone, id string) { p.shifts.ids.LoadOrStore(zone, id) }

// learn notes the ids of the zones of subnets.
func (s *shifts) learn(subnets []awsv1.Subnet) {
	for i := range subnets {
		if subnets[i].ZoneID != "" {
			s.ids.LoadOrStore(subnets[i].Zone, subnets[i].ZoneID)
		}
	}
}

// zone is the name of a zone, empty if it is not known.
func (s *shifts) zone(id string) (name string) {
	s.ids.Range(func(k, v any) bool {
		if v == id {
			name, _ = k.(string)
		}
		return name == ""
	})
	return name
}

// unlessEnded is why an instance is left alone, unless EC2 shows it as terminated in the listing of them all, which asks for no
// single one: then it is an error of class NotFound. Leaving a zone alone is no reason to keep the Node of an instance that is
// gone: Kubernetes would not free its pods.
func (p *Provider) unlessEnded(ctx context.Context, id string, leftAlone error) error {
	all, err := p.inventory.Since(ctx, p.opts.Now().Add(-recent))
	if err != nil {
		return leftAlone
	}
	for _, m := range all {
		if m.InstanceID == id && m.State == string(types.InstanceStateNameTerminated) {
			p.held.Ended(id)
			return &cloud.Error{Op: "looking for instance " + id, Class: cloud.NotFound, Err: errors.New("it is terminated")}
		}
	}
	return leftAlone
}

// recent is how old a listing may be that is to tell of instances that have ended.
const recent = 30 * time.Second

// LeftAlone reports whether traffic is shifted away from the zone of an instance, so that the instance must stay.
func (p *Provider) LeftAlone(providerID string) bool {
	return p.heldBack("touching", providerID) != nil
}

// heldBack is the error of all that is asked of a single instance while traffic is shifted away from its zone; nil at
// other times.
func (p *Provider) heldBack(op, providerID string) error {
	zone, _, _ := strings.Cut(strings.TrimPrefix(providerID, "aws:///"), "/")
	id, ok := p.shifts.ids.Load(zone)
	if !ok {
		return nil
	}
	if id, _ := id.(string); !p.unavailable.Snapshot().ZoneShifted(id) {
		return nil
	}
	return &cloud.Error{Op: op + " " + providerID, Class: cloud.Unavailable, Reason: ReasonZonalShift,
		Err: fmt.Errorf("traffic is shifted away from zone %s; its instances are left alone until that ends", zone)}
}
