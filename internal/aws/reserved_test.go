package aws_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// reservedCluster is a provider with a class that selects all reservations with the tag team.
type reservedCluster struct {
	*testing.T
	sim   *awssim.Server
	p     *aws.Provider
	class *awsv1.EC2NodeClass
	ahead time.Duration
}

func newReservedCluster(t *testing.T, reservations ...world.Reservation) *reservedCluster {
	t.Helper()
	h := &reservedCluster{T: t, sim: startSim(t, awssim.Options{World: world.Options{Types: append([]string{"p5.48xlarge"}, fewTypes...)}})}
	for _, r := range reservations {
		h.add(r)
	}
	h.p = newProvider(t, h.sim, func(o *aws.Options) { o.Now = func() time.Time { return time.Now().Add(h.ahead) } })
	ready(t, h.p)
	h.class = newClass(h.sim)
	h.class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{Tags: map[string]string{"team": "*"}}}
	h.resolve()
	return h
}

func (h *reservedCluster) add(r world.Reservation) {
	h.Helper()
	if r.Type == "" {
		r.Type = "m5.large"
	}
	if r.Zone == "" {
		for _, s := range h.sim.World.Subnets() {
			if h.sim.World.Offered(r.Type, s.Zone) {
				r.Zone = s.Zone
			}
		}
	}
	r.Tags = map[string]string{"team": "blue"}
	if _, err := h.sim.World.AddReservation(r); err != nil {
		h.Fatal(err)
	}
}

// resolve does what the nodeclass controller does, a minute later each time.
func (h *reservedCluster) resolve() {
	h.Helper()
	h.ahead += time.Minute
	resolve(h.T, h.p, h.class)
	r, err := h.p.Resolve(h.Context(), h.class)
	if err != nil {
		h.Fatal(err)
	}
	h.class.Status.CapacityReservations = r.CapacityReservations
}

// offered are the reserved offerings of a type.
func (h *reservedCluster) offered(instanceType string) []catalog.Offering {
	h.Helper()
	types, err := h.p.Types(h.Context(), h.class)
	if err != nil {
		h.Fatal(err)
	}
	var out []catalog.Offering
	for _, t := range types {
		for _, o := range t.Offerings {
			if t.Name == instanceType && o.CapacityType == catalog.Reserved {
				out = append(out, o)
			}
		}
	}
	return out
}

func (h *reservedCluster) launch(n int, requirements ...karpv1.NodeSelectorRequirementWithMinValues) (*cloud.Instance, error) {
	h.Helper()
	return h.p.Launch(h.Context(), newClaim(n, requirements...), h.class)
}

var anyCapacity = []karpv1.NodeSelectorRequirementWithMinValues{
	need(awsv1.LabelInstanceCategory, corev1.NodeSelectorOpIn, "m"), need(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "amd64"),
}

