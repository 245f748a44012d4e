package disrupt

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestAChangeOfAStatusIsWhatTheLibraryMakesOfIt(t *testing.T) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: "7", Labels: map[string]string{"x": "y"}}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "g", Kind: "k", Name: "n"}
	claim.Status.ProviderID = "aws:///a/i-1"
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	next := claim.DeepCopy()
	next.StatusConditions().SetTrue(karpv1.ConditionTypeConsolidatable)
	next.Status.LastPodEventTime = metav1.NewTime(time.Unix(1000, 0))
	for _, pair := range [][2]*karpv1.NodeClaim{{claim, next}, {next, claim}, {claim, claim.DeepCopy()}} {
		want, err := client.MergeFromWithOptions(pair[0], client.MergeFromWithOptimisticLock{}).Data(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := statusFrom{pair[0]}.Data(pair[1])
		if err != nil || string(got) != string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if next.Spec.NodeClassRef == nil || next.ResourceVersion != "7" {
		t.Error("the object was changed")
	}
}
