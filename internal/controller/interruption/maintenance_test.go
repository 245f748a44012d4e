package interruption_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	retirement = "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED"
	reboot     = "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"
	day        = 24 * time.Hour
)

var leadOfADay = interruption.Options{MaintenanceLead: day}

func (h *testCluster) windows() {
	h.t.Helper()
	if err := h.Windows(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testCluster) poll() {
	h.t.Helper()
	if err := h.Poll(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func TestScheduledWorkWaitsForItsTimeAcrossARestart(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
	at := start.Add(14 * day).Truncate(time.Minute)
	h.deliver(health(ours, retirement, "upcoming", at))
	h.deliver(health(ours, retirement, "upcoming", at)) // redelivered
	if diff := cmp.Diff([]string{"InstanceUnhealthy", "InstanceUnhealthy"}, h.reasons()); diff != "" {
		t.Errorf("one event each on claim and node: %s", diff)
	}
	if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; !strings.Contains(note, retirement) || !strings.Contains(note, stamp(at)) {
		t.Errorf("annotation %s", note)
	}
	h.clock.SetTime(at.Add(-day - time.Second))
	h.windows()
	if h.deleting("a") {
		t.Fatal("drained before the lead")
	}
	h.Controller = h.controller(leadOfADay, h.Client) // the next leader
	h.clock.SetTime(at.Add(-day))
	h.windows()
	h.windows()
	if !h.deleting("a") {
		t.Fatal("not drained")
	}
	if d := h.deadline("a"); d != stamp(at.Add(-5*time.Second)) {
		t.Errorf("deadline %s: the instance goes at %s", d, at)
	}
	if n := h.metric("karpenter_nodeclaims_disrupted_total", "scheduled_change"); n != 1 {
		t.Errorf("counted %v", n)
	}
}

func TestARebootIsNoDeadline(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
	at := start.Add(3 * day)
	h.deliver(health(ours, reboot, "upcoming", at))
	h.clock.SetTime(at.Add(-time.Hour))
	h.windows()
	if !h.deleting("a") || h.deadline("a") != "" {
		t.Errorf("deleting %v, deadline %s", h.deleting("a"), h.deadline("a"))
	}
}

func TestWorkThatIsCalledOffReleasesTheInstance(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
	at := start.Add(3 * day)
	h.deliver(health(ours, retirement, "upcoming", at), health(ours, reboot, "upcoming", at.Add(time.Hour)))
	h.reasons()
	h.deliver(health(ours, retirement, "closed", at))
	if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; strings.Contains(note, retirement) || !strings.Contains(note, reboot) {
		t.Fatalf("annotation %s", note)
	}
	h.deliver(health(ours, reboot, "closed", at))
	if _, ok := h.claim("a").Annotations[index.MaintenanceAnnotation]; ok {
		t.Error("the annotation stays")
	}
	if diff := cmp.Diff([]string{"MaintenanceOver", "MaintenanceOver"}, h.reasons()); diff != "" {
		t.Error(diff)
	}
	h.clock.SetTime(at)
	h.windows()
	if h.deleting("a") {
		t.Error("drained for work that was called off")
	}
}

// Of a cache that lags behind what was written a moment ago: the word that work is off is not said twice.
func TestWorkIsCalledOffBeforeTheCacheShowsIt(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
	before := h.claim("a")
	at := start.Add(3 * day)
	h.deliver(health(ours, retirement, "upcoming", at))
	real := h.Client.(client.WithWatch)
	h.Client = interceptor.NewClient(real, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if claim, ok := obj.(*karpv1.NodeClaim); ok {
				*claim = *before.DeepCopy()
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	h.deliver(health(ours, retirement, "closed", at))
	h.Client = real
	if note, ok := h.claim("a").Annotations[index.MaintenanceAnnotation]; ok {
		t.Errorf("the annotation stays: %s", note)
	}
}

// A queue hands messages out in any order.
func TestWorkIsCalledOffBeforeItIsAnnounced(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"far": 3 * day, "near": time.Hour} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
			h.deliver(health(ours, retirement, "closed", start.Add(ahead)))
			h.deliver(health(ours, retirement, "upcoming", start.Add(ahead)))
			if note, ok := h.claim("a").Annotations[index.MaintenanceAnnotation]; ok || h.deleting("a") {
				t.Errorf("annotation %q, drained %v: the work was called off", note, h.deleting("a"))
			}
			h.deliver(health(ours, reboot, "upcoming", start.Add(3*day)))
			if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; !strings.Contains(note, reboot) {
				t.Errorf("annotation %q: other work is not called off", note)
			}
		})
	}
}

// Whoever else writes to the claim, even a second piece of news of the same delivery, must not make the message wait for its
// visibility time.
func TestScheduledWorkIsWrittenDownAtOnceThoughTheClaimChanges(t *testing.T) {
	at := start.Add(3 * day)
	for name, c := range map[string]struct {
		was       string // the list before
		status    string // of the news
		meanwhile func(*karpv1.NodeClaim)
		want      []string // in the list after
		events    []string
	}{
		"another annotation":       {status: "upcoming", meanwhile: annotate("a", "b"), want: []string{retirement}, events: []string{"InstanceUnhealthy"}},
		"other work":               {status: "upcoming", meanwhile: annotate(index.MaintenanceAnnotation, works("other", at.Add(day))), want: []string{retirement, "other"}, events: []string{"InstanceUnhealthy"}},
		"the same work, by status": {status: "upcoming", meanwhile: annotate(index.MaintenanceAnnotation, works("other", at)), want: []string{retirement, "other"}},
		"called off": {
			was: works("arn:aws:health:us-east-1::event/EC2/"+retirement+"/1", at), status: "closed", meanwhile: annotate("a", "b"), events: []string{"MaintenanceOver"},
		},
		"called off, while other work comes": {
			was: works("arn:aws:health:us-east-1::event/EC2/"+retirement+"/1", at), status: "closed", want: []string{"other"},
			meanwhile: annotate(index.MaintenanceAnnotation, works("other", at.Add(day))),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t, leadOfADay, nodeClaim("a", ours, func(claim *karpv1.NodeClaim) {
				if c.was != "" {
					annotate(index.MaintenanceAnnotation, c.was)(claim)
				}
			}))
			h.meanwhile = func() {
				claim := h.claim("a")
				c.meanwhile(claim)
				if err := h.Client.Update(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
			}
			h.deliver(health(ours, retirement, c.status, at))
			if h.meanwhile != nil {
				t.Fatal("nothing was written")
			}
			note, has := h.claim("a").Annotations[index.MaintenanceAnnotation]
			if has != (len(c.want) > 0) {
				t.Errorf("annotation %q", note)
			}
			for _, w := range c.want {
				if !strings.Contains(note, w) {
					t.Errorf("annotation %s has no %s", note, w)
				}
			}
			if diff := cmp.Diff(c.events, h.reasons()); diff != "" {
				t.Error(diff)
			}
			if n := len(h.line.deleted); n != 1 {
				t.Errorf("%d messages were deleted", n)
			}
		})
	}
}

