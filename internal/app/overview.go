package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	awsqueue "github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/version"
)

// newOverview makes what people look at the cluster through, and has it told of events.
func (d *deps) newOverview(queue *disrupt.Queue, consolidation *disrupt.Loop, drains *terminate.Nodes) *overview.Overview {
	problems := d.problems("overview")
	out := overview.New(overview.Sources{
		Kerf: version.Version, Cluster: d.ClusterName, Region: d.provider.Region(), Account: d.provider.Account, Currency: d.currency,
		Snapshot: d.cache.Snapshot, Pools: problems.Pools, Problem: problems.Problem, Decision: consolidation.Found, UnderWay: queue.UnderWay,
		Held:  func() (time.Time, string, bool) { return consolidation.Breaker.Open(time.Now()) },
		Usual: d.usualPrices, Closures: d.closures, Services: d.answering, Queue: d.queueNow, Troubles: d.troubles, Decisions: d.ring.List, Now: time.Now,
		Interrupted: d.interrupted, Joins: d.joins, GivesUp: d.RegistrationTimeout,
		Stalls: func() (out []overview.Stall) {
			for _, s := range drains.Stalls() {
				out = append(out, overview.Stall{Node: s.Node, Text: s.Text, Since: s.Since.UTC(), Reason: s.Reason})
			}
			return out
		},
	})
	d.ring.SetNodes(func(name string) (record.Now, bool) {
		now, known := d.nodeNow(name)
		if known && now.Drifted != nil {
			now.Drifted.Held = consolidation.HeldUp(now.Node.Name, now.Node.Pool)
		}
		if known && now.Node.Deleting {
			for _, s := range drains.Stalls() {
				if s.Node == now.Node.Name {
					now.Stalled = s.Text
				}
			}
		}
		return now, known
	})
	d.events.Heard = func(object runtime.Object, eventType, reason, message string) {
		out.Heard(object, eventType, reason, message)
		d.ring.Heard(object, reason, message)
	}
	if d.overview != nil {
		d.overview(out)
	}
	return out
}

// currency is that of all prices: AWS charges in one in a region.
func (d *deps) currency() catalog.Currency { return catalog.Currency(d.provider.Prices().Currency) }

// problems makes what makes inputs of decisions for somebody who only looks, by the name of its logger. Each has one to itself, as one
// goroutine at a time may ask it.
func (d *deps) problems(logger string) *provision.Problems {
	return &provision.Problems{
		State: d.cache, Types: d.gate, Overlays: d.overlays, Pack: PackOptions(d.Settings), Currency: d.currency, Now: time.Now, Late: func() {},
		Recover: func(name string, fn func() error) error { return d.metrics.Recover(d.logger(logger), name, fn) },
	}
}

// serveOverview serves it to those who may read. Each replica keeps the history, so that it is not lost when another one leads.
// On a replica that does not lead, nothing else takes snapshots, and what changed is kept in the cache until the next: see Cache.Snapshot.
func (d *deps) serveOverview(o *overview.Overview) []error {
	guarded := d.readers.Guard(overview.Handler(o))
	return []error{
		d.AddMetricsServerExtraHandler(overview.Path, guarded),
		d.AddMetricsServerExtraHandler(overview.ProblemPath, guarded),
		d.Add(everywhere(func(ctx context.Context) error {
			if wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) { return d.synced(), nil }) == nil {
				o.Start(ctx, d.clock())
			}
			return nil
		})),
	}
}

