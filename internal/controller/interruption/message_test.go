package interruption_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func TestWhatEachMessageDoes(t *testing.T) {
	stopped := []string{"InstanceStopping", "InstanceStopping", "TerminatingOnInterruption", "TerminatingOnInterruption"}
	two := func(reason string) []string {
		return []string{reason, reason, "TerminatingOnInterruption", "TerminatingOnInterruption"}
	}
	closed := []string{"spot m5.large us-east-1a"}
	tests := []struct {
		name, body, kind string
		opts             interruption.Options
		gone             bool // the instance, by the time of the message
		grace            time.Duration
		drained          bool
		deadline         time.Time
		why              string // the annotation that says so
		events           []string
		closed           []string
	}{
		{name: "a spot warning drains within the notice", body: spot(ours, start.Add(-10*time.Second)), kind: "spot_interrupted",
			drained: true, deadline: start.Add(105 * time.Second), why: "spot_interrupted", events: two("SpotInterrupted"), closed: closed},
		{name: "a spot warning from a clock that is ahead counts from now", body: spot(ours, start.Add(time.Hour)), kind: "spot_interrupted",
			drained: true, deadline: start.Add(115 * time.Second), why: "spot_interrupted", events: two("SpotInterrupted"), closed: closed},
		{name: "a spot warning does not lengthen a shorter grace period", body: spot(ours, start), kind: "spot_interrupted", grace: 30 * time.Second,
			drained: true, deadline: start.Add(30 * time.Second), why: "spot_interrupted", events: two("SpotInterrupted"), closed: closed},
		{name: "a stale spot warning about an instance that is gone does nothing", body: spot(ours, start.Add(-3*time.Minute)), kind: "spot_interrupted", gone: true},
		{name: "a stale spot warning about an instance that still runs gives its pods time to end", body: spot(ours, start.Add(-3*time.Minute)), kind: "spot_interrupted",
			drained: true, deadline: start.Add(30 * time.Second), why: "spot_interrupted", events: two("SpotInterrupted"), closed: closed},
		{name: "a rebalance recommendation tells", body: rebalance(ours, start), kind: "rebalance_recommendation", events: []string{"SpotRebalanceRecommendation", "SpotRebalanceRecommendation"}},
		{name: "a rebalance recommendation replaces where settings say so", body: rebalance(ours, start), kind: "rebalance_recommendation", opts: interruption.Options{ReplaceOnRebalance: true},
			drained: true, why: "rebalance_recommendation", events: two("SpotRebalanceRecommendation"), closed: closed},
		{name: "an instance that stops is drained", body: state(ours, "stopping", start), kind: "instance_stopped", drained: true, events: stopped},
		{name: "an instance that has stopped is drained", body: state(ours, "stopped", start), kind: "instance_stopped", drained: true, events: stopped},
		{name: "an instance that shuts down but runs is drained gracefully", body: state(ours, "shutting-down", start), kind: "instance_terminated", drained: true, events: two("InstanceTerminating")},
		{name: "an instance that is gone is not waited for", body: state(ours, "terminated", start), kind: "instance_terminated", gone: true,
			drained: true, deadline: start, events: []string{"InstanceGone", "InstanceTerminating", "InstanceTerminating", "TerminatingOnInterruption", "TerminatingOnInterruption"}},
		{name: "an instance that starts asks for nothing", body: state(ours, "running", start), kind: "no_op"},
		{name: "an interrupted reservation drains within the notice", body: reservation(ours, start), kind: "capacity_reservation_interrupted",
			drained: true, deadline: start.Add(115 * time.Second), why: "capacity_reservation_interrupted", events: two("CapacityReservationInstanceInterrupted"), closed: closed},
		{name: "urgent scheduled work drains at once", body: health(ours, "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED", "open", start.Add(time.Hour)), kind: "scheduled_change",
			opts: interruption.Options{MaintenanceLead: 24 * time.Hour}, drained: true, why: "scheduled_change", events: two("InstanceUnhealthy")},
		{name: "urgent work that ends the instance is the deadline too", body: health(ours, "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", "open", start.Add(time.Hour)), kind: "scheduled_change",
			opts: interruption.Options{MaintenanceLead: 24 * time.Hour}, drained: true, deadline: start.Add(time.Hour - 5*time.Second), why: "scheduled_change", events: two("InstanceUnhealthy")},
		{name: "work whose time is past drains within budgets", body: health(ours, "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", "open", start.Add(-time.Hour)), kind: "scheduled_change",
			drained: true, why: "scheduled_change", events: two("InstanceUnhealthy")},
		{name: "another version of the envelope asks for nothing", body: strings.Replace(spot(ours, start), `"version":"0"`, `"version":"1"`, 1), kind: "unknown"},
		{name: "the other spelling does the same", body: strings.Replace(spot(ours, start), "detail-type", "detail_type", 1), kind: "spot_interrupted",
			drained: true, deadline: start.Add(115 * time.Second), why: "spot_interrupted", events: two("SpotInterrupted"), closed: closed},
		{name: "an instance of somebody else is nothing to us", body: spot(another, start), kind: "spot_interrupted"},
		{name: "a message cut off is dropped", body: spot(ours, start)[:150], kind: "malformed"},
		{name: "no JSON is dropped", body: "hello " + ours, kind: "malformed"},
		{name: "no text is dropped", body: "\xff\xfe" + ours, kind: "malformed"},
		{name: "256 KiB of nothing is dropped", body: strings.Repeat("x", 256<<10), kind: "malformed"},
		{name: "a probe of kerf doctor is counted", body: `{"version":"0","id":"p","source":"kerf.sh/doctor","detail-type":"Kerf Delivery Probe","detail":{"probe":"k3rf"}}`, kind: "doctor_probe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			claim := nodeClaim("a", ours, func(c *karpv1.NodeClaim) {
				if tt.grace != 0 {
					c.Spec.TerminationGracePeriod = new(karpv1.NewDuration(tt.grace))
				}
			})
			h := newTestCluster(t, tt.opts, claim, nodeOf(claim))
			if tt.gone {
				h.region.states = nil
			}
			h.deliver(tt.body)
			got := h.claim("a")
			if h.deleting("a") != tt.drained {
				t.Errorf("drained: %v", h.deleting("a"))
			}
			deadline := ""
			if !tt.deadline.IsZero() {
				deadline = stamp(tt.deadline)
			}
			if d := h.deadline("a"); d != deadline {
				t.Errorf("deadline %q, want %q", d, deadline)
			}
			if why := got.Annotations[index.InterruptedAnnotation]; why != tt.why {
				t.Errorf("interrupted by %q, want %q", why, tt.why)
			}
			if diff := cmp.Diff(tt.events, h.reasons()); diff != "" {
				t.Errorf("events %s", diff)
			}
			if diff := cmp.Diff(tt.closed, h.region.closed); diff != "" {
				t.Errorf("closed %s", diff)
			}
			if diff := cmp.Diff([]string{"m0"}, h.line.deleted); diff != "" {
				t.Errorf("deleted messages %s", diff)
			}
			if n := h.metric("karpenter_interruption_received_messages_total", tt.kind); n != 1 {
				t.Errorf("counted %v of kind %s", n, tt.kind)
			}
			if n := h.metric("karpenter_interruption_received_messages_total"); n != 1 {
				t.Errorf("counted %v messages", n)
			}
			want := 0.0
			if tt.drained {
				want = 1
			}
			if n := h.metric("karpenter_nodeclaims_disrupted_total", tt.kind, "default", "spot"); n != want {
				t.Errorf("counted %v disruptions", n)
			}
		})
	}
}

