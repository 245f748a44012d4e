package intake

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// shapesOf is a Shapes of one PodTemplate "t" and one Deployment "web" with so many replicas; pods ask for 500m cpu by
// their limits.
type shapesOf struct{ replicas int32 }

func bufferTemplateSpec() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("500m")}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "nobody-made-it"}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}},
		},
	}
}

func (s shapesOf) PodTemplate(_, name string) *corev1.PodTemplate {
	if name != "t" {
		return nil
	}
	return &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 3}, Template: bufferTemplateSpec()}
}

func (s shapesOf) Workload(kind, _, name string) *Workload {
	if kind != "Deployment" || name != "web" {
		return nil
	}
	t := bufferTemplateSpec()
	return &Workload{Template: &t, Replicas: s.replicas}
}

func TestABufferComesToANumberOfPodsOrSaysWhatIsWrong(t *testing.T) {
	template := &autoscalingv1beta1.LocalObjectRef{Name: "t"}
	web := &autoscalingv1beta1.ScalableRef{APIGroup: "apps", Kind: "Deployment", Name: "web"}
	limits := func(name, amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}
	}
	for sentence, tt := range map[string]struct {
		spec    autoscalingv1beta1.CapacityBufferSpec
		scale   int32
		want    int32
		reason  string
		message string
	}{
		"replicas count":                            {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Replicas: new(int32(4))}, want: 4},
		"a percentage is of the workload, up":       {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: web, Percentage: new(int32(25))}, scale: 5, want: 2},
		"a percentage is at least one pod":          {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: web, Percentage: new(int32(10))}, want: 1},
		"of both the larger counts":                 {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: web, Percentage: new(int32(50)), Replicas: new(int32(3))}, scale: 10, want: 5},
		"limits cap replicas":                       {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Replicas: new(int32(9)), Limits: limits("cpu", "1200m")}, want: 2},
		"limits alone decide":                       {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Limits: limits("cpu", "4")}, want: 8},
		"limits on pods count pods":                 {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Limits: limits("pods", "6")}, want: 6},
		"limits below one pod leave none":           {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Limits: limits("cpu", "100m")}},
		"no number at all is none":                  {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: web}, scale: 7},
		"an absurd number is cut and told":          {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Replicas: new(int32(math.MaxInt32))}, want: maxBufferPods, message: "of 2147483647"},
		"limits that bound nothing are a mistake":   {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: template, Limits: limits("example.com/gpu", "4")}, reason: "ResolutionFailed", message: "limits name no resource"},
		"a template that is not there is named":     {spec: autoscalingv1beta1.CapacityBufferSpec{PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: "x"}, Replicas: new(int32(1))}, reason: "PodTemplateNotFound", message: `"x"`},
		"a workload that is not there is named":     {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: &autoscalingv1beta1.ScalableRef{Kind: "Deployment", Name: "x"}}, reason: "ScalableRefNotFound", message: `"x"`},
		"a kind that can't be followed is named":    {spec: autoscalingv1beta1.CapacityBufferSpec{ScalableRef: &autoscalingv1beta1.ScalableRef{APIGroup: "batch", Kind: "Job", Name: "x"}}, reason: "ResolutionFailed", message: "Job"},
		"without either reference nothing is known": {spec: autoscalingv1beta1.CapacityBufferSpec{Replicas: new(int32(1))}, reason: "ResolutionFailed", message: "set one of them"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: "u"}, Spec: tt.spec}
			got := ResolveBuffer(b, shapesOf{tt.scale})
			if tt.reason == "" {
				tt.reason = autoscalingv1beta1.ReasonResolved
			}
			if got.Reason != tt.reason || got.Replicas != tt.want || !strings.Contains(got.Message, tt.message) {
				t.Errorf("%d pods, reason %s, message %q; want %d, %s, %q", got.Replicas, got.Reason, got.Message, tt.want, tt.reason, tt.message)
			}
		})
	}
}

func TestVirtualPodsAreLikeRealOnesButOfAClassOfTheirOwn(t *testing.T) {
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: "u"}}
	template := bufferTemplateSpec()
	compiler := NewCompiler()
	pods := VirtualPods(b, &Buffer{Template: &template, Replicas: 2}, compiler, NoLookup{})
	if len(pods) != 2 || pods[1].String() != "ns/capacity-buffer-b-1" || pods[1].UID != "u-1" {
		t.Fatalf("pods %v", pods)
	}
	class := pods[0].Class
	if class != pods[1].Class || !class.Virtual || class.Priority != math.MinInt32 || class.Unplaceable != "" {
		t.Errorf("class %+v", class)
	}
	if diff := cmp.Diff(res.List{"cpu": 500, "pods": 1}, class.Requests); diff != "" {
		t.Error(diff)
	}
	if class.ID != class.Hash() {
		t.Errorf("ID %s is not the hash %s of the class", class.ID, class.Hash())
	}
	if other := compiler.Class(VirtualPod(b, &template, 0), NoLookup{}); other.Virtual || other.ID == class.ID {
		t.Errorf("a pod of the same look that exists shares the class")
	}
}