func annotate(key, value string) func(*karpv1.NodeClaim) {
	return func(claim *karpv1.NodeClaim) { metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, value) }
}

// works is a list of one piece of scheduled work.
func works(id string, at time.Time) string {
	return `[{"id":"` + id + `","notBefore":"` + stamp(at) + `"}]`
}

func TestWorkThatIsPutOffMovesTheDrain(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
	h.deliver(health(ours, retirement, "upcoming", start.Add(3*day)))
	h.deliver(health(ours, retirement, "upcoming", start.Add(5*day)))
	h.clock.SetTime(start.Add(3 * day))
	if h.windows(); h.deleting("a") {
		t.Error("drained for the earlier time")
	}
	h.clock.SetTime(start.Add(4 * day))
	if h.windows(); !h.deleting("a") {
		t.Error("not drained for the later time")
	}
}

func TestAnAnnotationThatSomebodySpoiltIsNoHarm(t *testing.T) {
	claim := nodeClaim("a", ours)
	claim.Annotations = map[string]string{index.MaintenanceAnnotation: "{"}
	h := newTestCluster(t, leadOfADay, claim)
	h.windows()
	h.deliver(health(ours, reboot, "upcoming", start.Add(2*day)))
	if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; !strings.Contains(note, reboot) {
		t.Errorf("annotation %s", note)
	}
}

