package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func TestExplanationsInWords(t *testing.T) {
	taint := plan.Constraint{Kind: plan.PoolTaint, Pool: "a", Key: "team", Want: "team=blue:NoSchedule"}
	zone := plan.Constraint{Kind: plan.NodeSelector, Key: "zone", Want: "zone In c"}
	pool := plan.Constraint{Kind: plan.PoolRequirement, Pool: "a", Key: "zone", Want: "zone In [a b]"}
	node := plan.TypeChoice{Name: "small", Zone: "a", CapacityType: "spot", Price: 30_000}
	change := plan.Change{Constraint: zone, Pool: "a", To: "zone In a", Node: node}
	proven := change
	proven.Proven, proven.Places, proven.Of, proven.More = true, 2, 3, -10_000
	for name, tc := range map[string]struct {
		x    plan.Explanation
		want string
	}{
		"pools with the same conflict share a line": {
			plan.Explanation{Conflicts: []plan.Conflict{{Pool: "a", Constraints: []plan.Constraint{zone, pool}}, {Pool: "b", Constraints: []plan.Constraint{zone, pool}}}},
			"pools a, b: these can't all be met: the pod's nodeSelector zone In c; the pool's requirement zone In [a b]\n" +
				"no single change is known that would do; more than one of these must change\n"},
		"the plan's own words are used where they are about the same": {
			plan.Explanation{Conflicts: []plan.Conflict{{Pool: "a", Constraints: []plan.Constraint{taint}, Reason: &plan.Reason{Code: plan.TaintNotTolerated, Pool: "a", Key: "team", Value: "blue:NoSchedule"}}}},
			"pool a: the pod does not tolerate its taint team=blue:NoSchedule\nno single change is known that would do; more than one of these must change\n"},
		"a reason about something else is not used": {
			plan.Explanation{Conflicts: []plan.Conflict{{Pool: "a", Constraints: []plan.Constraint{taint}, Reason: &plan.Reason{Code: plan.TooLarge, Resource: "cpu"}}}},
			"pool a: ruled out by the pool's taint team=blue:NoSchedule, which the pod does not tolerate\nno single change is known that would do; more than one of these must change\n"},
		"no conflict was found": {
			plan.Explanation{Conflicts: []plan.Conflict{{Pool: "a", Reason: &plan.Reason{Code: plan.ReservationPending, Pool: "a"}}, {Pool: "b"}}, Unfinished: true},
			"pool a: waits until it is settled who gets the reserved capacity\npool b: could take such a pod by itself, but not with all that must be placed\n" +
				"no single change is known that would do\nthe search was stopped before every pool was looked at\n"},
		"the best change comes first, others once": {
			plan.Explanation{Conflicts: []plan.Conflict{{Pool: "a", Constraints: []plan.Constraint{zone, pool}, Changes: []plan.Change{proven, {Constraint: pool, Pool: "a", To: "c", Node: node}}}}, Best: &proven},
			"pool a: these can't all be met: the pod's nodeSelector zone In c; the pool's requirement zone In [a b]\n" +
				"cheapest single change: let the pod's nodeSelector say zone In a, not zone In c\n" +
				"  an instance for it, small a spot, costs $0.0300/h; solved again with this change, 2 of 3 pods found a place, and the plan costs $0.0100/h less\n" +
				"or: let NodePool a allow c as well (it says zone In [a b])\n  an instance for it, small a spot, costs $0.0300/h\n"},
		"reasons for every pool stand alone": {
			plan.Explanation{General: []plan.Reason{{Code: plan.NoPools}}}, "there is no pool that could launch a node\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.x.String(); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestRunnersUpInWords(t *testing.T) {
	r := plan.RunnerUp{Price: 230_000, Nodes: []plan.TypeChoice{{Name: "small", CapacityType: "spot"}, {Name: "large", CapacityType: "spot"}, {Name: "small", CapacityType: "spot"}}}
	if got, want := r.Text(""), "2 x small spot, 1 x large spot at $0.2300/h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	left := plan.RunnerUp{Unplaced: make([]cluster.PodRef, 2)}
	if got, want := left.Text(""), "no instance at all, with 2 pods left without a place"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The pool that a pod selects is told first, also when it is not ready; those that it does not select share one clause.
func TestTheSelectedPoolIsToldFirst(t *testing.T) {
	var reasons []plan.Reason
	for _, pool := range []string{"b1", "b2", "b3", "b4", "b5"} {
		reasons = append(reasons, plan.Reason{Code: plan.LabelMismatch, Pool: pool, Key: "karpenter.sh/nodepool", Want: "karpenter.sh/nodepool In b13", Have: "karpenter.sh/nodepool In " + pool})
	}
	reasons = append(reasons,
		plan.Reason{Code: plan.TaintNotTolerated, Pool: "gpu", Key: "nvidia.com/gpu", Value: "true:NoSchedule"},
		plan.Reason{Code: plan.PoolNotReady, Pool: "b13", Detail: `its EC2NodeClass "shop" does not exist`},
		plan.Reason{Code: plan.NodesFull, Detail: "no nodes"})
	got := plan.Summary(reasons)
	var text []string
	left := len(reasons)
	for _, c := range got {
		text = append(text, c.Text)
		left -= c.Count
	}
	want := []string{
		`pool b13: is not ready: its EC2NodeClass "shop" does not exist`,
		"no existing node is suited: no nodes",
		"pools b1, b2, b3 and 2 more: the pod wants karpenter.sh/nodepool In b13, which their nodes do not match",
		"pool gpu: the pod does not tolerate its taint nvidia.com/gpu=true:NoSchedule",
	}
	if diff := cmp.Diff(want, text); diff != "" || left != 0 {
		t.Errorf("%d reasons left, clauses (-want +got):\n%s", left, diff)
	}
}
