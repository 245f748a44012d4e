package cache

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodWaitsForAClaimThatOnePodMayUse(t *testing.T) {
	for name, tt := range map[string]struct {
		mode corev1.PersistentVolumeAccessMode
		then func(r *rig)
		user string
	}{
		"another has it":                 {corev1.ReadWriteOncePod, func(*rig) {}, `pod "a"`},
		"another has it, of many":        {corev1.ReadWriteOnce, func(*rig) {}, ""},
		"it was given up":                {corev1.ReadWriteOncePod, func(r *rig) { r.RemovePod(r.entries[podKey{Namespace: "ns", Name: "a"}].obj) }, ""},
		"its user has ended":             {corev1.ReadWriteOncePod, func(r *rig) { r.pod("a", uses("data"), bound("n0"), over) }, ""},
		"its user ends soon":             {corev1.ReadWriteOncePod, func(r *rig) { r.pod("a", uses("data"), bound("n0"), ends) }, ""},
		"its user has long to end":       {corev1.ReadWriteOncePod, func(r *rig) { r.pod("a", uses("data"), bound("n0"), ends, within(600)) }, `pod "a"`},
		"the first of its users by name": {corev1.ReadWriteOncePod, func(r *rig) { r.pod("0", uses("data"), bound("n1")) }, `pod "0"`},
		"the pod has it by now":          {corev1.ReadWriteOncePod, func(r *rig) { r.pod("b", uses("data"), bound("n0")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "y"}},
				Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{tt.mode}}}
			r.version(pvc)
			r.SetVolumeClaim(pvc)
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
			r.version(pv)
			r.SetVolume(pv)
			r.pod("b", uses("data"))
			r.pod("a", uses("data"))
			r.pod("a", uses("data"), bound("n0"))
			r.Snapshot()
			tt.then(r)
			if got := r.entries[podKey{Namespace: "ns", Name: "b"}].pod.Class.Unplaceable; (got == "") != (tt.user == "") || !strings.Contains(got, tt.user) {
				t.Errorf("it is refused because %q, want %q", got, tt.user)
			}
			if e := r.entries[podKey{Namespace: "ns", Name: "a"}]; e != nil && e.pod.Class.Unplaceable != "" {
				t.Errorf("the pod that uses the claim is refused: %s", e.pod.Class.Unplaceable)
			}
		})
	}
}

func over(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func within(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = &seconds }
}