func impaired(c instancestatus.Category, since time.Time) []instancestatus.Status {
	return []instancestatus.Status{{InstanceID: ours, Failures: []instancestatus.Failure{{Category: c, Since: since}}}}
}

func TestAnInstanceThatFailsItsChecksGoesByForce(t *testing.T) {
	for _, c := range []instancestatus.Category{instancestatus.Instance, instancestatus.System} {
		claim := nodeClaim("a", ours)
		h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
		h.clinic.statuses = impaired(c, start.Add(-119*time.Second))
		if h.poll(); h.deleting("a") {
			t.Errorf("%s: gone after 119 s", c)
		}
		h.clock.Step(time.Second)
		h.poll()
		h.clock.Step(time.Minute)
		h.poll()
		if !h.deleting("a") || h.deadline("a") != stamp(start.Add(time.Second)) {
			t.Errorf("%s: deleting %v, deadline %s", c, h.deleting("a"), h.deadline("a"))
		}
		if n := h.metric("karpenter_interruption_instance_status_unhealthy_total", string(c)); n != 1 {
			t.Errorf("%s: counted %v", c, n)
		}
		if n := h.metric("karpenter_nodeclaims_disrupted_total", "instance_unhealthy", "forceful"); n != 1 {
			t.Errorf("%s: counted %v disruptions", c, n)
		}
		if diff := cmp.Diff([]string{"InstanceUnhealthy", "InstanceUnhealthy", "TerminatingOnInterruption", "TerminatingOnInterruption"}, h.reasons()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([][]string{{ours}, {ours}, {ours}}, h.clinic.asked); diff != "" {
			t.Errorf("asked %s", diff)
		}
	}
}

// TestANodeThatIsReadyIsDrainedThoughItsChecksFail as budgets let it, and by force once it is not ready.
func TestANodeThatIsReadyIsDrainedThoughItsChecksFail(t *testing.T) {
	claim := nodeClaim("a", ours)
	node := nodeOf(claim)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	h := newTestCluster(t, leadOfADay, claim, node)
	h.clinic.statuses = impaired(instancestatus.Instance, start.Add(-time.Hour))
	h.poll()
	if !h.deleting("a") || h.deadline("a") != "" {
		t.Errorf("ready: deleting %v, deadline %s", h.deleting("a"), h.deadline("a"))
	}
	if n := h.metric("karpenter_nodeclaims_disrupted_total", "instance_unhealthy", "graceful"); n != 1 {
		t.Errorf("counted %v graceful disruptions", n)
	}
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	if err := h.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	h.clock.Step(time.Minute)
	if h.poll(); h.deadline("a") != stamp(start.Add(time.Minute)) {
		t.Errorf("not ready any more: deadline %s", h.deadline("a"))
	}
}

func TestInstancesOfAZoneThatIsShiftedAwayFromStayThoughChecksFail(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
	shifted := true
	h.LeftAlone = func(id string) bool { return shifted && id == claim.Status.ProviderID }
	h.clinic.statuses = impaired(instancestatus.System, start.Add(-time.Hour))
	h.poll()
	h.clock.Step(time.Minute)
	if h.poll(); h.deleting("a") {
		t.Error("gone though it is to stay")
	}
	if diff := cmp.Diff([]string{"InstanceUnhealthy", "InstanceUnhealthy"}, h.reasons()); diff != "" {
		t.Error(diff)
	}
	shifted = false
	if h.poll(); !h.deleting("a") {
		t.Error("stays though the zone is used again")
	}
}

func TestACheckThatFailsForAMomentIsNothing(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
	for range 5 {
		h.clinic.statuses = impaired(instancestatus.Instance, time.Time{})
		h.poll()
		h.clock.Step(time.Minute)
		h.clinic.statuses = []instancestatus.Status{{InstanceID: ours}}
		h.poll()
		h.clock.Step(time.Minute)
	}
	if h.deleting("a") {
		t.Fatal("gone for failures of a moment")
	}
	h.clinic.statuses = impaired(instancestatus.Instance, time.Time{})
	h.poll()
	h.clock.Step(2 * time.Minute)
	if h.poll(); !h.deleting("a") {
		t.Error("not gone after two minutes")
	}
}

func TestAVolumeThatFailsIsToldOfOnce(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
	h.clinic.statuses = impaired(instancestatus.Volumes, start.Add(-time.Hour))
	h.poll()
	h.clock.Step(time.Hour)
	h.poll()
	if diff := cmp.Diff([]string{"AttachedVolumeUnhealthy", "AttachedVolumeUnhealthy"}, h.reasons()); diff != "" || h.deleting("a") {
		t.Errorf("deleting %v, %s", h.deleting("a"), diff)
	}
}

func TestWorkThatStatusShowsIsHeldToTheSameRule(t *testing.T) {
	claim := nodeClaim("a", ours)
	h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
	at := start.Add(3 * day)
	event := queue.Maintenance{ID: "instance-event-0d59937288b749b32", Code: "instance-reboot", NotBefore: at}
	h.deliver(health(ours, reboot, "upcoming", at))
	h.clinic.statuses = []instancestatus.Status{{InstanceID: ours, Events: []queue.Maintenance{event}}}
	h.poll()
	h.clock.Step(time.Minute)
	h.poll()
	if diff := cmp.Diff([]string{"InstanceUnhealthy", "InstanceUnhealthy"}, h.reasons()); diff != "" {
		t.Errorf("the same work, by message and by status, is one event: %s", diff)
	}
	if n := h.metric("karpenter_interruption_instance_status_unhealthy_total", "EventStatus"); n != 1 {
		t.Errorf("counted %v", n)
	}
	h.clinic.err = &cloud.Error{Op: "reading", Class: cloud.Throttled, Err: errors.New("slow down")}
	h.clinic.statuses = nil
	if err := h.Poll(t.Context()); err == nil {
		t.Error("no error")
	}
	if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; !strings.Contains(note, event.ID) {
		t.Errorf("what could not be read is forgotten: %s", note)
	}
	h.clinic.err, h.clinic.statuses = nil, []instancestatus.Status{{InstanceID: ours}}
	h.poll()
	if note := h.claim("a").Annotations[index.MaintenanceAnnotation]; strings.Contains(note, event.ID) || !strings.Contains(note, reboot) {
		t.Errorf("what status no longer shows is kept, or what a message said is lost: %s", note)
	}
}

func TestAMissingPermissionForStatusIsSaidOnceAndTriedAgain(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours), class())
	h.clinic.err = &cloud.Error{Op: "reading the status of 1 instances", Class: cloud.Denied, Err: errors.New("missing permission ec2:DescribeInstanceStatus")}
	h.poll()
	h.report()
	if c := h.condition("InstanceStatusReady"); c == nil || c.Reason != "AccessDenied" || !strings.Contains(c.Message, "ec2:DescribeInstanceStatus") {
		t.Errorf("condition %+v", c)
	}
	for range 29 {
		h.clock.Step(time.Minute)
		h.poll()
	}
	if n := len(h.clinic.asked); n != 1 {
		t.Errorf("asked %d times within 30 minutes", n)
	}
	h.clock.Step(time.Minute)
	h.poll()
	if n := strings.Count(h.log.String(), "may not be read"); n != 1 || len(h.clinic.asked) != 2 {
		t.Errorf("said %d times, asked %d times", n, len(h.clinic.asked))
	}
	h.clock.Step(30 * time.Minute)
	h.clinic.err = nil
	h.poll()
	h.report()
	if c := h.condition("InstanceStatusReady"); c != nil {
		t.Errorf("condition %+v", c)
	}
}

