package cache

import (
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Pods must not wait for the room of an instance that no pod can be bound to any more.
func TestAnInstanceWhoseNodeIsGoneIsNoCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		registered time.Duration // how long ago; 0: never
		node       string        // seen: it is there. gone: it was there. Empty: it was never seen
		capacity   bool
	}{
		"an instance whose node has not joined":       {0, "", true},
		"one whose node is not seen yet":              {time.Second, "", true},
		"one whose node was gone before this process": {time.Hour, "", false},
		"one whose node is there":                     {time.Hour, "seen", true},
		"one whose node was deleted":                  {time.Hour, "gone", false},
		"one whose node was deleted a moment later":   {time.Second, "gone", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			node := newNode("n1", "n1", "id-1")
			if c.node != "" {
				r.version(node)
				r.SetNode(node)
			}
			claim := r.claim("c0", launch, func(claim *karpv1.NodeClaim) {
				if c.registered > 0 {
					claim.StatusConditions().WithClock(func() time.Time { return r.clock.Add(-c.registered) }).SetTrue(karpv1.ConditionTypeRegistered)
				}
			})
			r.SetClaim(claim)
			r.Snapshot()
			if c.node == "gone" {
				r.version(node)
				r.RemoveNode(node)
			}
			if m := r.instance("c0"); m == nil || m.Deleting == c.capacity {
				t.Errorf("the instance is %+v, want capacity: %t", m, c.capacity)
			}
			if c.capacity {
				return
			}
			again := newNode("n1", "n1-again", "id-1")
			r.version(again)
			r.SetNode(again)
			if m := r.instance("c0"); m == nil || m.Deleting {
				t.Errorf("its node is back, and the instance is %+v", m)
			}
		})
	}
}