// joins is how long half of the nodes took from their NodeClaim to being ready, as the conditions of the NodeClaims tell.
func (d *deps) joins(s *cluster.Snapshot) time.Duration {
	var took []time.Duration
	for _, n := range s.Nodes {
		if n.Claim == "" || !n.Initialized {
			continue
		}
		claim := d.cache.Claim(n.Claim)
		if claim == nil {
			continue
		}
		if c := claim.StatusConditions().Get(karpv1.ConditionTypeInitialized); c.IsTrue() {
			took = append(took, c.LastTransitionTime.Sub(claim.CreationTimestamp.Time))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// closures are what is not asked of EC2 at the moment.
func (d *deps) closures() []overview.Closure {
	out := []overview.Closure{}
	for _, c := range d.provider.Unavailable() {
		shown := overview.Closure{Scope: c.Scope, CapacityType: c.CapacityType, Reason: c.Reason, Count: c.Count, Opens: c.Opens.UTC(), Policy: c.Policy, InstanceTypes: c.InstanceTypes}
		for _, q := range c.Quotas {
			shown.Quotas = append(shown.Quotas, quotaInUse(q, d.cache.Snapshot().Nodes))
		}
		out = append(out, shown)
	}
	slices.SortFunc(out, func(a, b overview.Closure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Scope+a.CapacityType+a.Reason, b.Scope+b.CapacityType+b.Reason))
	})
	return out
}

// quotaInUse is a quota with what the nodes that Kerf launched have of it, where EC2 counts it in vCPUs.
func quotaInUse(q offering.Quota, nodes []*cluster.Node) overview.Quota {
	out := overview.Quota{Name: q.Name, Code: q.Code, Limit: q.Limit}
	if q.Code == "" {
		return out
	}
	vcpus := 0
	for _, n := range nodes {
		if n.Claim != "" && n.Launched && offering.QuotaOf(n.CapacityType, n.InstanceType).Code == q.Code {
			vcpus += int(n.Capacity[res.CPU] / 1000)
		}
	}
	out.InUse = &vcpus
	return out
}

// usualPrices are those of NodeClaims that were made while EC2 was short of cheaper capacity.
func (d *deps) usualPrices() map[string]catalog.MicroUSD {
	out := map[string]catalog.MicroUSD{}
	for name, claim := range d.cache.ClaimsWith(apply.UsualPriceAnnotation) {
		if price, err := strconv.ParseFloat(claim.Annotations[apply.UsualPriceAnnotation], 64); err == nil && price > 0 {
			out[name] = catalog.MicroUSD(price*1e6 + 0.5)
		}
	}
	return out
}

// answering are the AWS services that were called.
func (d *deps) answering() []overview.Service {
	var out []overview.Service
	for _, s := range d.services.States() {
		shown := overview.Service{Name: s.Service, Answers: s.Answers, Since: s.Since}
		if !s.Answers {
			shown.Error = s.Operation + ": " + cloud.Lasting(s.Error)
		}
		out = append(out, shown)
	}
	return out
}

// queueNow is the interruption queue as the conditions of EC2NodeClasses tell; nil where none is set.
func (d *deps) queueNow(ctx context.Context) *overview.Queue {
	if d.InterruptionQueue == "" {
		return nil
	}
	out := &overview.Queue{Name: d.InterruptionQueue}
	var classes awsv1.EC2NodeClassList
	if err := d.GetClient().List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		return out
	}
	for i := range classes.Items {
		if c := classes.Items[i].StatusConditions(d.FeatureGates.ReservedCapacity).Get(awsv1.ConditionTypeInterruptionQueueReady); c != nil {
			out.Ready, out.Message = c.Status == metav1.ConditionTrue, c.Message
		}
	}
	return out
}

// interruptedKinds are the kinds of news by which AWS takes instances back, as the annotation on their claims names them.
var interruptedKinds = map[awsqueue.Kind]overview.InterruptionKind{
	awsqueue.SpotInterrupted: overview.SpotTaken, awsqueue.RebalanceRecommended: overview.RiskRaised,
	awsqueue.ReservationInterrupted: overview.ReservationTaken, awsqueue.ScheduledChange: overview.WorkScheduled,
}