// Credentials that AWS refuses may be accepted in a minute: instances that fail are not left alone for longer.
func TestRefusedCredentialsDoNotStopTheReadingOfStatus(t *testing.T) {
	h := newTestCluster(t, leadOfADay, nodeClaim("a", ours), class())
	h.clinic.err = &cloud.Error{Op: "reading", Class: cloud.Denied, Reason: awserr.ReasonCredentialsRefused, Err: errors.New("ExpiredToken")}
	if err := h.Poll(t.Context()); err == nil {
		t.Error("no error")
	}
	h.clinic.err = nil
	h.clock.Step(time.Minute)
	h.poll()
	if n := len(h.clinic.asked); n != 2 {
		t.Errorf("asked %d times in two minutes", n)
	}
}

// A leader may die between two calls of the API; what takes the instance is told again to the next one.
func TestADrainThatIsCutShortGetsItsEnd(t *testing.T) {
	at := start.Add(3 * day)
	for name, c := range map[string]struct {
		tell func(h *testCluster)
		end  time.Time
		why  string
	}{
		"spot":                          {func(h *testCluster) { h.deliver(spot(ours, start)) }, start.Add(115 * time.Second), string(queue.SpotInterrupted)},
		"work that was written down":    {func(h *testCluster) { h.clock.SetTime(at.Add(-day)); _ = h.Windows(t.Context()) }, at.Add(-5 * time.Second), string(queue.ScheduledChange)},
		"work that is told of too late": {func(h *testCluster) { h.deliver(health(ours, retirement, "upcoming", start.Add(time.Hour))) }, start.Add(time.Hour - 5*time.Second), string(queue.ScheduledChange)},
		"a reboot":                      {func(h *testCluster) { h.deliver(health(ours, reboot, "upcoming", start.Add(time.Hour))) }, time.Time{}, string(queue.ScheduledChange)},
	} {
		for _, deletions := range []int{0, 1} { // after which the leader dies
			t.Run(fmt.Sprintf("%s, after %d", name, deletions), func(t *testing.T) {
				claim := nodeClaim("a", ours)
				h := newTestCluster(t, leadOfADay, claim, nodeOf(claim))
				if name == "work that was written down" {
					h.deliver(health(ours, retirement, "upcoming", at))
				}
				h.refusal, h.refusesFrom = errors.New("the leader dies here"), deletions
				c.tell(h)
				if h.deleting("a") != (deletions > 0) {
					t.Fatalf("deleting %t", h.deleting("a"))
				}
				h.refusal = nil
				h.Controller = h.controller(leadOfADay, h.Client)
				c.tell(h)
				want := ""
				if !c.end.IsZero() {
					want = stamp(c.end)
				}
				if got := h.deadline("a"); got != want || !h.deleting("a") {
					t.Errorf("the drain has the end %q, want %q; it goes: %t", got, want, h.deleting("a"))
				}
				if got := h.claim("a").Annotations[index.InterruptedAnnotation]; got != c.why {
					t.Errorf("it goes for %q, want %q", got, c.why)
				}
			})
		}
	}
}

