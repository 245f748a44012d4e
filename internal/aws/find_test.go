package aws_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
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
