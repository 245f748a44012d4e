package convert

import (
	"fmt"
	"regexp"

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
		f.decide(what+e.Field, "", "v1 does not take it: "+short(e.ErrorBody()), "fix it in the output")
	}
	if class, ok := object.(*awsv1.EC2NodeClass); ok {
		for _, x := range refusedOf(class) {
			f.decide(what+x.path, "", "v1 does not take it: "+x.why, "correct it in the output")
		}
	}
	for _, w := range warnings {
		f.translated(what, "", w)
	}
	return render(object)
}

// refusedField is a field of a class that the API server refuses, or lacks.
type refusedField struct{ path, why string }

// Forms of identifiers, as the definition of EC2NodeClass has them.
var (
	imageIDs  = regexp.MustCompile(`^ami-[0-9a-z]+$`)
	subnetIDs = regexp.MustCompile(`^subnet-[0-9a-z]+$`)
	groupIDs  = regexp.MustCompile(`^sg-[0-9a-z]+$`)
)

// refusedOf finds selectors that are missing, and identifiers that are none.
func refusedOf(class *awsv1.EC2NodeClass) []refusedField {
	var out []refusedField
	form := func(list string, i int, id, example string, form *regexp.Regexp) {
		if id != "" && !form.MatchString(id) {
			out = append(out, refusedField{fmt.Sprintf("spec.%s[%d].id", list, i), fmt.Sprintf("%q is no identifier such as %s", id, example)})
		}
	}
	s := &class.Spec
	for i, t := range s.AMISelectorTerms {
		form("amiSelectorTerms", i, t.ID, "ami-0123456789abcdef0", imageIDs)
	}
	for i, t := range s.SubnetSelectorTerms {
		form("subnetSelectorTerms", i, t.ID, "subnet-0123456789abcdef0", subnetIDs)
	}
	for i, t := range s.SecurityGroupSelectorTerms {
		form("securityGroupSelectorTerms", i, t.ID, "sg-0123456789abcdef0", groupIDs)
	}
	if s.LaunchTemplate != nil {
		return out // what is not selected comes from the template
	}
	for _, l := range []struct {
		path string
		n    int
	}{{"spec.amiSelectorTerms", len(s.AMISelectorTerms)}, {"spec.subnetSelectorTerms", len(s.SubnetSelectorTerms)}, {"spec.securityGroupSelectorTerms", len(s.SecurityGroupSelectorTerms)}} {
		if l.n == 0 {
			out = append(out, refusedField{l.path, "it is required, and there is none"})
		}
	}
	return out
}

// short is a text of a line's length.
func short(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