func TestAClaimThatLivesOnKeepsNoEnd(t *testing.T) {
	at := start.Add(30 * time.Hour)
	t.Run("when the deletion is refused", func(t *testing.T) {
		h := newTestCluster(t, leadOfADay, nodeClaim("a", ours))
		h.refuseDeletion = true
		h.deliver(health(ours, retirement, "upcoming", at), spot(ours, start))
		h.clock.SetTime(at.Add(-day))
		if err := h.Windows(t.Context()); err == nil {
			t.Error("no error")
		}
		if h.deadline("a") != "" {
			t.Errorf("the end %s is on it", h.deadline("a"))
		}
	})
	marked := func(by time.Time) *karpv1.NodeClaim {
		return nodeClaim("a", ours, func(c *karpv1.NodeClaim) {
			c.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: stamp(by), index.InterruptedAnnotation: string(queue.ScheduledChange)}
		})
	}
	t.Run("when the work is called off", func(t *testing.T) {
		h := newTestCluster(t, leadOfADay, marked(at.Add(-5*time.Second)))
		h.deliver(health(ours, retirement, "upcoming", at))
		h.deliver(health(ours, retirement, "closed", at))
		if got := h.claim("a").Annotations; len(got) != 0 {
			t.Errorf("annotations %v", got)
		}
	})
	t.Run("when it is a minute past", func(t *testing.T) {
		h := newTestCluster(t, leadOfADay, marked(start))
		h.clock.Step(59 * time.Second)
		if h.windows(); h.deadline("a") == "" {
			t.Error("taken off before a minute was over")
		}
		h.clock.Step(time.Second)
		if h.windows(); len(h.claim("a").Annotations) != 0 {
			t.Errorf("annotations %v", h.claim("a").Annotations)
		}
	})
	t.Run("but one that goes does", func(t *testing.T) {
		going := marked(start)
		going.DeletionTimestamp = &metav1.Time{Time: start}
		h := newTestCluster(t, leadOfADay, going)
		h.clock.Step(time.Hour)
		if h.windows(); h.deadline("a") == "" {
			t.Error("the end of a drain was taken off")
		}
	})
}
