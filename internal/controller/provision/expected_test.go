package provision

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// TestPodsThatAreStillToComeDoNotCountAsWaiting, whether decisions leave out their class or have no place for it.
func TestPodsThatAreStillToComeDoNotCountAsWaiting(t *testing.T) {
	for misses, code := range map[int]plan.Code{0: plan.TooLarge, doubted: plan.Unplaceable} {
		t.Run(fmt.Sprint(misses, " misses"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				asked := 0
				h := newTestCluster(t, func(o *Options) {
					o.Missing = func(context.Context, cache.Owner) (int, bool) { asked++; return 3, true }
				})
				h.pool("default")
				owned := func(p *corev1.Pod) {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
				}
				h.pod("a", "1000", owned)
				for i := range misses {
					h.doubts.miss(h.cache.Snapshot().Pending[0].Class.ID, "why", time.Now().Add(time.Duration(i)*oneRound))
				}
				h.run(ctx)
				time.Sleep(time.Second)
				h.pod("b", "1000", owned)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if asked == 0 {
					t.Error("the owner is not asked for what is to come")
				}
				if diff := cmp.Diff(map[plan.Code]int{code: 2}, h.count.unplaced); diff != "" {
					t.Errorf("waiting (-want +got):\n%s", diff)
				}
			})
		})
	}
}
