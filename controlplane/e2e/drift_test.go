package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestDrift lets nodes differ from what is asked for, in several ways, on one cluster at the same time.
func TestDrift(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) { o.ControllerEnv = append(o.ControllerEnv, "FEATURE_GATES=StaticCapacity=true") })
	e.apply(classYAML)
	t.Run("stories", func(t *testing.T) {
		for name, story := range map[string]func(*stage){
			"a new image rolls a pool one by one":       newImageRolls,
			"a stuck pool holds up no other":            stuckPoolHoldsUpNoOther,
			"a new way of hashing rolls nothing":        newHashVersionRollsNothing,
			"a static pool is replaced one for one":     staticPoolDrifts,
			"what is not required any more is replaced": requirementsDrift,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				story(e.stage(t))
			})
		}
	})
	e.oneToOne()
}

// drifting makes the stage's pool of such a class, with a label and requirements in its template. Nothing is consolidated.
func (s *stage) drifting(class, label, capacityTypes, more string) {
	s.Helper()
	if len(s.families) == 0 {
		s.families = []string{"m5", "m6i"}
	}
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
%[6]s
  template:
    metadata: {labels: {look: %[3]q}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[2]s}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%[4]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [%[5]s]}
      taints: [{key: stage, value: %[1]s, effect: NoSchedule}]
  disruption: {consolidateAfter: Never, budgets: [{nodes: "1"}]}
