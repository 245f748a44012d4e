package actors

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPodsThatAreAlikeAreRefusedTogether: what is remembered of those that were refused binds each pod where it is bound if each is tried at
// each node.
func TestPodsThatAreAlikeAreRefusedTogether(t *testing.T) {
	for seed := range uint64(3000) {
		with, without := bindings(seed, false), bindings(seed, true)
		if !maps.Equal(with, without) {
			t.Fatalf("seed %d: with what is remembered %v, without %v", seed, with, without)
		}
	}
}

// bindings puts drawn pods on drawn nodes and tells where each is.
func bindings(seed uint64, forget bool) map[string]string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := &board{expected: map[*corev1.Pod]*seat{}, needs: map[types.UID]needs{}, full: map[types.UID]bool{}}
	for i := range 1 + r.IntN(5) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(1+r.IntN(6)), ""), corev1.ResourcePods: resource.MustParse("10")}
		if r.IntN(3) == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "closed", Effect: corev1.TaintEffectNoSchedule}}
		}
		b.seats = append(b.seats, newSeat(n, nil))
	}
	var pods []*corev1.Pod
	for i := range 12 {
		set := r.IntN(3)
		uid, cpu := types.UID(fmt.Sprint("set-", set)), int64(1+(int(seed)>>set)%3)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("p", i)), OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: uid, Controller: new(true)}}}}
		p.Spec.Priority = new(int32(-set % 2))
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cpu, "")}}}}
		b.needs[p.UID] = needsOf(p)
		if r.IntN(2) == 0 {
			s := b.seats[r.IntN(len(b.seats))]
			s.due, b.expected[p] = append(s.due, p), s
		}
		pods = append(pods, p)
	}
	(&Actors{}).inTurn(pods)
	out := map[string]string{}
	for _, p := range pods {
		if forget {
			clear(b.full)
		}
		if s := b.best(&Actors{}, p); s != nil {
			b.leave(p, s)
			s.take(p, b.needs[p.UID])
			out[p.Name] = s.node.Name
		}
	}
	return out
}