// TestWhoSeesTheClaimGoSeesWhy: a drain that begins without knowing that AWS takes the instance evicts pods before their
// replacement is there.
func TestWhoSeesTheClaimGoSeesWhy(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	h.deliver(spot(ours, start))
	if len(h.going) != 1 {
		t.Fatalf("%d deletions", len(h.going))
	}
	if why := h.going[0][index.InterruptedAnnotation]; why != "spot_interrupted" {
		t.Errorf("deleted while it said %q of why", why)
	}
	if end := h.going[0][karpv1.NodeClaimTerminationTimestampAnnotationKey]; end != stamp(start.Add(115*time.Second)) {
		t.Errorf("deleted while it said %q of its end", end)
	}
}

func TestTheSameAgainChangesNothing(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	h.deliver(spot(ours, start), spot(ours, start))
	h.clock.Step(20 * time.Second)
	h.deliver(spot(ours, start), rebalance(ours, start), state(ours, "shutting-down", start))
	if d := h.deadline("a"); d != stamp(start.Add(115*time.Second)) {
		t.Errorf("deadline %s", d)
	}
	if n := h.metric("karpenter_nodeclaims_disrupted_total"); n != 1 {
		t.Errorf("counted %v disruptions", n)
	}
	if n := len(h.line.deleted); n != 5 {
		t.Errorf("deleted %d of 5 messages", n)
	}
}

// A late warning that comes again does not give the pods more time.
func TestALateWarningGivesTimeOnce(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	late := spot(ours, start.Add(-10*time.Minute))
	h.deliver(late)
	h.clock.Step(20 * time.Second)
	h.deliver(late)
	if d := h.deadline("a"); d != stamp(start.Add(30*time.Second)) {
		t.Errorf("deadline %s", d)
	}
}

func TestAWarningShortensAnEarlierDrain(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	h.deliver(state(ours, "stopping", start))
	if d := h.deadline("a"); d != "" {
		t.Fatalf("deadline %s", d)
	}
	h.deliver(spot(ours, start))
	if d := h.deadline("a"); d != stamp(start.Add(115*time.Second)) {
		t.Errorf("deadline %q", d)
	}
	if n := h.metric("karpenter_nodeclaims_disrupted_total"); n != 1 {
		t.Errorf("counted %v disruptions", n)
	}
}

func TestOurOwnTerminationsAreNoNews(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	if err := h.Client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	h.region.err = errors.New("must not be asked")
	h.deliver(state(ours, "shutting-down", start), state(ours, "terminated", start))
	if len(h.line.deleted) != 2 || h.reasons() != nil || h.deadline("a") != "" {
		t.Errorf("deleted %v, claim %v", h.line.deleted, h.claim("a").Annotations)
	}
}

