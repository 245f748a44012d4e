package aws_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// A burst of equal claims, with the request rates that an account has by default in force: few calls, an instance each, and
// nothing more once all is quiet. The tags of joined instances, a call each, are the tagging controller's.
func TestAThousandEqualClaimsAreFewCalls(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p, calls := newCountedProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	for _, f := range world.AccountRates() {
		s.World.AddFault(f)
	}
	calls.Reset()
	claims := newClaims(1000)
	instances, errs := launchAll(t, p, class, claims)
	for _, err := range errs {
		t.Fatal(err)
	}
	oneEach(t, s, instances, len(claims))
	mutating := func() int {
		n := 0
		for op, count := range calls.All() {
			if op != "DescribeInstances" && op != "DescribeSubnets" && op != "DescribeImages" {
				n += count
			}
		}
		return n
	}
	t.Logf("calls: %v", calls.All())
	if n := mutating(); n >= 20 {
		t.Errorf("%d calls that change something, want fewer than 20: %v", n, calls.All())
	}
	// A busy computer may bring requests closer together than they were sent; one that is refused is sent again.
	if denied := s.World.CallOutcomes("CreateFleet")["RequestLimitExceeded"]; denied > 4 {
		t.Errorf("EC2 refused %d requests for their rate", denied)
	}
	// The same claims again, and an idle round of every loop: nothing is made, nothing deleted.
	calls.Reset()
	before := maps.Clone(s.World.CallCounts())
	var wg sync.WaitGroup
	for _, c := range claims {
		wg.Go(func() {
			if m, err := p.Launch(t.Context(), c, class); err != nil || m.ProviderID != instances[c.Name].ProviderID {
				t.Errorf("%s: %v, %v", c.Name, m, err)
			}
		})
	}
	wg.Wait()
	p.CollectTemplatesOnce(t.Context())
	p.RefreshOnce(t.Context())
	if _, err := p.List(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	for _, op := range []string{"CreateFleet", "CreateLaunchTemplate", "DeleteLaunchTemplate", "CreateTags", "TerminateInstances", "RunInstances"} {
		if n := s.World.CallCount(op) - before[op]; n != 0 {
			t.Errorf("an idle round made %d calls of %s", n, op)
		}
	}
}
