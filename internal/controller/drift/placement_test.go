package drift

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
)

func TestInstancesDriftFromTheirPlacementGroupOnlyWhenItIsKnown(t *testing.T) {
	is := func(state metav1.ConditionStatus, generation int64) status.Condition {
		return status.Condition{Type: awsv1.ConditionTypePlacementGroupReady, Status: state, ObservedGeneration: generation}
	}
	known := is(metav1.ConditionTrue, 2)
	for name, c := range map[string]struct {
		stands, selected string
		none             bool // the class selects none
		condition        status.Condition
		want             Verdict
	}{
		"it is the selected one":                        {"pg-1", "pg-1", false, known, Same},
		"neither has one":                               {"", "", true, known, Same},
		"another was made under its name":               {"pg-1", "pg-2", false, known, Differs},
		"none is selected any more":                     {"pg-1", "", true, known, Differs},
		"Karpenter found the one that is selected":      {"pg-1", "", false, known, Unknown},
		"the instance stands in none":                   {"", "pg-1", false, known, Differs},
		"EC2 could not be asked":                        {"pg-1", "", false, is(metav1.ConditionUnknown, 2), Unknown},
		"the group is gone":                             {"pg-1", "", false, is(metav1.ConditionFalse, 2), Unknown},
		"what is known is of the class before its edit": {"pg-1", "pg-2", false, is(metav1.ConditionTrue, 1), Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			claim, class := pair(func(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) {
				if c.stands != "" {
					claim.Labels[awsv1.LabelPlacementGroupID] = c.stands
				}
				if !c.none {
					class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "group"}
				}
				if c.selected != "" {
					class.Status.PlacementGroup = &awsv1.PlacementGroup{ID: c.selected, Strategy: "cluster"}
				}
				class.Status.Conditions = append(class.Status.Conditions, c.condition)
			})
			message, got := PlacementGroup(claim, class)
			if got != c.want || (got == Differs) != (message != "") {
				t.Errorf("verdict %v (%s), want %v", got, message, c.want)
			}
			reason, _, _ := judge(subject{claim: claim, class: class}, "")
			if want := map[bool]string{true: awsv1.ReasonPlacementGroupDrift}[c.want == Differs]; reason != want {
				t.Errorf("the claim is marked %q, want %q", reason, want)
			}
		})
	}
}
