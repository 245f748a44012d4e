package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestNodeLife lets nodes come of age, fail, and be as many as a NodePool says, on one cluster at the same time.
func TestNodeLife(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "FEATURE_GATES=NodeRepair=true,StaticCapacity=true")
	})
	e.apply(classYAML)
	t.Run("stories", func(t *testing.T) {
		for name, story := range map[string]func(*stage){
			"expired nodes are replaced first":          expiredNodesAreReplacedFirst,
			"a static pool has the nodes that it names": staticPoolScales,
			"a static node comes of age":                staticNodeComesOfAge,
			"an unhealthy node is replaced":             unhealthyNodeIsReplaced,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				story(e.stage(t))
			})
		}
	})
	e.oneToOne()
}

// expiredNodesAreReplacedFirst: three nodes are born together; each of their pods leaves only once another instance is
// ready, none of them begins late, and they do not begin at once.
func expiredNodesAreReplacedFirst(s *stage) {
	const life = 60 * time.Second
	s.pool("default", "", "expireAfter: 60s")
	s.deploy("web", 3, "1500m", apart("web"))
	s.run(45*time.Second, 3)
	first := map[string]karpv1.NodeClaim{}
	nodes := map[string]bool{}
	for _, c := range s.mine() {
		first[c.Name] = c
		nodes[c.Status.NodeName] = true
	}
	pods := map[string]bool{}
	for _, p := range s.pods(s.name) {
		pods[p.Name] = true
	}
	begun := map[string]time.Time{}
	left := map[string]bool{}
	s.eventually(2*life, "all pods have left the first nodes", func() (bool, string) {
		// The pods are read first: an instance that is ready when they are seen to leave was so before.
		var leaving []string
		there := map[string]bool{}
		for _, p := range s.pods(s.name) {
			there[p.Name] = true
			if !p.DeletionTimestamp.IsZero() && pods[p.Name] && !left[p.Name] {
				leaving = append(leaving, p.Name)
			}
		}
		for name := range pods {
			if !there[name] && !left[name] {
				leaving = append(leaving, name)
			}
		}
		ready := 0
		for _, c := range s.mine() {
			if _, old := first[c.Name]; !old && c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
				ready++
			}
			if _, old := first[c.Name]; old && !c.DeletionTimestamp.IsZero() && begun[c.Name].IsZero() {
				begun[c.Name] = c.DeletionTimestamp.Time
				if c.Annotations[index.ExpiredAnnotation] == "" {
					s.Errorf("nodeclaim %s goes without the mark", c.Name)
				}
			}
		}
		for _, name := range leaving {
			left[name] = true
			if len(left) > ready {
				s.Errorf("pod %s leaves as the %d. while %d new instances are ready", name, len(left), ready)
			}
		}
		return len(left) == len(pods), fmt.Sprintf("%d of %d pods have left, %d new instances are ready", len(left), len(pods), ready)
	})
	var times []time.Time
	for name, at := range begun {
		times = append(times, at)
		if due := first[name].CreationTimestamp.Add(life); at.After(due.Add(2 * time.Second)) {
			s.Errorf("nodeclaim %s was deleted at %s, %s after it had come of age", name, at, at.Sub(due))
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	if len(times) != 3 || times[2].Sub(times[0]) < time.Second {
		s.Errorf("nodeclaims that were born together were deleted at %v", times)
	}
	s.told(10*time.Second, "DisruptionTerminating", s.name, "expireAfter")
	s.eventually(30*time.Second, "the first nodes are gone", func() (bool, string) {
		n := 0
		for _, node := range s.nodesOf() {
			if nodes[node.Name] {
				n++
			}
		}
		return n == 0, fmt.Sprint(n)
	})
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// static makes the stage's pool a static one; more is put into the template's spec.
func (s *stage) static(replicas, limit int, more string) {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  limits: {nodes: %[3]d}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i]}]
      taints: [{key: stage, value: %[1]s, effect: NoSchedule}]
%[4]s
  disruption: {consolidateAfter: 1s, budgets: [{nodes: "0"}]}
