package cache

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func TestAPodAwaitsTheTurnOfTheNodeThatIsForIt(t *testing.T) {
	r := newRig()
	old := newNode("old", "uid-old", "id-old")
	old.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized"}
	r.version(old)
	r.SetNode(old)
	claim := r.claim("c0")
	r.Assume(claim, intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}}, []cluster.PodRef{r.pod("p0", bound("old"))}, r.clock.Add(time.Hour))
	r.pod("p1", bound("old"))
	claim = claim.DeepCopy()
	launch(claim)
	r.version(claim)
	r.SetClaim(claim)
	for _, awaits := range []bool{true, false} {
		node := newNode("n0", "uid-n0", "id-1")
		if awaits {
			node.Spec.Taints = []corev1.Taint{intake.TurnTaint("3")}
		}
		r.version(node)
		r.SetNode(node)
		for pod, want := range map[types.UID]bool{"uid-p0": awaits, "uid-p1": false} {
			if got := r.AwaitsTurn(pod); got != want {
				t.Errorf("%s awaits a turn: %v, want %v; the node awaits its turn: %v", pod, got, want, awaits)
			}
		}
	}
}
