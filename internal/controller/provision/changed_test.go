package provision

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// TestAPoolThatIsChangedWhileItIsDecidedIsDecidedOnAgain, at once, and its node is that of the new template.
func TestAPoolThatIsChangedWhileItIsDecidedIsDecidedOnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var h *testCluster
		taint := func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
		}
		tainted := true
		h = newTestCluster(t, func(o *Options) {
			o.Solve = func(p *pack.Problem) *plan.Plan {
				out := pack.Solve(p)
				if tainted {
					tainted = false
					h.pool("default")
				}
				return out
			}
		})
		h.pool("default", taint)
		h.pod("p", "500m", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} })
		h.run(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		claims := h.claims()
		if len(claims) != 1 || len(claims[0].Spec.Taints) != 0 || h.count.refused[apply.PoolChanged] != 1 {
			t.Errorf("refused %v, claims %+v", h.count.refused, claims)
		}
	})
}

// TestARefusalForAChangedPoolIsTriedAgainSoon, whether or not the state tells of a change.
func TestARefusalForAChangedPoolIsTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t, func(o *Options) { o.Applier = refuses(apply.PoolChanged) })
		h.pool("default")
		h.pod("p", "500m")
		if wait := h.step(t.Context()); wait > time.Second {
			t.Errorf("it is decided again after %s", wait)
		}
	})
}

// refuses is an Applier that refuses one action for a reason.
type refuses apply.RefusalCode

func (r refuses) Apply(context.Context, *plan.Plan, []*cluster.Pool) apply.Outcome {
	return apply.Outcome{Refused: []apply.Refusal{{Code: apply.RefusalCode(r)}}}
}
func (refuses) PoolEvent(_, _ string) {}
