package cache

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// naiveUsage sums what is left by looking at everything.
func naiveUsage(final map[string]client.Object, pool string) (cpu resource.Quantity, nodes int64) {
	for _, o := range final {
		claim, ok := o.(*karpv1.NodeClaim)
		if !ok || claim.Labels[karpv1.NodePoolLabelKey] != pool {
			continue
		}
		capacity := claim.Status.Capacity
		var joined []*corev1.Node
		for _, o := range final {
			if n, ok := o.(*corev1.Node); ok && claim.Status.ProviderID != "" && n.Spec.ProviderID == claim.Status.ProviderID {
				joined = append(joined, n)
			}
		}
		if len(joined) == 1 && len(joined[0].Status.Capacity) > 0 {
			capacity = joined[0].Status.Capacity
		}
		cpu.Add(capacity[corev1.ResourceCPU])
		nodes++
	}
	return cpu, nodes
}

func TestUsageOfAPoolIsThatOfItsClaimsInAnyOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		for _, e := range h.events {
			switch o := e.obj.(type) {
			case *karpv1.NodeClaim:
				o.Labels[karpv1.NodePoolLabelKey] = rapid.SampledFrom([]string{"pool", "other"}).Draw(t, "pool")
				o.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse(rapid.SampledFrom([]string{"0", "2", "1500m"}).Draw(t, "expected"))}
			case *corev1.Node:
				o.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse(rapid.SampledFrom([]string{"0", "3", "7"}).Draw(t, "has"))}
				if rapid.Bool().Draw(t, "silent") {
					o.Status.Capacity = nil
				}
			}
		}
		c := New(Options{Now: func() time.Time { return time.Unix(0, 0) }})
		told := map[string]string{}
		c.Listen(func(change Change) {
			if change.Kind == PoolUsed {
				sum, nodes := c.PoolUsage(change.Name)
				told[change.Name] = fmt.Sprint(sum.Cpu(), nodes)
			}
		})
		for _, e := range rapid.Permutation(h.events).Draw(t, "order") {
			c.take(e)
		}
		for _, pool := range []string{"pool", "other"} {
			cpu, nodes := naiveUsage(h.final, pool)
			sum, n := c.PoolUsage(pool)
			if sum.Cpu().Cmp(cpu) != 0 || n != nodes {
				t.Fatalf("%s: %v on %d nodes, want %v on %d", pool, sum.Cpu(), n, cpu.String(), nodes)
			}
			if was, ok := told[pool]; ok && was != fmt.Sprint(sum.Cpu(), n) {
				t.Fatalf("%s: told %s last, but it is %v %d", pool, was, sum.Cpu(), n)
			}
		}
	})
}

func TestNewsThatChangeNoAmountWakeNobody(t *testing.T) {
	r := newRig()
	node, claim := newNode("n", "un", "id"), newClaim("c", "uc")
	claim.Status.ProviderID, claim.Status.Capacity = "id", amounts("3", "9")
	r.version(claim)
	r.SetClaim(claim)
	r.version(node)
	r.SetNode(node)
	before := r.told[PoolUsed]
	if before != 2 {
		t.Fatalf("told %d times of a launch and a node that has more, want 2", before)
	}
	for range 10 {
		node, claim = node.DeepCopy(), claim.DeepCopy()
		r.version(node)
		r.SetNode(node) // a heartbeat
		claim.StatusConditions().SetTrue(karpv1.ConditionTypeConsolidatable)
		r.version(claim)
		r.SetClaim(claim)
	}
	if n := r.told[PoolUsed] - before; n != 0 {
		t.Errorf("told %d times of usage that did not change", n)
	}
}
