// Package transitions publishes an event on each NodePool, NodeClaim and EC2NodeClass when one of its conditions gets another
// status, in the words that alerts on Karpenter's events look for: the reason is the condition's type.
package transitions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/guard"
)

// An event is a write to the API. A NodeClaim has some ten transitions in its life, so these bounds cover a scale-up of a
// hundred nodes at once and two nodes a second for as long as it takes. What is beyond is not published: conditions say
// the same.
const (
	perSecond = 20
	burst     = 1000
)

// longest is how many bytes of a message there is room for in an event, by the rule of the newer events API.
const longest = 1024

// Publisher publishes the transitions that it sees while this process leads.
type Publisher struct {
	Recorder         record.EventRecorder
	ReservedCapacity bool            // the feature gate, on which the conditions of a class depend
	Elected          <-chan struct{} // closed once this process leads
	Clock            clock.PassiveClock

	limit *rate.Limiter
}

// Watch follows the three kinds. It is to be called before the cache starts; what was there before is no transition.
func (p *Publisher) Watch(ctx context.Context, informers crcache.Cache) error {
	p.limit = rate.NewLimiter(perSecond, burst)
	for _, kind := range []client.Object{&karpv1.NodePool{}, &karpv1.NodeClaim{}, &awsv1.EC2NodeClass{}} {
		informer, err := informers.GetInformer(ctx, kind, crcache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching the conditions of %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: p.hear}); err != nil {
			return fmt.Errorf("watching the conditions of %T: %w", kind, err)
		}
	}
	return nil
}

// conditions are those of an object, and the types that every object of its kind has from the beginning, as Unknown.
func (p *Publisher) conditions(o any) (all []status.Condition, initial []string) {
	switch o := o.(type) {
	case *karpv1.NodePool:
		s := o.StatusConditions()
		return s.List(), append(s.Dependents(), status.Ready, karpv1.ConditionTypeNodeRegistrationHealthy)
	case *karpv1.NodeClaim:
		s := o.StatusConditions()
		return s.List(), append(s.Dependents(), status.Ready)
	case *awsv1.EC2NodeClass:
		s := o.StatusConditions(p.ReservedCapacity)
		return s.List(), append(s.Dependents(), status.Ready)
	}
	return nil, nil
}

// hear is changed behind a guard: an object that makes it panic must not end the process, as a panic of a handler would.
func (p *Publisher) hear(before, after any) {
	_ = guard.Run("transitions", func() error { p.changed(before, after); return nil }) // a panic is told to the listeners
}

func (p *Publisher) changed(before, after any) {
	select {
	case <-p.Elected:
	default:
		return
	}
	o, ok := after.(client.Object)
	if !ok {
		return
	}
	old, initial := p.conditions(before)
	now, _ := p.conditions(after)
	// What Ready follows from comes first, as a reader of the events looks for the cause.
	now = slices.Clone(now)
	slices.SortStableFunc(now, func(a, b status.Condition) int {
		switch {
		case a.Type == b.Type:
			return 0
		case a.Type == status.Ready:
			return 1
		case b.Type == status.Ready:
			return -1
		}
		return 0
	})
	for i := range now {
		was, known, reason := metav1.ConditionUnknown, slices.Contains(initial, now[i].Type), ""
		if at := slices.IndexFunc(old, func(c status.Condition) bool { return c.Type == now[i].Type }); at >= 0 {
			was, known, reason = old[at].Status, true, old[at].Reason
		}
		if known && was == metav1.ConditionUnknown && stuck(o, &now[i], reason) && p.limit.AllowN(p.Clock.Now(), 1) {
			p.Recorder.Event(o, corev1.EventTypeWarning, now[i].Type, Text(&now[i], was))
			continue
		}
		if !known || was == now[i].Status || !p.limit.AllowN(p.Clock.Now(), 1) {
			continue
		}
		p.Recorder.Event(o, corev1.EventTypeNormal, now[i].Type, Text(&now[i], was))
	}
}

// waiting are the reasons of a condition that is Unknown because nobody has looked yet, or another condition is.
var waiting = []string{"", status.ReasonAwaitingReconciliation, status.ReasonReconcilingDependents, awsv1.ReasonDependenciesNotReady}

// stuck tells whether a class has got a cause for which a condition stays Unknown, such as a role that does not exist: a class that
// was never ready has no transition that would say so.
func stuck(o client.Object, c *status.Condition, reason string) bool {
	_, class := o.(*awsv1.EC2NodeClass)
	return class && c.Status == metav1.ConditionUnknown && c.Reason != reason && !slices.Contains(waiting, c.Reason) && c.Message != ""
}

// Text is the message of a transition. Its form is what users' alerts match.
func Text(c *status.Condition, was metav1.ConditionStatus) string {
	text := fmt.Sprintf("Status condition transitioned, Type: %s, Status: %s -> %s, Reason: %s", c.Type, was, c.Status, c.Reason)
	if c.Message != "" {
		text += ", Message: " + c.Message
	}
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}
