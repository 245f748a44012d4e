package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// reservationLabels are those that reserved nodes have and others must not.
var reservationLabels = []string{awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible}

// TestReservedCapacity launches out of reservations and follows their instances to the end of the reservations.
func TestReservedCapacity(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.mayBeDenied("ec2:DescribeCapacityReservations", "*")
	e.mayBeDenied("ec2:CreateFleet", "*")
	e.allowOptions(func(o *stack.Options) { o.CapacityReservations = true })
	for name, story := range map[string]func(*stage){
		"consumed then exhausted then ended": reservationEnds,
		"a block is drained before its end":  blockEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(e.stage(t))
		})
	}
}

// allowOptions gives the bootstrap stack more options.
func (e *env) allowOptions(change func(*stack.Options)) {
	e.Helper()
	o := local.StackOptions(e.cluster.Name)
	change(&o)
	st, err := stack.New(o)
	if err != nil {
		e.Fatal(err)
	}
	text, err := st.CloudFormation()
	if err != nil {
		e.Fatal(err)
	}
	e.deployStack("Karpenter-"+e.cluster.Name, string(text), nil)
}

// reserves makes a class that selects the stage's reservations, and a pool that launches reserved first and else on demand.
func (s *stage) reserves(family string, r world.Reservation, capacityTypes string) world.Reservation {
	s.Helper()
	w := s.cluster.Simulator.World
	for _, subnet := range w.Subnets() {
		if !subnet.Public && w.Offered(r.Type, subnet.Zone) {
			r.Zone = subnet.Zone
		}
	}
	r.Tags = map[string]string{"stage": s.name}
	made, err := w.AddReservation(r)
	if err != nil {
		s.Fatal(err)
	}
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %[1]s}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-${CLUSTER_NAME}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  capacityReservationSelectorTerms: [{tags: {stage: %[1]s}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[1]s}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%[2]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [%[3]s]}
      taints: [{key: stage, value: %[1]s, effect: NoSchedule}]
  disruption: {consolidateAfter: Never, budgets: [{nodes: "100%%"}]}
`, s.name, family, capacityTypes))
	s.ready(s.name)
	s.eventually(30*time.Second, "the class says what it found", func() (bool, string) {
		c := s.class()
		return len(c.Status.CapacityReservations) == 1 && c.StatusConditions(true).IsTrue(awsv1.ConditionTypeCapacityReservationsReady), fmt.Sprint(c.Status)
	})
	return made
}

func (s *stage) class() *awsv1.EC2NodeClass {
	s.Helper()
	c := &awsv1.EC2NodeClass{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, c); err != nil {
		s.Fatal(err)
	}
	return c
}

// launched counts the stage's claims by capacity type, and checks that nodes and claims agree and that only reserved ones have
// the labels of reservations.
func (s *stage) launched() map[string]int {
	s.Helper()
	out := map[string]int{}
	labels := map[string]map[string]string{}
	for _, c := range s.mine() {
		out[c.Labels[karpv1.CapacityTypeLabelKey]]++
		labels["claim "+c.Name] = c.Labels
	}
	for _, n := range s.nodesOf() {
		labels["node "+n.Name] = n.Labels
	}
	for name, l := range labels {
		for _, key := range reservationLabels {
			if has, reserved := l[key] != "", l[karpv1.CapacityTypeLabelKey] == "reserved"; has != reserved {
				s.Errorf("%s is %s and has %s=%q", name, l[karpv1.CapacityTypeLabelKey], key, l[key])
			}
		}
	}
	return out
}

// reservationEnds uses a reservation up, launches the rest on demand, and sees the reservation end under its instance.
func reservationEnds(s *stage) {
	r := s.reserves("m5", world.Reservation{Type: "m5.large", Total: 1, MatchCriteria: "targeted"}, "reserved, on-demand")
	s.deploy("web", 2, "1", apart("web"))
	s.run(60*time.Second, 2)
	s.matched(20 * time.Second)
	if got := s.launched(); got["reserved"] != 1 || got["on-demand"] != 1 {
		s.Fatalf("two instances for a reservation of one: %v", got)
	}
	w := s.cluster.Simulator.World
	if ids, err := w.ReservationInstances(r.ID); err != nil || len(ids) != 1 {
		s.Fatalf("the reservation runs %v, %v", ids, err)
	}
	before := s.mine()
	if err := w.CancelReservation(r.ID); err != nil {
		s.Fatal(err)
	}
	s.told(120*time.Second, "CapacityReservationEnded", s.name, r.ID)
	s.eventually(10*time.Second, "nodes and nodeclaims are on demand", func() (bool, string) {
		reserved := slices.ContainsFunc(s.nodesOf(), nodeIsReserved)
		got := s.launched()
		return !reserved && got["on-demand"] == 2, fmt.Sprint(got)
	})
	for i := range before {
		s.stays(&before[i])
	}
	for _, c := range s.mine() {
		if c.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
			s.Errorf("nodeclaim %s counts as drifted: %s", c.Name, c.StatusConditions().Get(karpv1.ConditionTypeDrifted).Message)
		}
	}
}

// blockEnds runs a pod in a capacity block until 40 minutes before its end, when it gets an instance on demand and moves there.
func blockEnds(s *stage) {
	w := s.cluster.Simulator.World
	// The class's status holds whole seconds: with a fraction here the instance would seem to be given up early.
	end := w.Now().Add(40*time.Minute + 50*time.Second).Truncate(time.Second)
	r := s.reserves("p5", world.Reservation{Type: "p5.48xlarge", Total: 1, Kind: world.CapacityBlock, MatchCriteria: "targeted", End: end}, "reserved, on-demand")
	s.deploy("train", 1, "1", "")
	s.run(45*time.Second, 1)
	claims := s.mine()
	if len(claims) != 1 || claims[0].Labels[awsv1.LabelCapacityReservationType] != "capacity-block" {
		s.Fatalf("%d claims, %v", len(claims), claims[0].Labels)
	}
	s.launched()
	s.told(90*time.Second, "CapacityBlockExpiring", claims[0].Name, r.ID)
	if ahead := end.Sub(w.Now()); ahead > 40*time.Minute || ahead < 39*time.Minute {
		s.Errorf("given up %s before the end", ahead)
	}
	s.gone(90*time.Second, &claims[0])
	s.eventually(90*time.Second, "the class says that the block expires", func() (bool, string) {
		c := s.class().Status.CapacityReservations
		return len(c) == 1 && c[0].State == awsv1.CapacityReservationStateExpiring, fmt.Sprint(c)
	})
	if got := s.launched(); got["reserved"] != 0 || got["on-demand"] != 1 {
		s.Errorf("launched besides the block that is about to end: %v", got)
	}
}

func nodeIsReserved(n corev1.Node) bool { return n.Labels[karpv1.CapacityTypeLabelKey] == "reserved" }