`, s.name, class, label, strings.Join(s.families, ", "), capacityTypes, lines(more, 2)))
	s.ready(s.name)
}

// rolled waits until none of the claims is left and as many others are ready, and checks all along that no more than one
// is going, and that nothing goes before something has come for it.
func (s *stage) rolled(timeout time.Duration, first []karpv1.NodeClaim) {
	s.Helper()
	old := map[string]bool{}
	for _, c := range first {
		old[c.Name] = true
	}
	s.eventually(timeout, "all nodes are replaced", func() (bool, string) {
		left, going, ready := 0, 0, 0
		for _, c := range s.mine() {
			switch {
			case old[c.Name]:
				left++
				if c.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue() || c.DeletionTimestamp != nil {
					going++
				}
			case c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized):
				ready++
			}
		}
		if going > 1 {
			s.Errorf("%d nodes go at the same time, the budget is 1", going)
		}
		if left+ready < len(first) {
			s.Errorf("%d nodes are left and %d have come, and there were %d", left, ready, len(first))
		}
		return left == 0 && ready == len(first), fmt.Sprintf("%d are left, %d of them going, %d new ones are ready", left, going, ready)
	})
}

// newImageRolls: a class stands for another image; its three nodes are replaced one after the other, by instances that boot
// it.
func newImageRolls(s *stage) {
	class := strings.Replace(classYAML, "metadata: {name: default}", "metadata: {name: "+s.name+"}", 1)
	s.apply(class)
	s.drifting(s.name, "a", "on-demand", "")
	s.deploy("web", 3, "500m", apart("web")+"\nterminationGracePeriodSeconds: 2")
	s.run(90*time.Second, 3)
	s.allReady(3)
	first := s.mine()
	w := s.cluster.Simulator.World
	var image world.Image
	for _, i := range w.Images() {
		if i.ID == first[0].Status.ImageID {
			i.ID, i.SSMPaths, i.Name = "", nil, i.Name+"-newer"
			image = w.AddImage(i)
		}
	}
	s.apply(strings.Replace(class, "amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023\n  amiSelectorTerms: [{id: "+image.ID+"}]", 1))
	s.rolled(3*time.Minute, first)
	for _, c := range s.mine() {
		if c.Status.ImageID != image.ID {
			s.Errorf("nodeclaim %s has image %s, want %s", c.Name, c.Status.ImageID, image.ID)
		}
	}
	s.run(30*time.Second, 3)
	s.told(5*time.Second, "DisruptionTerminating", first[0].Name, "Drifted")
	s.matched(30 * time.Second)
	s.noneTwice(6)
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// stuckPoolHoldsUpNoOther: nothing can be launched for one pool; its node stays as it is, and another pool rolls.
func stuckPoolHoldsUpNoOther(s *stage) {
	s.families = []string{"c5"}
	other := *s
	other.name, other.families = "rolls-"+s.name, []string{"c6i"}
	other.name = strings.Trim(other.name[:min(40, len(other.name))], "-")
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", other.name))
	for _, x := range []*stage{s, &other} {
		x.drifting("default", "a", "on-demand", "")
		x.deploy("web", 1, "500m", "terminationGracePeriodSeconds: 2")
	}
	for _, x := range []*stage{s, &other} {
		x.run(90*time.Second, 1)
		x.allReady(1)
	}
	stays, first := s.mine()[0], other.mine()
	clear := s.fault(world.Fault{Kind: world.FaultNoCapacity, InstanceType: "c5.*"})
	s.drifting("default", "b", "on-demand", "")
	s.eventually(20*time.Second, "the stuck pool's node is drifted before the other pool's", func() (bool, string) {
		c := s.mine()[0].StatusConditions().Get(karpv1.ConditionTypeDrifted)
		return c != nil && c.IsTrue(), fmt.Sprint(c)
	})
	other.drifting("default", "b", "on-demand", "")
	other.rolled(90*time.Second, first)
	s.told(10*time.Second, "DisruptionBlocked", s.name)
	for _, c := range s.mine() {
		if c.Name == stays.Name && c.DeletionTimestamp != nil {
			s.Errorf("nodeclaim %s goes and nothing has come for it", c.Name)
		}
	}
	s.run(5*time.Second, 1)
	clear()
	s.rolled(4*time.Minute, []karpv1.NodeClaim{stays})
	for _, x := range []*stage{s, &other} {
		x.run(20*time.Second, 1)
		x.matched(30 * time.Second)
		x.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: x.name}})
	}
}

// newHashVersionRollsNothing: a pool and its claims were stamped in another way; they are stamped anew and nothing else
// happens.
func newHashVersionRollsNothing(s *stage) {
	s.drifting("default", "a", "on-demand", "")
	s.deploy("web", 1, "500m", "")
	s.run(90*time.Second, 1)
	s.allReady(1)
	stamp := func(o client.Object) {
		s.Helper()
		stored := o.DeepCopyObject().(client.Object)
		a := maps.Clone(o.GetAnnotations())
		a[karpv1.NodePoolHashAnnotationKey], a[karpv1.NodePoolHashVersionAnnotationKey] = "1234", "v2"
		o.SetAnnotations(a)
		if err := s.client.Patch(s.Context(), o, client.MergeFrom(stored)); err != nil {
			s.Fatal(err)
		}
	}
	claim := s.mine()[0]
	stamp(claim.DeepCopy())
	pool := &karpv1.NodePool{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, pool); err != nil {
		s.Fatal(err)
	}
	want := pool.Annotations[karpv1.NodePoolHashAnnotationKey]
	drift := s.reconciles("nodeclaim.drift")
	stamp(pool)
	s.eventually(20*time.Second, "the claim is stamped anew", func() (bool, string) {
		a := s.mine()[0].Annotations
		return a[karpv1.NodePoolHashAnnotationKey] == want && a[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion, fmt.Sprint(a)
	})
	s.reconciled("nodeclaim.drift", drift)
	if now := s.mine(); len(now) != 1 || now[0].Name != claim.Name || now[0].StatusConditions().Get(karpv1.ConditionTypeDrifted) != nil {
		s.Errorf("a release that hashes in another way rolled a node, or is about to: %d claims", len(now))
	}
	s.noneTwice(1)
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// staticPoolDrifts: the template of a static pool changes; its nodes are replaced one by one, and never are there fewer.
func staticPoolDrifts(s *stage) {
	s.drifting("default", "a", "on-demand", "replicas: 2")
	s.allReady(2)
	first := s.mine()
	s.drifting("default", "b", "on-demand", "replicas: 2")
	s.rolled(3*time.Minute, first)
	for _, n := range s.nodesOf() {
		if n.Labels["look"] != "b" && n.DeletionTimestamp == nil {
			s.Errorf("node %s looks %q", n.Name, n.Labels["look"])
		}
	}
	s.matched(30 * time.Second)
	s.noneTwice(4)
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// requirementsDrift: a pool requires what its node is not, and does not any more before the node has gone; the mark goes,
// and with a change that stays the node does. A pod that asks not to be disrupted holds it until then.
func requirementsDrift(s *stage) {
	s.annotations = `karpenter.sh/do-not-disrupt: "true"`
	s.drifting("default", "a", "on-demand", "")
	s.deploy("web", 1, "500m", "terminationGracePeriodSeconds: 2")
	s.run(90*time.Second, 1)
	s.allReady(1)
	first := s.mine()
	marked := func(reason string) {
		s.Helper()
		s.eventually(20*time.Second, "the claim is marked "+reason, func() (bool, string) {
			c := s.mine()[0].StatusConditions().Get(karpv1.ConditionTypeDrifted)
			return c.IsTrue() && c.Reason == reason || c == nil && reason == "", fmt.Sprintf("%+v", c)
		})
	}
	s.drifting("default", "a", "spot", "")
	marked(karpv1.ReasonRequirementsDrifted)
	s.told(20*time.Second, "DisruptionBlocked", first[0].Name, "asks not to be disrupted")
	s.drifting("default", "a", "spot, on-demand", "")
	marked("")
	if len(s.mine()) != 1 {
		s.Errorf("%d claims", len(s.mine()))
	}
	s.drifting("default", "a", "spot", "")
	marked(karpv1.ReasonRequirementsDrifted)
	pod := s.pods(s.name)[0]
	stored := pod.DeepCopy()
	delete(pod.Annotations, karpv1.DoNotDisruptAnnotationKey)
	if err := s.client.Patch(s.Context(), &pod, client.MergeFrom(stored)); err != nil {
		s.Fatal(err)
	}
	s.rolled(90*time.Second, first)
	s.eventually(10*time.Second, "the new node is spot", func() (bool, string) {
		var seen []string
		for _, n := range s.nodesOf() {
			seen = append(seen, n.Labels[karpv1.CapacityTypeLabelKey])
		}
		return len(seen) == 1 && seen[0] == "spot", fmt.Sprint(seen)
	})
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// allReady waits until the stage has so many claims, all initialized.
func (s *stage) allReady(n int) {
	s.Helper()
	s.eventually(90*time.Second, fmt.Sprintf("%d claims are initialized", n), func() (bool, string) {
		ready := 0
		claims := s.mine()
		for _, c := range claims {
			if c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
				ready++
			}
		}
		return len(claims) == n && ready == n, fmt.Sprintf("%d claims, %d ready", len(claims), ready)
	})
}
