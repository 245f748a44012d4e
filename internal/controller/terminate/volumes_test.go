package terminate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// attached is the attachment of a persistent volume, or of one that has no object when volume is empty.
func attached(volume string) *storagev1.VolumeAttachment {
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "attached-" + volume}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n"}}
	if volume != "" {
		va.Spec.Source.PersistentVolumeName = &volume
	}
	return va
}

func TestAnInstanceWaitsForVolumesThatCanBeDetached(t *testing.T) {
	stays := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	uses := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}
	usesOwn := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	}
	bound := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	for name, c := range map[string]struct {
		pods    []corev1.Pod
		objects []client.Object
		ends    time.Duration
		after   time.Duration // poll: the instance is ended
		reason  string        // of the condition VolumesDetached
	}{
		"nothing is attached":                      {after: poll, reason: "VolumesDetached"},
		"a volume is":                              {objects: []client.Object{attached("pv")}, after: unseen, reason: karpv1.ReasonAwaitingVolumeDetachment},
		"one without an object is":                 {objects: []client.Object{attached("")}, after: poll, reason: "VolumesDetached"},
		"one of a pod that stays is":               {pods: []corev1.Pod{pod("a", stays, uses)}, objects: []client.Object{attached("pv"), bound("data", "pv")}, after: poll, reason: "VolumesDetached"},
		"that of another claim is":                 {pods: []corev1.Pod{pod("a", stays, uses)}, objects: []client.Object{attached("pv"), bound("data", "other")}, after: unseen, reason: karpv1.ReasonAwaitingVolumeDetachment},
		"a pod's own volume is, and the pod stays": {pods: []corev1.Pod{pod("a", stays, usesOwn)}, objects: []client.Object{attached("pv"), bound("a-own", "pv")}, after: poll, reason: "VolumesDetached"},
		"one of a pod that is stuck is":            {pods: []corev1.Pod{pod("a", uses, ending(-stuck, 30))}, objects: []client.Object{attached("pv"), bound("data", "pv")}, after: poll, reason: "VolumesDetached"},
		"the instance's end is near":               {objects: []client.Object{attached("pv")}, ends: settle + 20*time.Second, after: 20 * time.Second, reason: karpv1.ReasonAwaitingVolumeDetachment},
		"the instance's end has come":              {objects: []client.Object{attached("pv")}, ends: settle, after: poll, reason: karpv1.ReasonTerminationGracePeriodElapsed},
	} {
		t.Run(name, func(t *testing.T) {
			w := admit(t, c.ends, c.pods...)
			w.tainted(noon)
			for _, o := range c.objects {
				if err := w.Client.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			_, after := w.look(settle)
			if ended := len(w.instance) == 1; after != c.after || ended != (c.after == poll) {
				t.Errorf("looks again after %s, want %s; the instance was ended: %t", after, c.after, ended)
			}
			if got := w.claim().StatusConditions().Get(karpv1.ConditionTypeVolumesDetached); got == nil || got.Reason != c.reason {
				t.Errorf("condition %+v, want reason %s", got, c.reason)
			}
		})
	}
}
