package statemetrics

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/guard"
)

// Transitions counts and times how conditions change and objects end: what is over can't be read from the state.
type Transitions struct {
	Conditions obs.Conditions
	Elected    <-chan struct{} // closed once this process leads; nothing is counted before
	Buffers    bool            // whether CapacityBuffers are served
	Clock      clock.PassiveClock
}

// Watch follows the kinds. It is to be called before the cache starts; what was there before is no transition.
//
// Errors: a kind that can't be watched.
func (t *Transitions) Watch(ctx context.Context, informers crcache.Cache) error {
	kinds := []client.Object{&karpv1.NodePool{}, &karpv1.NodeClaim{}, &awsv1.EC2NodeClass{}, &corev1.Node{}}
	if t.Buffers {
		kinds = append(kinds, &autoscalingv1beta1.CapacityBuffer{})
	}
	for _, kind := range kinds {
		informer, err := informers.GetInformer(ctx, kind, crcache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching the conditions of %T: %w", kind, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			UpdateFunc: func(before, after any) { t.guarded(func() { t.changed(before, after) }) },
			DeleteFunc: func(o any) { t.guarded(func() { t.ended(o) }) },
		})
		if err != nil {
			return fmt.Errorf("watching the conditions of %T: %w", kind, err)
		}
	}
	return nil
}

// guarded runs f if this process leads. A panic is told to the listeners.
func (t *Transitions) guarded(f func()) {
	select {
	case <-t.Elected:
		_ = guard.Run("metrics.transitions", func() error { f(); return nil })
	default:
	}
}

func (t *Transitions) changed(before, after any) {
	old, ok := before.(metav1.Object)
	now, ok2 := after.(metav1.Object)
	if !ok || !ok2 || old.GetResourceVersion() == now.GetResourceVersion() {
		return
	}
	kind := kindOf(now)
	var was, is [12]condition
	previous := conditionsOf(old, was[:0])
	for _, c := range conditionsOf(now, is[:0]) {
		for _, o := range previous {
			if o.name == c.name && o.status != c.status {
				t.Conditions.Changed(kind, c.name, o.status, c.status, c.reason, max(0, c.since.Sub(o.since)), valuesOf(kind, now))
			}
		}
	}
}

func (t *Transitions) ended(o any) {
	if lost, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = lost.Obj
	}
	obj, ok := o.(metav1.Object)
	if !ok || obj.GetDeletionTimestamp() == nil {
		return
	}
	kind := kindOf(obj)
	t.Conditions.Ended(kind, max(0, t.Clock.Since(obj.GetDeletionTimestamp().Time)).Truncate(time.Millisecond), valuesOf(kind, obj))
}

func kindOf(o metav1.Object) string { return reflect.TypeOf(o).Elem().Name() }

// valuesOf are those of the object's labels that its kind's metrics have.
func valuesOf(kind string, o metav1.Object) []string {
	for i := range obs.Kinds {
		if k := &obs.Kinds[i]; k.Name == kind {
			out := make([]string, len(k.Labels))
			for j, label := range k.Labels {
				out[j] = o.GetLabels()[label]
			}
			return out
		}
	}
	return nil
}
