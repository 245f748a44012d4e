package aws_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Zones of the class: us-east-1a to c, with ids use1-az… as the simulated region has them.
func TestZonesThatTrafficIsShiftedAwayFromAreLeftAlone(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{ShutdownTime: time.Millisecond}})
	w, cluster := s.World, s.World.ClusterName()
	ahead := time.Duration(0)
	p := newProvider(t, s, func(o *aws.Options) { o.Now = func() time.Time { return time.Now().Add(ahead) } })
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	zone, id := class.Status.Subnets[0].Zone, class.Status.Subnets[0].ZoneID
	there := need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zone)
	m, err := p.Launch(t.Context(), newClaim(1, there), class)
	if err != nil {
		t.Fatal(err)
	}
	for name, auto := range map[string]bool{"by people": false, "by AWS": true} {
		t.Run(name, func(t *testing.T) {
			ahead += time.Minute // past what was listed before
			dead, err := p.Launch(t.Context(), newClaim(map[bool]int{true: 3, false: 4}[auto], there), class)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.EnableZonalShift(cluster, true); err != nil {
				t.Fatal(err)
			}
			if got, err := p.ZoneShifts(t.Context()); err != nil || len(got) != 0 {
				t.Fatalf("before: %v, %v", got, err)
			}
			if err := w.StartZonalShift(cluster, world.ZonalShift{ZoneID: id, Expires: w.Now().Add(time.Hour), Automatic: auto}); err != nil {
				t.Fatal(err)
			}
			got, err := p.ZoneShifts(t.Context())
			if err != nil || len(got) != 1 || got[0].ZoneID != id || got[0].Zone != zone || got[0].Until.IsZero() != auto {
				t.Fatalf("got %+v, %v", got, err)
			}
			types, err := p.Types(t.Context(), class)
			if err != nil {
				t.Fatal(err)
			}
			others := 0
			for _, ty := range types {
				for _, o := range ty.Offerings {
					if o.Zone == zone && o.Unavailable != offering.Shifted && !strings.HasPrefix(ty.Name, "a1.") {
						t.Errorf("%s is closed in %s for %q", ty.Name, zone, o.Unavailable)
					}
					if o.Zone != zone && o.Available {
						others++
					}
				}
			}
			if others == 0 {
				t.Error("nothing can be had anywhere")
			}
			if _, err := p.Launch(t.Context(), newClaim(2, there), class); err == nil {
				t.Error("an instance was launched there")
			}
			_, getErr := p.Get(t.Context(), m.ProviderID)
			for what, err := range map[string]error{
				"read": getErr, "terminated": p.Terminate(t.Context(), m.ProviderID), "tagged": p.Tag(t.Context(), map[string]map[string]string{m.ProviderID: {"a": "b"}}),
			} {
				e, ok := errors.AsType[*cloud.Error](err)
				if !ok || e.Class != cloud.Unavailable || e.Reason != "ZonalShift" || !strings.Contains(err.Error(), zone) {
					t.Errorf("the instance there can be %s: %v", what, err)
				}
			}
			if !p.LeftAlone(m.ProviderID) {
				t.Error("the instance there is not left alone")
			}
			if live := alive(s); len(live) != 2 || live[0].Tags["a"] != "" {
				t.Errorf("the instance there was touched: %+v", live)
			}

			// One that ends all the same is gone: its Node would keep its pods.
			if _, err := w.Terminate([]string{dead.InstanceID}); err != nil {
				t.Fatal(err)
			}
			ends := func(i world.Instance) bool { return i.ID == dead.InstanceID && i.State != world.StateTerminated }
			for late := time.Now().Add(time.Minute); slices.ContainsFunc(w.AllInstances(), ends); time.Sleep(time.Millisecond) {
				if time.Now().After(late) {
					t.Fatal("the instance does not end")
				}
			}
			ahead += time.Minute
			_, getErr = p.Get(t.Context(), dead.ProviderID)
			if endErr := p.Terminate(t.Context(), dead.ProviderID); !cloud.IsNotFound(getErr) || !cloud.IsNotFound(endErr) {
				t.Errorf("an instance that has ended there: %v, %v", getErr, endErr)
			}

			// ARC is away: what was known stays.
			fault := w.AddFault(world.Fault{Kind: world.FaultError, Service: "arc-zonal-shift", Code: "InternalServerException", Status: 500})
			if _, err := p.ZoneShifts(t.Context()); cloud.ClassOf(err) != cloud.Unavailable {
				t.Errorf("got %v", err)
			}
			if _, err := p.Get(t.Context(), m.ProviderID); err == nil {
				t.Error("the shift was forgotten while ARC was away")
			}
			w.RemoveFault(fault)

			if err := w.EndZonalShifts(cluster); err != nil {
				t.Fatal(err)
			}
			if got, err := p.ZoneShifts(t.Context()); err != nil || len(got) != 0 {
				t.Fatalf("after: %v, %v", got, err)
			}
			if _, err := p.Get(t.Context(), m.ProviderID); err != nil {
				t.Errorf("after the shift: %v", err)
			}
			if p.LeftAlone(m.ProviderID) {
				t.Error("the instance there is still left alone after the shift")
			}
		})
	}
}

func TestAClusterThatIsNotRegisteredForShiftsHasNone(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	_, err := p.ZoneShifts(t.Context())
	e, ok := errors.AsType[*cloud.Error](err)
	if !ok || e.Class != cloud.NotFound || e.Reason != "ZonalShiftNotRegistered" {
		t.Errorf("got %v", err)
	}
}

// A provider that has not asked for the types of a class yet knows the zones that it is told of only.
func TestAZoneThatNoClassSelectsIsLeftAlone(t *testing.T) {
	s := startSim(t, awssim.Options{})
	w, cluster := s.World, s.World.ClusterName()
	p := newProvider(t, s, nil)
	if err := w.EnableZonalShift(cluster, true); err != nil {
		t.Fatal(err)
	}
	if err := w.StartZonalShift(cluster, world.ZonalShift{ZoneID: "use1-az1", Expires: w.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	p.LearnZone("us-east-1a", "use1-az1")
	p.LearnZone("us-east-1b", "use1-az2")
	got, err := p.ZoneShifts(t.Context())
	if err != nil || len(got) != 1 || got[0].Zone != "us-east-1a" {
		t.Fatalf("got %+v, %v", got, err)
	}
	for id, want := range map[string]bool{"aws:///us-east-1a/i-1": true, "aws:///us-east-1b/i-2": false} {
		if p.LeftAlone(id) != want {
			t.Errorf("%s: left alone %t, want %t", id, !want, want)
		}
	}
}
