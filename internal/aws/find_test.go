package aws_test

import (
	"context"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// What a process has launched, the next one finds though nothing of it was written down, and launches nothing for looking.
func TestTheInstanceOfAClaimIsFoundByTheNextProcess(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	first := newProvider(t, s, nil)
	ready(t, first)
	resolve(t, first, class)
	claims := newClaims(3)
	instances, errs := launchAll(t, first, class, claims[:2])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	next, calls := newCountedProvider(t, s, func(o *aws.Options) { o.DisableDryRun = true })
	if err := next.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Begin(t.Context(), uids(claims))
	calls.Reset()
	for _, p := range []*aws.Provider{first, next} {
		for _, c := range claims[:2] {
			if m, err := p.Find(t.Context(), c); err != nil || m.ProviderID != instances[c.Name].ProviderID {
				t.Errorf("%s: found %+v, %v; want %s", c.Name, m, err, instances[c.Name].ProviderID)
			}
		}
		if m, err := p.Find(t.Context(), claims[2]); !cloud.IsNotFound(err) {
			t.Errorf("found %+v, %v for a claim that was never launched", m, err)
		}
	}
	if got := calls.All(); got["CreateFleet"] != 0 || got["DescribeInstances"] != 1 {
		t.Errorf("calls were %v, want one listing and no launch", got)
	}
	// A claim that is newer than the process can't have been launched by another.
	calls.Reset()
	if _, err := next.Find(t.Context(), newClaim(99)); !cloud.IsNotFound(err) || len(calls.All()) != 0 {
		t.Errorf("%v, after %v", err, calls.All())
	}
}

// What EC2 did not answer for claims that are all being deleted is not launched for them later; what it had launched is found.
func TestAnUnansweredLaunchIsNotSentAgainForDeletedClaims(t *testing.T) {
	outage := world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: "ServiceUnavailable", Status: 503}
	for _, tc := range []struct {
		name     string
		fault    world.Fault
		launched int
	}{
		{"nothing reached EC2", outage, 0},
		{"only the reply was lost", world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			class := newClass(s)
			p, calls := newCountedProvider(t, s, nil)
			ready(t, p)
			resolve(t, p, class)
			fault := s.World.AddFault(tc.fault)
			claims := newClaims(2)
			if _, errs := launchAll(t, p, class, claims); len(errs) != 2 {
				t.Fatalf("%d launches failed, want 2", len(errs))
			}
			calls.Reset()
			if m, err := p.Find(t.Context(), claims[0]); err == nil || cloud.IsNotFound(err) || calls.All()["CreateFleet"] == 0 {
				t.Errorf("found %+v, %v while another claim of the request still wants its instance, after calls %v", m, err, calls.All())
			}
			s.World.RemoveFault(fault)
			calls.Reset()
			found := map[string]bool{}
			for _, c := range []int{1, 0} {
				switch m, err := p.Find(t.Context(), claims[c]); {
				case err == nil:
					found[m.ProviderID] = true
				case !cloud.IsNotFound(err):
					t.Error(err)
				}
			}
			if len(found) != tc.launched || len(s.World.Instances()) != tc.launched {
				t.Errorf("found %v of %d instances, want %d", found, len(s.World.Instances()), tc.launched)
			}
			if n := calls.All()["CreateFleet"]; n != 0 {
				t.Errorf("CreateFleet was called %d times for claims that are being deleted", n)
			}
		})
	}
}

// TestWhoLooksForAnInstanceMayGiveUpWhileEC2Hangs: the call whose outcome is not known goes on, and the next who looks learns of it.
func TestWhoLooksForAnInstanceMayGiveUpWhileEC2Hangs(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	p := newProvider(t, s, nil)
	ready(t, p)
	resolve(t, p, class)
	s.World.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 1})
	claims := newClaims(2) // the second one still wants its instance
	if _, errs := launchAll(t, p, class, claims); len(errs) != 2 {
		t.Fatalf("%d launches failed, want 2", len(errs))
	}
	const hangs = 5 * time.Second // long enough for a computer that has other work
	s.World.AddFault(world.Fault{Kind: world.FaultSlow, Operation: "CreateFleet", Delay: hangs, Count: 1})
	soon, cancel := context.WithTimeout(t.Context(), hangs/10)
	defer cancel()
	begun := time.Now()
	if m, err := p.Find(soon, claims[0]); err == nil || cloud.IsNotFound(err) {
		t.Errorf("found %+v, %v while EC2 does not answer", m, err)
	}
	if took := time.Since(begun); took > hangs/2 {
		t.Errorf("it took %s to give up", took)
	}
	if m, err := p.Find(t.Context(), claims[0]); err != nil || m.ProviderID == "" {
		t.Errorf("found %+v, %v once EC2 has answered", m, err)
	}
}