`, s.name, replicas, limit, lines(more, 6)))
	s.ready(s.name)
}

// staticNodeComesOfAge: its pool orders another first, and the pod leaves only once that is ready.
func staticNodeComesOfAge(s *stage) {
	s.static(1, 2, "expireAfter: 60s")
	s.deploy("web", 1, "1", "")
	s.run(50*time.Second, 1)
	first, pod := s.mine()[0], s.pods(s.name)[0]
	s.eventually(2*time.Minute, "the pod leaves", func() (bool, string) {
		now := &corev1.Pod{}
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&pod), now)
		return err != nil || !now.DeletionTimestamp.IsZero() || now.UID != pod.UID, fmt.Sprint(err)
	})
	ready := 0
	for _, c := range s.mine() {
		if c.Name != first.Name && c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
			ready++
		}
	}
	if ready != 1 {
		s.Errorf("the pod leaves while %d new nodes are ready", ready)
	}
	s.gone(30*time.Second, &corev1.Node{ObjectMeta: objectMeta(first.Status.NodeName)})
	s.noneTwice(2)
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// staticPoolScales: kubectl scale is obeyed up and down, within limits.nodes, and the node that is used stays.
func staticPoolScales(s *stage) {
	s.static(2, 4, "")
	has := func(n int) {
		s.Helper()
		s.eventually(60*time.Second, fmt.Sprintf("%d nodes are ready", n), func() (bool, string) {
			ready := 0
			claims := s.mine()
			for _, c := range claims {
				if c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) && c.DeletionTimestamp.IsZero() {
					ready++
				}
			}
			return ready == n && len(claims) == n, fmt.Sprintf("%d claims, %d ready", len(claims), ready)
		})
	}
	scale := func(n int32) {
		s.Helper()
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
		body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		if err := s.client.SubResource("scale").Update(s.Context(), pool, client.WithSubResourceBody(body)); err != nil {
			s.Fatal(err)
		}
	}
	has(2)
	s.eventually(10*time.Second, "the scale subresource tells the number of nodes", func() (bool, string) {
		got := &autoscalingv1.Scale{}
		if err := s.client.SubResource("scale").Get(s.Context(), &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}}, got); err != nil {
			return false, err.Error()
		}
		return got.Status.Replicas == 2, fmt.Sprint(got.Status.Replicas)
	})
	s.deploy("web", 1, "1", "")
	s.run(30*time.Second, 1)
	if n := len(s.instances(true)); n != 2 {
		s.Errorf("%d instances after a pod that fits on two", n)
	}
	scale(5)
	has(4)
	s.told(10*time.Second, "ReplicasLimited", s.name, "limits.nodes leaves room for")
	s.noneTwice(4)
	used := s.pods(s.name)[0].Spec.NodeName
	scale(1)
	has(1)
	if left := s.mine()[0].Status.NodeName; left != used {
		s.Errorf("node %s is left, and the pod was on %s", left, used)
	}
	s.run(5*time.Second, 1)
	s.matched(30 * time.Second)
	s.noneTwice(4)
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}

// unhealthyNodeIsReplaced: neither a budget of nothing nor a pod that asks not to be disrupted keeps a broken node.
func unhealthyNodeIsReplaced(s *stage) {
	s.annotations = `karpenter.sh/do-not-disrupt: "true"`
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	s.eventually(20*time.Second, "the nodeclaim is ready", func() (bool, string) {
		c := s.mine()
		return len(c) == 1 && c[0].StatusConditions().IsTrue(), fmt.Sprint(len(c))
	})
	m := &onInstance{s.instances(false)[0], s.mine()[0]}
	node := &corev1.Node{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: m.claim.Status.NodeName}, node); err != nil {
		s.Fatal(err)
	}
	stored := node.DeepCopy()
	long := metav1.NewTime(time.Now().Add(-11 * time.Minute))
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Reason: "XidError", Message: "GPU 0 has fallen off the bus", LastTransitionTime: long, LastHeartbeatTime: long,
	})
	if err := s.client.Status().Patch(s.Context(), node, client.StrategicMergeFrom(stored)); err != nil {
		s.Fatal(err)
	}
	s.goes(m)
	s.told(10*time.Second, "DisruptionTerminating", m.claim.Name, "AcceleratedHardwareReady", "GPU 0 has fallen off the bus")
	counted := ""
	for name, v := range s.metrics() {
		if strings.HasPrefix(name, "karpenter_nodeclaims_unhealthy_disrupted_total") && strings.Contains(name, `nodepool="`+s.name+`"`) {
			counted = name + " " + v
		}
	}
	if !strings.Contains(counted, `condition="AcceleratedHardwareReady"`) || !strings.HasSuffix(counted, " 1") {
		s.Errorf("the metric says %q", counted)
	}
	s.remove(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.name}})
}
