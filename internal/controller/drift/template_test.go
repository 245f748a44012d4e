package drift_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/controller/drift"
)

func TestAnInstanceDriftsWhenAnotherVersionIsKnownToStandThere(t *testing.T) {
	version := func(n int64) *awsv1.LaunchTemplate {
		return &awsv1.LaunchTemplate{ID: "lt-1", Name: "mine", Version: n}
	}
	for name, tc := range map[string]struct {
		was      string
		named    bool
		now      *awsv1.LaunchTemplate
		ready    metav1.ConditionStatus
		launched bool
		want     drift.Verdict
		words    string
	}{
		"the same version":                          {"lt-1:1", true, version(1), metav1.ConditionTrue, true, drift.Same, ""},
		"another version":                           {"lt-1:1", true, version(2), metav1.ConditionTrue, true, drift.Differs, "lt-1:2"},
		"another template":                          {"lt-0:1", true, version(1), metav1.ConditionTrue, true, drift.Differs, "lt-1:1"},
		"no template any more":                      {"lt-1:1", false, nil, metav1.ConditionTrue, true, drift.Differs, "names none"},
		"a template now":                            {"", true, version(1), metav1.ConditionTrue, true, drift.Differs, "before"},
		"never a template":                          {"", false, nil, metav1.ConditionTrue, true, drift.Same, ""},
		"the template is gone":                      {"lt-1:1", true, version(2), metav1.ConditionFalse, true, drift.Unknown, ""},
		"the template can't be read":                {"lt-1:1", true, version(2), metav1.ConditionUnknown, true, drift.Unknown, ""},
		"the template has never been found":         {"lt-1:1", true, nil, metav1.ConditionTrue, true, drift.Unknown, ""},
		"an instance that is not known to be there": {"", true, version(1), metav1.ConditionTrue, false, drift.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{awsv1.AnnotationLaunchTemplate: tc.was}}}
			if tc.launched {
				claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			}
			class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", Generation: 1}}
			if tc.named {
				class.Spec.LaunchTemplate = &awsv1.LaunchTemplateReference{Name: "mine"}
				class.Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeLaunchTemplateReady, Status: tc.ready, ObservedGeneration: 1}}
			}
			class.Status.LaunchTemplate = tc.now
			message, got := drift.Template(claim, class)
			if got != tc.want || !strings.Contains(message, tc.words) || (got == drift.Differs) != (message != "") {
				t.Errorf("got %d %q, want %d %q", got, message, tc.want, tc.words)
			}
			class.Generation++ // what stands in the status was found for the class as it was before
			if _, got := drift.Template(claim, class); tc.named && got != drift.Unknown {
				t.Errorf("of a class that has just been edited: %d", got)
			}
		})
	}
}
