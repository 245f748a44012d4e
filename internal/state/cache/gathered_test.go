package cache

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestWhatCameAndWentIsForgottenWithTheNextSnapshot: it is all that a replica has to do that decides nothing.
func TestWhatCameAndWentIsForgottenWithTheNextSnapshot(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	c := New(Options{Now: func() time.Time { return now }, DefaultSpreads: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}})
	c.Snapshot()
	const rounds = 1000
	for i := range rounds {
		name, version := fmt.Sprint("x", i), fmt.Sprint(i+1)
		meta := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: version}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
		pod := &corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{NominatedNodeName: name}}
		service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": name}}}
		c.SetNode(node)
		c.SetPod(pod)
		c.SetService(service)
		c.RemoveService(service)
		c.RemovePod(pod)
		c.RemoveNode(node)
		now = now.Add(time.Second)
	}
	gathered := func() (units, nominations, services int) {
		for _, b := range c.spreads.dirty {
			services += len(b.services)
		}
		return len(c.dirty), len(c.lately), services
	}
	if units, nominations, services := gathered(); units < rounds || nominations < rounds || services < rounds {
		t.Fatalf("before the snapshot %d units, %d nominations and %d Services are noted; want %d of each at least, or this test shows nothing", units, nominations, services, rounds)
	}
	now = now.Add(nominatedGrace)
	c.Snapshot()
	if units, nominations, services := gathered(); units > 0 || nominations > 0 || services > 0 {
		t.Errorf("after the snapshot %d units, %d nominations and %d Services are noted still", units, nominations, services)
	}
}
