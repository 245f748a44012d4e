package local

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
)

func TestTheClientKnowsEveryKindOfKerf(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{
		&corev1.Pod{}, &karpv1.NodePool{}, &karpv1.NodeClaim{}, &awsv1.EC2NodeClass{}, &v1alpha1.NodeOverlay{}, &autoscalingv1beta1.CapacityBuffer{},
	} {
		if _, err := apiutil.GVKForObject(o, scheme); err != nil {
			t.Error(err)
		}
	}
}
