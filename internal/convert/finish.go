package convert

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// finish checks an object and writes it.
func (c *converter) finish(object any, f *fields) []byte {
	var errs field.ErrorList
	var warnings []string
	var what string
	switch o := object.(type) {
	case *awsv1.EC2NodeClass:
		errs, warnings = o.Validate()
		what = "EC2NodeClass " + o.Name + " "
	case *karpv1.NodePool:
		errs, warnings = o.Validate(karpv1.CoreLabelRules().With(awsv1.WellKnownLabels(), awsv1.RestrictedLabelDomains(), awsv1.LabelAliases()))
		what = "NodePool " + o.Name + " "
	}
	for _, e := range errs {
		f.decide(what+e.Field, "", "v1 does not take it: "+short(e.ErrorBody()), "mend it in the output")
	}
	for _, w := range warnings {
		f.translated(what, "", w)
	}
	return render(object)
}

// short is a text of a line's length.
func short(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