// interrupted are the nodes whose claims say that AWS takes their instances back or works on them.
func (d *deps) interrupted(s *cluster.Snapshot) (out []overview.Interruption) {
	claims := d.cache.ClaimsWith(index.InterruptedAnnotation, index.MaintenanceAnnotation)
	if len(claims) == 0 {
		return nil
	}
	for _, n := range s.Nodes {
		claim := claims[n.Claim]
		if claim == nil {
			continue
		}
		why, taken := claim.Annotations[index.InterruptedAnnotation]
		work, begins, scheduled := interruption.Scheduled(claim)
		if !taken && !scheduled {
			continue
		}
		news := awsqueue.ScheduledChange
		if taken {
			news = awsqueue.Kind(why)
		}
		x := overview.Interruption{
			Node: n.Name, Claim: n.Claim, Kind: cmp.Or(interruptedKinds[news], overview.TakenOtherwise), Event: interruption.EventOf(news), Until: begins, Work: work,
		}
		if x.Kind != overview.WorkScheduled {
			x.Until, _ = deadline.Of(claim)
			x.Work = ""
		}
		if !n.Deleting {
			if x.Kind == overview.WorkScheduled {
				x.From = begins.Add(-d.MaintenanceLead)
			}
			out = append(out, x)
			continue
		}
		if !claim.DeletionTimestamp.IsZero() {
			x.Since = claim.DeletionTimestamp.UTC()
		}
		x.Room = overview.RoomReady
		switch homeless, coming := d.cache.AwaitingReplacement(n.Name); {
		case coming:
			x.Room = overview.RoomComing
		case homeless:
			x.Room = overview.RoomSought
		}
		out = append(out, x)
	}
	return out
}

// settledIn is how long a NodeClaim's conditions may be as they are at its start: images of EKS take one to two minutes to become nodes.
const settledIn = 2 * time.Minute

// troubles are conditions that are not as they should be: of NodePools, EC2NodeClasses, and NodeClaims that do not get ready.
func (d *deps) troubles(ctx context.Context) []overview.Trouble {
	var out []overview.Trouble
	for _, p := range d.cache.Pools() {
		out = append(out, failing("NodePool", p.Name, classOf(p.Spec.Template.Spec.NodeClassRef), p.StatusConditions())...)
	}
	var classes awsv1.EC2NodeClassList
	if err := d.GetClient().List(ctx, &classes, client.UnsafeDisableDeepCopy); err == nil {
		for i := range classes.Items {
			c := &classes.Items[i]
			for _, t := range failing("EC2NodeClass", c.Name, "", c.StatusConditions(d.FeatureGates.ReservedCapacity)) {
				t.Value = selectorOf(c, t.Condition)
				out = append(out, t)
			}
		}
	}
	now := time.Now()
	for _, n := range d.cache.Snapshot().Nodes {
		if n.Claim == "" || n.Initialized || n.Deleting {
			continue
		}
		if claim := d.cache.Claim(n.Claim); claim != nil && (now.Sub(n.CreatedAt) >= settledIn || launchFails(claim)) {
			out = append(out, failing("NodeClaim", claim.Name, classOf(claim.Spec.NodeClassRef), claim.StatusConditions())...)
		}
	}
	return out
}

// selectorOf is what the field of a class says that a condition is about, as JSON; empty where there is none, or it is long.
func selectorOf(c *awsv1.EC2NodeClass, condition string) string {
	var terms any
	switch condition {
	case awsv1.ConditionTypeSubnetsReady:
		terms = c.Spec.SubnetSelectorTerms
	case awsv1.ConditionTypeSecurityGroupsReady:
		terms = c.Spec.SecurityGroupSelectorTerms
	case awsv1.ConditionTypeAMIsReady:
		terms = c.Spec.AMISelectorTerms
	case awsv1.ConditionTypeCapacityReservationsReady:
		terms = c.Spec.CapacityReservationSelectorTerms
	default:
		return ""
	}
	text, err := json.Marshal(terms)
	if err != nil || len(text) > selectorMost {
		return ""
	}
	return string(text)
}

// selectorMost is how long a selector may be that a line quotes, in bytes.
const selectorMost = 300

// launchFails reports whether a launch has failed and is tried again.
func launchFails(claim *karpv1.NodeClaim) bool {
	c := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched)
	return c.IsUnknown() && c.Reason != status.ReasonAwaitingReconciliation
}

func classOf(ref *karpv1.NodeClassReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// failing are the conditions of an object that are not true; the root where it is the only one.
func failing(kind, name, class string, conditions status.Set) []overview.Trouble {
	var parts, root []overview.Trouble
	for _, c := range conditions.List() {
		bad := c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown && kind == "NodeClaim"
		if !bad || c.Message == "" && c.Reason == "" {
			continue
		}
		t := overview.Trouble{Kind: kind, Name: name, Class: class, Condition: c.Type, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC()}
		if c.Type == status.Ready {
			root = append(root, t)
		} else {
			parts = append(parts, t)
		}
	}
	if len(parts) > 0 {
		return parts
	}
	return root
}