func TestAReservationIsUsedFirstAndThenWhatIsSold(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0a", Total: 2, MatchCriteria: "targeted"})
	offers := h.offered("m5.large")
	if len(offers) != 1 || offers[0].Reservable != 2 || !offers[0].Available || offers[0].Price < 1 || offers[0].ReservationID != "cr-0a" {
		t.Fatalf("offered: %+v", offers)
	}
	var first, second *cloud.Instance
	for n := range 2 {
		m, err := h.launch(n, anyCapacity...)
		if err != nil {
			t.Fatal(err)
		}
		first, second = second, m
		for key, want := range map[string]string{
			karpv1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: "cr-0a", awsv1.LabelCapacityReservationType: "default",
			awsv1.LabelCapacityReservationInterruptible: "false", corev1.LabelInstanceTypeStable: "m5.large",
		} {
			if m.Labels[key] != want {
				t.Errorf("label %s is %q, want %q", key, m.Labels[key], want)
			}
		}
		if o := h.offered("m5.large")[0]; o.Reservable != 1-n {
			t.Errorf("after launch %d %d are left", n, o.Reservable)
		}
	}
	for _, i := range alive(h.sim) {
		if i.CapacityReservationID != "cr-0a" || i.Launch.CapacityReservation.Preference != "capacity-reservations-only" {
			t.Errorf("%s is of reservation %q", i.ID, i.CapacityReservationID)
		}
	}
	m, err := h.launch(3, anyCapacity...)
	if err != nil || m.CapacityType == catalog.Reserved || m.Labels[awsv1.LabelCapacityReservationID] != "" {
		t.Fatalf("after the reservation: %+v, %v", m, err)
	}
	// An instance that ends gives its place back, before EC2 is asked again.
	for {
		if err := h.p.Terminate(h.Context(), first.ProviderID); cloud.IsNotFound(err) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if o := h.offered("m5.large")[0]; o.Reservable != 1 || !o.Available {
		t.Errorf("after one has ended: %+v", o)
	}
	// So does one whose end is seen by who only reads it.
	if err := h.p.Terminate(h.Context(), second.ProviderID); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := h.p.Get(h.Context(), second.ProviderID); cloud.IsNotFound(err) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if o := h.offered("m5.large")[0]; o.Reservable != 2 {
		t.Errorf("after both have ended: %+v", o)
	}
	h.resolve()
	if o := h.offered("m5.large")[0]; o.Reservable != 2 {
		t.Errorf("after EC2 was asked: %+v", o)
	}
}

func TestAnEmptyReservationClosesItselfAndNotThePool(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0a", Total: 1, MatchCriteria: "targeted"})
	// Somebody else takes the instance after EC2 was asked.
	if err := h.sim.World.CancelReservation("cr-0a"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.launch(1, anyCapacity...); cloud.ClassOf(err) != cloud.Exhausted {
		t.Fatalf("a launch out of what is used up: %v", err)
	}
	if o := h.offered("m5.large")[0]; o.Available || o.Unavailable == "" {
		t.Errorf("the reservation is still offered: %+v", o)
	}
	m, err := h.launch(2, append(anyCapacity, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m5.large"))...)
	if err != nil || m.InstanceType != "m5.large" {
		t.Errorf("the pool was closed with it: %+v, %v", m, err)
	}
}

// One that EC2 does not know any more is left alone like one that is used up, and no launch template is made again for it.
func TestAReservationThatIsGoneIsNotAMissingLaunchTemplate(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0a", Total: 2, MatchCriteria: "targeted"})
	gone := h.sim.World.AddFault(world.Fault{Kind: world.FaultNoAddresses, InstanceType: "m5.large", Code: "InvalidCapacityReservationId.NotFound", Message: "cr-0a does not exist."})
	if _, err := h.launch(1, anyCapacity...); cloud.ClassOf(err) != cloud.Exhausted {
		t.Errorf("launched out of a reservation that is gone: %v of class %s", err, cloud.ClassOf(err))
	}
	if f, _ := h.sim.World.Fault(gone); f.Hits != 1 {
		t.Errorf("EC2 was asked for it %d times, want once", f.Hits)
	}
	if o := h.offered("m5.large"); len(o) != 1 || o[0].Available {
		t.Errorf("it is offered: %+v", o)
	}
	h.sim.World.RemoveFault(gone)
	if m, err := h.launch(2, anyCapacity...); err != nil || m.CapacityType == catalog.Reserved {
		t.Errorf("next: %+v, %v", m, err)
	}
}

// A process that has just started knows the reservations from the class's status, and not what they hold.
func TestAReservationThatWasNotSeenYetIsNotCalledUsedUp(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0a", Total: 2, MatchCriteria: "targeted"})
	h.p = newProvider(t, h.sim, nil)
	ready(t, h.p)
	if o := h.offered("m5.large"); len(o) != 1 || o[0].Available || o[0].Unavailable != offering.Unseen {
		t.Errorf("offered: %+v", o)
	}
	_, err := h.launch(1, append(anyCapacity, need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "reserved"))...)
	if err == nil || !strings.Contains(err.Error(), offering.Unseen) || strings.Contains(err.Error(), offering.UsedUp) {
		t.Errorf("a launch says %v", err)
	}
	h.resolve()
	if m, err := h.launch(2, anyCapacity...); err != nil || m.CapacityType != catalog.Reserved {
		t.Errorf("once EC2 has told: %+v, %v", m, err)
	}
}

func TestEachKindOfReservationIsLaunchedInItsOwnWay(t *testing.T) {
	far := time.Now().Add(24 * time.Hour)
	for name, c := range map[string]struct {
		reservation world.Reservation
		category    string
		market      string
		labels      map[string]string
	}{
		"a capacity block": {
			world.Reservation{ID: "cr-0b", Type: "p5.48xlarge", Total: 1, Kind: world.CapacityBlock, MatchCriteria: "targeted", End: far}, "p", world.CapacityBlock,
			map[string]string{awsv1.LabelCapacityReservationType: "capacity-block", awsv1.LabelCapacityReservationInterruptible: "false"},
		},
		"an interruptible reservation": {
			world.Reservation{ID: "cr-0c", Type: "m6i.large", Total: 1, Interruptible: true, MatchCriteria: "targeted"}, "m", world.InterruptibleMarket,
			map[string]string{awsv1.LabelCapacityReservationType: "default", awsv1.LabelCapacityReservationInterruptible: "true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newReservedCluster(t, c.reservation)
			m, err := h.launch(1, need(awsv1.LabelInstanceCategory, corev1.NodeSelectorOpIn, c.category), need(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "amd64"))
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range c.labels {
				if m.Labels[key] != want {
					t.Errorf("label %s is %q, want %q", key, m.Labels[key], want)
				}
			}
			i := alive(h.sim)[0]
			if i.Launch.MarketOptions == nil || i.Launch.MarketOptions.MarketType != c.market || i.CapacityReservationID != c.reservation.ID {
				t.Errorf("launched as %+v out of %q", i.Launch.MarketOptions, i.CapacityReservationID)
			}
		})
	}
}

func TestABlockThatIsAboutToEndIsNotOffered(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0b", Type: "p5.48xlarge", Total: 1, Kind: world.CapacityBlock, MatchCriteria: "targeted", End: time.Now().Add(2 * time.Hour)})
	if o := h.offered("p5.48xlarge"); len(o) != 1 || !o[0].Available {
		t.Fatalf("two hours before its end: %+v", o)
	}
	h.ahead += 85 * time.Minute
	h.resolve()
	if o := h.offered("p5.48xlarge"); len(o) != 1 || o[0].Available || h.class.Status.CapacityReservations[0].State != "expiring" {
		t.Errorf("half an hour before its end: %+v", o)
	}
}

func TestWithoutTheGateNothingIsReserved(t *testing.T) {
	h := newReservedCluster(t, world.Reservation{ID: "cr-0a", Total: 1})
	p := newProvider(t, h.sim, func(o *aws.Options) { o.ReservedCapacity = false })
	ready(t, p)
	r, err := p.Resolve(t.Context(), h.class)
	if err != nil || len(r.CapacityReservations) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, f := range r.Findings {
		if f.Condition == awsv1.ConditionTypeCapacityReservationsReady {
			t.Errorf("%+v", f)
		}
	}
	m, err := p.Launch(t.Context(), newClaim(1), h.class)
	if err != nil || m.CapacityType != catalog.OnDemand {
		t.Errorf("%+v, %v", m, err)
	}
}
