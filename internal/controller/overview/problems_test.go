package overview

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// TestProblems has one thing that is wrong in each row, and what is said of it.
func TestProblems(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	old, fresh := now.Add(-10*time.Minute), now.Add(-time.Minute)
	for name, tc := range map[string]struct {
		d     Document
		nodes []*Node
		want  []string // level code object: title; text; remedy
	}{
		"nothing": {},
		"a service that answers, and one that does not": {
			d:    Document{Services: []Service{{Name: "EC2", Answers: true}, {Name: "SQS", Error: "ReceiveMessage: AccessDenied", Since: old}}},
			want: []string{"problem AWSServiceFails AWS SQS: AWS SQS: calls fail; ReceiveMessage: AccessDenied; kerf doctor"},
		},
		"a class that is not ready, once": {
			d: Document{
				Troubles: []Trouble{{Kind: "NodePool", Name: "default", Condition: "NodeClassReady", Reason: "X"}},
				Pools:    []Pool{{Name: "default", NotReady: "its class is not ready"}, {Name: "other", NotReady: "it is deleted"}},
			},
			want: []string{
				"problem ConditionNotTrue NodePool default: NodePool default: NodeClassReady is not true; X; kubectl describe nodepool default",
				"problem NodePoolNotReady NodePool other: NodePool other can't launch nodes; it is deleted; kubectl describe nodepool other",
			},
		},
		"conditions that stop no launch": {
			d: Document{
				Troubles: []Trouble{{Kind: "EC2NodeClass", Name: "a", Condition: "InterruptionQueueReady", Message: "no rule"}, {Kind: "NodeClaim", Name: "c", Condition: "Launched", Message: "m"}},
				Queue:    &Queue{Name: "q", Message: "no rule"},
			},
			want: []string{
				"warning ConditionNotTrue EC2NodeClass a: EC2NodeClass a: InterruptionQueueReady is not true; no rule; kubectl describe ec2nodeclass a",
				"warning ConditionNotTrue NodeClaim c: NodeClaim c: Launched is not true; m; kubectl describe nodeclaim c",
			},
		},
		"a queue": {
			d:    Document{Queue: &Queue{Name: "q", Message: "it does not exist"}},
			want: []string{"warning QueueNotReady Queue q: The interruption queue q is not ready; it does not exist; kerf doctor"},
		},
		"pods without a node: the oldest is named, and those that are not listed count": {
			d: Document{WaitingMore: 5, Waiting: []Waiting{
				{Pod: "a/b", Count: 2, Since: fresh, Why: "too large"}, {Pod: "a/c", Count: 1, Since: old, Why: "no zone"}, {Pod: "a/d", Count: 9, Since: old, Node: "n"},
			}},
			want: []string{"problem PodsWithoutNode Pod a/c: 8 pods wait and no node is on its way; no zone; kerf explain pod a/c"},
		},
		"a pod that has just come is being decided": {
			d: Document{Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: now.Add(-time.Second)}}},
		},
		"a pod that nobody decides about": {
			d:    Document{Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
			want: []string{"problem PodsWithoutNode Pod a/b: 1 pod waits and no node is on its way; no decision has been made about them yet; kerf explain pod a/b"},
		},
		"nodes that are slow to join; one with a condition has its own line": {
			d: Document{Troubles: []Trouble{{Kind: "NodeClaim", Name: "c3", Condition: "Registered", Message: "m"}}},
			nodes: []*Node{
				{Name: "n1", Claim: "c1", State: Joining, Created: fresh}, {Name: "n2", Claim: "c2", State: Joining, Created: old}, {Name: "n3", Claim: "c3", State: Starting, Created: old},
			},
			want: []string{
				"problem NodesSlowToJoin Node n2: 1 instance has not become a ready node; n2; kerf doctor; kubectl describe nodeclaim c2",
				"warning ConditionNotTrue NodeClaim c3: NodeClaim c3: Registered is not true; m; kubectl describe nodeclaim c3",
			},
		},
		"many nodes that are not ready are one problem": {
			nodes: []*Node{{Name: "a", State: NotReady}, {Name: "b", State: NotReady}, {Name: "c", State: NotReady}, {Name: "d", State: NotReady}, {Name: "e", State: NotReady}, {Name: "f", State: NotReady}},
			want:  []string{"warning NodesNotReady Node a: 6 nodes are not ready; a, b, c, d, e and 1 more; kubectl describe node a"},
		},
		"what EC2 refuses as a whole; capacity that is short is everyday": {
			d:    Document{Closures: []Closure{{Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9}, {Scope: "capacity-type", CapacityType: "spot", Reason: "no role", Count: 1}}},
			want: []string{"warning LaunchesRefused EC2 capacity-type: EC2 refuses spot launches; no role; kerf doctor"},
		},
		"a limit: 95 of 100 is near, 94 is not": {
			d: Document{Pools: []Pool{{Name: "p", Limits: map[string]int64{"cpu": 100_000, "memory": 100}, Used: map[string]int64{"cpu": 95_000, "memory": 94}}}},
			want: []string{
				"warning NodePoolLimit NodePool p: NodePool p uses 95 % of its limit of cpu; ; kubectl edit nodepool p (raise spec.limits.cpu)",
			},
		},
		"no price": {
			d:    Document{Bill: Bill{Unpriced: 1}},
			want: []string{"warning PriceUnknown  : 1 node has no known price; the cost does not count them; kerf doctor"},
		},
		"bad ones come first": {
			d: Document{Bill: Bill{Unpriced: 2}, Held: &Held{Until: now, Why: "w"}, Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
			want: []string{
				"problem PodsWithoutNode Pod a/b: 1 pod waits and no node is on its way; no decision has been made about them yet; kerf explain pod a/b",
				"warning ConsolidationPaused  : Consolidation that moves pods is paused; w; none needed: it resumes by itself; kubectl get events -A --field-selector reason=ConsolidationHeld",
				"warning PriceUnknown  : 2 nodes have no known price; the cost does not count them; kerf doctor",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.d.At = now
			got := []string{}
			known := []string{}
			for _, c := range ProblemCodes() {
				known = append(known, c.Code)
			}
			for _, p := range problems(&tc.d, tc.nodes, nil) {
				got = append(got, string(p.Level)+" "+p.Code+" "+p.Kind+" "+p.Object+": "+strings.Join([]string{p.Title, p.Text, p.Remedy}, "; "))
				if !slices.Contains(known, p.Code) {
					t.Errorf("the code %s is not in the table", p.Code)
				}
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestThePageHasEveryCode: docs/watch.md says of each code when it is there and what to do first.
func TestThePageHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ProblemCodes() {
		if !strings.Contains(string(page), "| `"+c.Code+"` |") {
			t.Errorf("docs/watch.md has no row for %s: %s", c.Code, c.Means)
		}
	}
}

// TestWhatIsBeingRemovedIsNotBlocked: its saving is on its way.
func TestWhatIsBeingRemovedIsNotBlocked(t *testing.T) {
	d := &disrupt.Decision{}
	for i, code := range []disrupt.Code{disrupt.InProgress, disrupt.Deleting, disrupt.DoNotDisrupt} {
		d.Kept = append(d.Kept, disrupt.Kept{Node: fmt.Sprint("n", i), Saves: 10, Reasons: []disrupt.Reason{{Code: code, Pod: "a/b"}}})
	}
	if got := blocked(d, &pack.Problem{}); len(got) != 1 || got[0].Code != "DoNotDisrupt" {
		t.Errorf("blocked: %+v", got)
	}
}
