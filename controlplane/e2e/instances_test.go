package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestStories tells many stories on one cluster at the same time, each with a pool and a namespace of its own.
func TestStories(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) { o.ControllerEnv = append(o.ControllerEnv, "FEATURE_GATES=Teleport=true") })
	e.apply(classYAML)
	var stories sync.WaitGroup
	for name, story := range map[string]func(*testing.T, *env){
		"no spot capacity":           noSpotCapacity,
		"no capacity at all":         noCapacityAtAll,
		"an instance dies":           anInstanceDies,
		"orphans":                    orphans,
		"node deleted":               nodeDeleted,
		"nodeclaim deleted":          nodeClaimDeleted,
		"nodepool deleted":           nodePoolDeleted,
		"class deleted":              classDeleted,
		"disruption budget":          heldByBudget,
		"do not disrupt":             heldByAnnotation,
		"a budget frees up":          budgetFreesUp,
		"a volume is detached":       volumeHoldsInstance,
		"volume in a zone":           volumeInAZone,
		"unknown gate":               unknownGate,
		"malformed message":          malformedMessage,
		"bottlerocket":               bootsBottlerocket,
		"al2 alias":                  refusesAL2Alias,
		"al2 by name":                bootsAL2ByName,
		"image by id":                bootsImageByID,
		"image by tag":               bootsImageByTag,
		"instance profile":           bootsWithInstanceProfile,
		"user data and kubelet":      bootsWithUserData,
		"an image that is not there": refusesMissingImage,
	} {
		// Not t.Parallel: there are more stories than processors, and all of them mostly wait.
		stories.Go(func() { t.Run(name, func(t *testing.T) { story(t, e) }) })
	}
	stories.Wait()
}

func noSpotCapacity(t *testing.T, e *env) {
	s := e.stage(t, "c5", "c6i")
	for _, types := range []string{"c5.*", "c6i.*"} {
		s.fault(world.Fault{Kind: world.FaultNoCapacity, CapacityType: world.Spot, InstanceType: types})
	}
	s.pool("default", "", "")
	s.deploy("web", 3, "1", apart("web"))
	s.run(60*time.Second, 3)
	s.matched(10 * time.Second)
	for _, m := range s.instances(false) {
		if m.CapacityType != world.OnDemand {
			t.Errorf("instance %s is %s", m.ID, m.CapacityType)
		}
	}
}

