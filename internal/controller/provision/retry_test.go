package provision

import (
	"strings"
	"testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	decision "github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestWhatIsLaunchedFromNothingButAShortageIsTriedOnce: where other capacity is as good, EC2 takes that, and all nodes come.
func TestWhatIsLaunchedFromNothingButAShortageIsTriedOnce(t *testing.T) {
	short := func(price catalog.MicroUSD) catalog.Offering {
		return catalog.Offering{Zone: "a", CapacityType: catalog.Spot, Price: price, Available: true, Retried: true}
	}
	healthy := func(price catalog.MicroUSD) catalog.Offering {
		return catalog.Offering{Zone: "b", CapacityType: catalog.Spot, Price: price, Available: true}
	}
	for name, tt := range map[string]struct {
		first, second []catalog.Offering
		want          bool
	}{
		"nothing is short":                     {[]catalog.Offering{healthy(100)}, nil, false},
		"the only one is short":                {[]catalog.Offering{short(100)}, nil, true},
		"another zone is as cheap":             {[]catalog.Offering{short(100), healthy(100)}, nil, false},
		"another zone is nearly as cheap":      {[]catalog.Offering{short(100), healthy(110)}, nil, false},
		"another zone is too dear to be taken": {[]catalog.Offering{short(100), healthy(111)}, nil, true},
		"another type is nearly as cheap":      {[]catalog.Offering{short(100)}, []catalog.Offering{healthy(105)}, false},
		"all types are short":                  {[]catalog.Offering{short(100)}, []catalog.Offering{short(105)}, true},
		"another type is closed":               {[]catalog.Offering{short(100)}, []catalog.Offering{{Zone: "b", CapacityType: catalog.Spot, Price: 100}}, true},
		"another zone is not allowed":          {[]catalog.Offering{short(100), {Zone: "c", CapacityType: catalog.Spot, Price: 100, Available: true}}, nil, true},
	} {
		pool := &cluster.Pool{Name: "p", Types: []*catalog.Type{{Name: "1", Offerings: tt.first}, {Name: "2", Offerings: tt.second}, {Name: "3", Offerings: []catalog.Offering{healthy(1)}}}}
		n := &plan.NewNode{Pool: "p", Types: []plan.TypeChoice{{Name: "1", Price: 100}, {Name: "2", Price: 105}},
			Requirements: []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{"a", "b"}}}}
		if got := retries(n, pool, 10); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if anyPrice := name == "another zone is too dear to be taken"; anyPrice && retries(n, pool, 0) {
			t.Errorf("%s: EC2 is asked for it at any price, and it is not short", name)
		}
	}
}

// TestPodsThatWaitForTheAnswerToAnotherHaveNoPlace: nodes that go begin no decision for them, and they are told why and counted.
func TestPodsThatWaitForTheAnswerToAnotherHaveNoPlace(t *testing.T) {
	var got *decision.Decision
	asked := map[string]bool{}
	h := newTestCluster(t, func(o *Options) {
		o.Record = func(d *decision.Decision) { got = d }
		o.Retry = func(pool string) { asked[pool] = true }
	})
	for _, x := range h.shop.types {
		for i := range x.Offerings {
			x.Offerings[i].Retried = true
		}
	}
	h.pool("default")
	for _, name := range []string{"a", "b", "c"} {
		h.pod(name, "15")
	}
	out, err := h.Decide(t.Context())
	if err != nil || len(out.Created) != 1 {
		t.Fatalf("%d NodeClaims, want one to see whether EC2 has capacity again; %v", len(out.Created), err)
	}
	if n := len(h.cache.Snapshot().Pending); n != 2 {
		t.Fatalf("%d pods are pending, want 2", n)
	}
	if h.more() {
		t.Error("the pods of the others count as if nothing were decided on them")
	}
	if n := h.count.unplaced[plan.AskedAgain]; n != 2 || len(h.count.unplaced) != 1 {
		t.Errorf("without a place: %v, want 2 for %s", h.count.unplaced, plan.AskedAgain)
	}
	if len(asked) > 0 {
		t.Errorf("EC2 is asked again for %v because of pods for which it is asked already", asked)
	}
	told := 0
	for len(h.events.Events) > 0 {
		if e := <-h.events.Events; strings.Contains(e, "FailedScheduling pool default: EC2 is asked again with one NodeClaim first") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d pods are told, want 2", told)
	}
	if len(got.Left) != 1 || len(got.Left[0].Pods) != 2 || len(got.Plan.NewNodes) != 3 || len(got.Plan.Unplaced) != 0 {
		t.Errorf("recorded as left: %+v, of a plan of %d nodes", got.Left, len(got.Plan.NewNodes))
	}
}

// TestARefusedNodeClaimAsksNothing of EC2: the decision that follows makes it, and tells nobody that EC2 is asked again.
func TestARefusedNodeClaimAsksNothing(t *testing.T) {
	var h *testCluster
	changed := false
	h = newTestCluster(t, func(o *Options) {
		o.Solve = func(p *pack.Problem) *plan.Plan {
			out := pack.Solve(p)
			if !changed {
				changed = true
				h.pool("default", func(p *karpv1.NodePool) { p.Spec.Template.Labels = map[string]string{"team": "b"} })
			}
			return out
		}
	})
	for _, x := range h.shop.types {
		for i := range x.Offerings {
			x.Offerings[i].Retried = true
		}
	}
	h.pool("default")
	h.pod("a", "15")
	for _, want := range []int{0, 1} {
		out, err := h.Decide(t.Context())
		if err != nil || len(out.Created) != want || len(out.Refused) != 1-want {
			t.Fatalf("created %v, refused %v, %v; want %d NodeClaims", out.Created, out.Refused, err, want)
		}
	}
	if len(h.count.unplaced) != 0 {
		t.Errorf("without a place: %v", h.count.unplaced)
	}
}
