package actors

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestRollouts plays rollouts in which pods of the new template are available one step after they are created. A step is written
// as "old/new".
func TestRollouts(t *testing.T) {
	rolling := func(surge, unavailable string) appsv1.DeploymentStrategy {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
	}
	for name, c := range map[string]struct {
		replicas, old int32
		strategy      appsv1.DeploymentStrategy
		never         bool // pods of the new template are never available
		want          []string
	}{
		"a quarter more and a quarter less by default": {10, 10, appsv1.DeploymentStrategy{}, false, []string{"8/3", "5/5", "5/8", "3/8", "0/10"}},
		"one at a time":                 {3, 3, rolling("1", "0"), false, []string{"3/1", "2/1", "2/2", "1/2", "1/3", "0/3"}},
		"none more":                     {4, 4, rolling("0", "50%"), false, []string{"2/0", "2/2", "0/2", "0/4"}},
		"neither more nor less":         {2, 2, rolling("0", "0"), false, []string{"1/0", "1/1", "0/1", "0/2"}},
		"what never gets ready":         {10, 10, appsv1.DeploymentStrategy{}, true, []string{"8/3", "8/5"}},
		"all ended first":               {3, 3, appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, false, []string{"0/0", "0/3"}},
		"a deployment that is new":      {5, 0, appsv1.DeploymentStrategy{}, false, []string{"0/5"}},
		"a deployment that is set to 0": {0, 4, appsv1.DeploymentStrategy{}, false, []string{"0/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &c.replicas, Strategy: c.strategy}}
			set := func(uid types.UID, age time.Duration, n int32) *appsv1.ReplicaSet {
				rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{UID: uid, CreationTimestamp: metav1.NewTime(time.Unix(0, 0).Add(-age))}, Spec: appsv1.ReplicaSetSpec{Replicas: &n}}
				rs.Status = appsv1.ReplicaSetStatus{Replicas: n, AvailableReplicas: n}
				return rs
			}
			old := set("old", time.Hour, c.old)
			_, begin := wanted(d, []*appsv1.ReplicaSet{old}, "")
			fresh := set("new", 0, 0)
			fresh.Spec.Replicas = &begin
			var got []string
			for range 20 {
				each, _ := wanted(d, []*appsv1.ReplicaSet{fresh, old}, "new")
				step := fmt.Sprintf("%d/%d", each["old"], each["new"])
				if len(got) == 0 || got[len(got)-1] != step {
					got = append(got, step)
				}
				for _, rs := range []*appsv1.ReplicaSet{old, fresh} {
					n := each[rs.UID]
					rs.Status.Replicas = n
					rs.Status.AvailableReplicas = min(*rs.Spec.Replicas, n) // what was there before
					if rs == fresh && c.never {
						rs.Status.AvailableReplicas = 0
					}
					rs.Spec.Replicas = &n
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