func noCapacityAtAll(t *testing.T, e *env) {
	s := e.stage(t, "r5", "r6i")
	for _, types := range []string{"r5.*", "r6i.*"} {
		s.fault(world.Fault{Kind: world.FaultNoCapacity, InstanceType: types})
	}
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.told(60*time.Second, "InsufficientCapacityError", s.name, "InsufficientInstanceCapacity")
	s.told(60*time.Second, "FailedScheduling", "web", "EC2 is short of", "next try at")
	asked := func() (n int) {
		for _, c := range s.cluster.Simulator.World.Calls("CreateFleet") {
			text, err := json.Marshal(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			if !c.DryRun && strings.Contains(string(text), s.name) {
				n++
			}
		}
		return n
	}
	// Some rounds of the loop are enough to see whether it asks for what it knows to be sold out, but for one try every 20 seconds.
	before, since := asked(), time.Now()
	const types = 19 // in r5 and r6i; each fleet rules out one at least
	if before == 0 || before > types {
		t.Errorf("%d fleets were asked for before the pools were given up", before)
	}
	decided := s.metric(`karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`)
	s.eventually(60*time.Second, "the loop looks at the pod a few times more", func() (bool, string) {
		now := s.metric(`karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`)
		return now >= decided+3, fmt.Sprint(now, " of ", decided+3)
	})
	if more, tries := asked()-before, 1+int(time.Since(since)/(20*time.Second)); more > tries {
		t.Errorf("%d more fleets were asked for although every pool was known to be empty, want at most %d", more, tries)
	}
	s.eventually(60*time.Second, "no nodeclaim is left", func() (bool, string) { n := len(s.mine()); return n == 0, fmt.Sprint(n) })
	s.families = append(s.families, "m5")
	s.pool("default", "", "")
	s.run(60*time.Second, 1)
}

func anInstanceDies(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("web", 2, "1", apart("web"))
	s.run(60*time.Second, 2)
	victim := s.instances(false)[0]
	var claim string
	for _, c := range s.mine() {
		if strings.HasSuffix(c.Status.ProviderID, victim.ID) {
			claim = c.Name
		}
	}
	if err := s.aws.Terminate(t.Context(), victim.ID); err != nil {
		t.Fatal(err)
	}
	s.gone(80*time.Second, &karpv1.NodeClaim{ObjectMeta: objectMeta(claim)})
	s.told(20*time.Second, "InstanceGone", claim, victim.ID)
	s.run(150*time.Second, 2) // Kubernetes collects pods 40 to 60 seconds after their node
	s.matched(10 * time.Second)
}

// orphans come to be when a controller dies for good between a launch and its record. Only those that are certainly ours
// may be ended.
func orphans(t *testing.T, e *env) {
	s := e.stage(t)
	launch := func(tags map[string]string) string {
		all := map[string]string{awsv1.TagNodePool: s.name, awsv1.TagNodeClass: "default", awsv1.TagEKSCluster: e.cluster.Name}
		maps.Copy(all, tags)
		all[awsv1.TagClusterPrefix+all[awsv1.TagEKSCluster]] = awsv1.TagClusterOwned
		return s.launch(all)
	}
	elsewhere := launch(map[string]string{awsv1.TagEKSCluster: "another"})
	namesake := launch(map[string]string{awsv1.TagClusterUID: "00000000-0000-0000-0000-000000000000"})
	stranger := s.launch(map[string]string{"team": "blue"})
	untagged := launch(nil) // as an older controller would
	ours := launch(map[string]string{awsv1.TagClusterUID: s.clusterUID()})
	s.eventually(85*time.Second, "what is ours and nobody's is terminated", func() (bool, string) {
		one, _ := s.cluster.Simulator.World.Instance(untagged)
		other, _ := s.cluster.Simulator.World.Instance(ours)
		return one.State != "running" && one.State != "pending" && other.State != "running" && other.State != "pending", fmt.Sprint(one.State, other.State)
	})
	for name, id := range map[string]string{"of another cluster": elsewhere, "of a namesake": namesake, "of no cluster": stranger} {
		if i, ok := s.cluster.Simulator.World.Instance(id); !ok || i.State != "running" {
			t.Errorf("the instance %s is %q", name, i.State)
		}
	}
	if n := s.metric(`kerf_foreign_instances{cluster_uid="00000000-0000-0000-0000-000000000000"}`); n != 1 {
		t.Errorf("kerf_foreign_instances is %v, want 1", n)
	}
	s.logged(5*time.Second, "CLUSTER_NAME", "00000000-0000-0000-0000-000000000000")
	if _, err := s.cluster.Simulator.World.Terminate([]string{elsewhere, namesake, stranger}); err != nil {
		t.Error(err)
	}
}

func nodeDeleted(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	node, instance := s.nodesOf()[0], s.instances(false)[0]
	s.remove(&node)
	s.moved(node.Name, instance.ID)
}

func nodeClaimDeleted(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	node, instance, claim := s.nodesOf()[0], s.instances(false)[0], s.mine()[0]
	s.remove(&claim)
	s.moved(node.Name, instance.ID)
}

// moved waits until a node and its instance are gone and the stage's one pod runs elsewhere.
func (s *stage) moved(node, instance string) {
	s.Helper()
	s.gone(60*time.Second, &corev1.Node{ObjectMeta: objectMeta(node)})
	s.run(30*time.Second, 1)
	s.matched(20 * time.Second)
	for _, m := range s.instances(false) {
		if m.ID == instance {
			s.Errorf("instance %s is still %s", m.ID, m.State)
		}
	}
}

func nodePoolDeleted(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	s.remove(&karpv1.NodePool{ObjectMeta: objectMeta(s.name)})
	s.eventually(60*time.Second, "no nodeclaim, node or instance of the pool is left", func() (bool, string) {
		c, n, m := len(s.mine()), len(s.nodesOf()), len(s.instances(false))
		return c+n+m == 0, fmt.Sprint(c, n, m)
	})
	s.told(30*time.Second, "FailedScheduling", "web", "pool ")
}

func classDeleted(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(class(s.name, "", ""))
	s.pool(s.name, "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	c := &awsv1.EC2NodeClass{ObjectMeta: objectMeta(s.name)}
	s.remove(c)
	s.told(20*time.Second, "WaitingOnNodeClaimTermination", s.name, s.mine()[0].Name)
	s.run(time.Second, 1) // nobody is driven away
	s.remove(&karpv1.NodePool{ObjectMeta: objectMeta(s.name)})
	s.gone(60*time.Second, c)
	s.matched(time.Second)
	for _, p := range s.cluster.Simulator.World.InstanceProfiles("/") {
		if p.Tags[awsv1.TagNodeClass] == s.name {
			t.Errorf("instance profile %s is left", p.Name)
		}
	}
}

func heldByBudget(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: %s}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`, s.name))
	s.held("")
	s.told(time.Second, "FailedDraining", "", "web")
}

func heldByAnnotation(t *testing.T, e *env) {
	e.stage(t).held("karpenter.sh/do-not-disrupt: \"true\"")
}

// held deletes the node of a pod that must not be evicted: it stays until the grace period of the instance ends, and not
// longer.
func (s *stage) held(annotation string) {
	const grace = 15 * time.Second
	s.pool("default", "", "terminationGracePeriod: "+grace.String())
	s.annotations = annotation
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	pod, node, instance := s.pods(s.name)[0], s.nodesOf()[0], s.instances(false)[0]
	began := time.Now()
	s.remove(&node)
	s.told(10*time.Second, "TerminationGracePeriodExpiring", s.name)
	s.eventually(60*time.Second, "the pod is deleted", func() (bool, string) {
		now := &corev1.Pod{}
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&pod), now)
		return err != nil || now.UID != pod.UID || !now.DeletionTimestamp.IsZero(), fmt.Sprint(now.Status.Phase)
	})
	// Deletion times are whole seconds.
	if took := time.Since(began); took < grace-3*time.Second {
		s.Errorf("the pod was deleted after %s, which is before the deadline of %s", took, grace)
	}
	s.moved(node.Name, instance.ID)
	if took := time.Since(began); took > grace+30*time.Second {
		s.Errorf("the node went after %s, long after the deadline of %s", took, grace)
	}
}

func volumeInAZone(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	zones := s.cluster.Simulator.World.Zones()
	zone := zones[1].Name
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
  claimRef: {namespace: %[1]s, name: data}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [%[2]s]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: %[1]s}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: %[1]s, resources: {requests: {storage: 1Gi}}}
`, s.name, zone))
	s.deploy("db", 1, "1", "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]")
	s.run(60*time.Second, 1)
	for _, n := range s.nodesOf() {
		if got := n.Labels[corev1.LabelTopologyZone]; got != zone {
			t.Errorf("the node is in %s, the volume in %s", got, zone)
		}
	}
	if n := len(s.instances(true)); n != 1 {
		t.Errorf("%d instances were launched, want 1", n)
	}
}