func TestMessagesAboutOthersAreDroppedUnparsed(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, nodeClaim("a", ours))
	h.deliver(state(another, "terminated", start), state(another, "running", start), spot(another, start))
	if len(h.line.deleted) != 3 || h.metric("kerf_interruption_foreign_messages_total") != 3 {
		t.Errorf("deleted %v, foreign %v", h.line.deleted, h.metric("kerf_interruption_foreign_messages_total"))
	}
	for _, kind := range []string{"instance_terminated", "no_op", "spot_interrupted"} {
		if n := h.metric("karpenter_interruption_received_messages_total", kind); n != 1 {
			t.Errorf("counted %v of kind %s", n, kind)
		}
	}
}

func TestAMessageThatOutrunsTheLaunchIsLeftForLater(t *testing.T) {
	launching := nodeClaim("b", "")
	h := newTestCluster(t, interruption.Options{}, nodeClaim("a", ours), launching)
	late := "i-0aaaaaaaaaaaaaaa1"
	h.deliver(spot(late, start), state(late, "running", start))
	if diff := cmp.Diff([]string{"m1"}, h.line.deleted); diff != "" {
		t.Fatalf("deleted %s", diff)
	}
	if strings.Contains(h.log.String(), "ERROR") {
		t.Errorf("log: %s", h.log)
	}
	// The launch is written down, and the message comes again.
	known := h.claim("b")
	known.Status.ProviderID = "aws:///us-east-1a/" + late
	if err := h.Client.Status().Update(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	h.Instances.Set(launching, known, start)
	h.deliver(spot(late, start))
	if !h.deleting("b") {
		t.Error("the warning was lost")
	}
}

func TestAnOldMessageAboutAnUnknownInstanceIsNotKept(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, nodeClaim("b", ""))
	h.line.next = []queue.Delivery{{ID: "old", SentAt: start.Add(-time.Minute), Body: spot(another, start)}}
	h.round()
	if len(h.line.deleted) != 1 {
		t.Error("the message is kept though its instance would be known by now")
	}
}

func TestAMessageThatFailsAgainAndAgainIsGivenUp(t *testing.T) {
	h := newTestCluster(t, interruption.Options{}, nodeClaim("a", ours))
	h.refusal = apierrors.NewServiceUnavailable("etcd")
	for receives, want := range []struct {
		counted float64
		deleted int
	}{{}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 1}} {
		if receives == 0 {
			continue
		}
		h.line.next = []queue.Delivery{{ID: "poison", SentAt: start, Receives: receives, Body: spot(ours, start)}}
		h.round()
		if n := h.metric("kerf_interruption_poison_messages_total", "spot_interrupted", "kubernetes_serviceunavailable"); n != want.counted || len(h.line.deleted) != want.deleted {
			t.Errorf("receive %d: counted %v, deleted %v", receives, n, h.line.deleted)
		}
	}
	if !strings.Contains(h.log.String(), "etcd") || !strings.Contains(h.log.String(), "dead-letter") {
		t.Errorf("the log does not say why: %s", h.log)
	}
}

func TestOneFailureDoesNotHoldTheOthersBack(t *testing.T) {
	claim := nodeClaim("a", ours)
	other := nodeClaim("b", another)
	h := newTestCluster(t, interruption.Options{}, claim, other)
	h.region.err = errors.New("EC2 does not answer")
	h.deliver(spot(another, start.Add(-5*time.Minute)), state(ours, "stopped", start))
	if diff := cmp.Diff([]string{"m1"}, h.line.deleted); diff != "" || !h.deleting("a") || h.deleting("b") {
		t.Errorf("deleted %s", diff)
	}
}

func TestAnUnknownSortIsToldOfOnce(t *testing.T) {
	h := newTestCluster(t, interruption.Options{})
	body := `{"version":"0","source":"aws.ec2","detail-type":"EBS Volume Notification","detail":{}}`
	h.deliver(body, body, body)
	if n := strings.Count(h.log.String(), "EBS Volume Notification"); n != 1 {
		t.Errorf("told %d times: %s", n, h.log)
	}
}

func TestEveryCauseIsOneOfAFewWords(t *testing.T) {
	claim := nodeClaim("a", ours)
	for want, err := range map[string]error{
		"kubernetes_conflict":      apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, "a", errors.New("x")),
		"aws_throttled":            &cloud.Error{Op: "x", Class: cloud.Throttled, Err: errors.New("y")},
		"other":                    errors.New("z"),
		"kubernetes_internalerror": fmt.Errorf("deep: %w", apierrors.NewInternalError(errors.New("x"))),
	} {
		h := newTestCluster(t, interruption.Options{}, claim.DeepCopy())
		h.refusal = err
		h.line.next = []queue.Delivery{{ID: "m", SentAt: start, Receives: 5, Body: spot(ours, start)}}
		h.round()
		if n := h.metric("kerf_interruption_poison_messages_total", want); n != 1 {
			t.Errorf("%s: %s", want, h.log)
		}
	}
}
