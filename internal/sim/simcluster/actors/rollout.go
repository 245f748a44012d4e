package actors

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// wanted is how many pods each replica set of a deployment is to have now, by UID, and how many one of the present template that does
// not exist yet (fresh) is to begin with. fresh is the UID of the one that does, or empty.
//
// Source: Kubernetes documentation, Deployments, "Rolling Update Deployment" and "Recreate Deployment": pods of all templates together
// are at most maxSurge more than wanted, rounded up, and those that are available at most maxUnavailable fewer, rounded down. What
// is scaled while it is rolled out is not shared out in proportion.
func wanted(d *appsv1.Deployment, sets []*appsv1.ReplicaSet, fresh types.UID) (each map[types.UID]int32, begin int32) {
	each = map[types.UID]int32{}
	replicas := *d.Spec.Replicas
	var total, available, fromNew, missing int32
	var old []*appsv1.ReplicaSet
	for _, rs := range sets {
		n := *rs.Spec.Replicas
		each[rs.UID] = n
		total += n
		available += min(rs.Status.AvailableReplicas, n)
		if rs.UID == fresh {
			fromNew, missing = n, n-min(rs.Status.AvailableReplicas, n)
		} else {
			old = append(old, rs)
		}
	}
	slices.SortStableFunc(old, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	set := func(n int32) {
		begin = n
		if fresh != "" {
			each[fresh] = n
		}
	}
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		left := int32(0)
		for _, rs := range old {
			each[rs.UID] = 0
			left += rs.Status.Replicas
		}
		set(fromNew)
		if left == 0 {
			set(replicas)
		}
		return each, begin
	}
	surge, unavailable := bounds(d)
	set(min(replicas, max(fromNew, fromNew+replicas+surge-total)))
	least := replicas - unavailable
	spare := total - least - missing
	down := func(rs *appsv1.ReplicaSet, by int32) {
		by = max(0, min(by, each[rs.UID], spare))
		each[rs.UID] -= by
		spare -= by
	}
	for _, rs := range old { // those first that serve nobody
		down(rs, each[rs.UID]-rs.Status.AvailableReplicas)
	}
	over := available - least
	for _, rs := range old {
		before := each[rs.UID]
		down(rs, over)
		over -= before - each[rs.UID]
	}
	return each, begin
}

// bounds of a rolling update, in pods. One of them is positive, or nothing could be replaced.
func bounds(d *appsv1.Deployment) (surge, unavailable int32) {
	quarter := intstr.FromString("25%")
	over, under := &quarter, &quarter
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		over, under = cmp.Or(r.MaxSurge, over), cmp.Or(r.MaxUnavailable, under)
	}
	// The API refuses what is no number, and no percentage.
	s, _ := intstr.GetScaledValueFromIntOrPercent(over, int(*d.Spec.Replicas), true)
	u, _ := intstr.GetScaledValueFromIntOrPercent(under, int(*d.Spec.Replicas), false)
	if s == 0 && u == 0 {
		u = 1
	}
	return int32(s), int32(u)
}