func unknownGate(t *testing.T, e *env) {
	e.stage(t).logged(5*time.Second, "Teleport", `WARN`)
}

func malformedMessage(t *testing.T, e *env) {
	s := e.stage(t)
	for _, body := range []string{"{", "[]", `{"version":"0","source":"aws.ec2","detail-type":7}`} {
		if err := s.aws.SendMessage(t.Context(), s.cluster.Name, body); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually(30*time.Second, "the messages are counted", func() (bool, string) {
		n := s.metric(`karpenter_interruption_received_messages_total{message_type="malformed"}`)
		return n >= 3, fmt.Sprint(n)
	})
	s.emptyQueue()
}

// metric is the sum of a metric's values, over all labels unless name has them.
func (e *env) metric(name string) (sum float64) {
	e.Helper()
	for n, v := range e.metrics() {
		if bare, _, _ := strings.Cut(n, "{"); n == name || bare == name {
			var x float64
			if _, err := fmt.Sscan(v, &x); err == nil {
				sum += x
			}
		}
	}
	return sum
}

// clusterUID is what the cluster's instances are tagged with.
func (e *env) clusterUID() string {
	e.Helper()
	ns := &corev1.Namespace{}
	if err := e.client.Get(e.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
		e.Fatal(err)
	}
	return string(ns.UID)
}

// launch runs an instance past the controller.
func (e *env) launch(tags map[string]string) string {
	e.Helper()
	w := e.cluster.Simulator.World
	spec := world.TagSpecification{ResourceType: "instance"}
	for k, v := range tags {
		spec.Tags = append(spec.Tags, world.Tag{Key: k, Value: v})
	}
	got, err := w.Run(world.RunRequest{
		Min: 1, Max: 1, SubnetID: w.Subnets()[0].ID,
		Data: world.LaunchData{ImageID: e.image("x86_64", world.FamilyAL2023).ID, InstanceType: "m5.large", TagSpecifications: []world.TagSpecification{spec}},
	})
	if err != nil {
		e.Fatal(err)
	}
	return got[0].ID
}

// image is the newest standard image of a family for the cluster's version.
func (e *env) image(arch string, family world.Family) world.Image {
	e.Helper()
	var newest world.Image
	for _, i := range e.cluster.Simulator.World.Images() {
		if i.Arch == arch && i.Family == family && i.Variant == world.VariantStandard && (i.Family == world.FamilyAL2 || strings.HasPrefix(e.cluster.Kube.Version, "v"+i.KubernetesVersion+".")) && i.Created.After(newest.Created) {
			newest = i
		}
	}
	if newest.ID == "" {
		e.Fatalf("the simulated account has no %s image for %s", family, arch)
	}
	return newest
}
