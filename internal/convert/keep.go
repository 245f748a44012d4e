package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/cfn"
)

// keepPermissions is what launching from users' own templates takes.
const keepPermissions = "deploy the bootstrap stack with --launch-templates, and with --pass-role for the role of its instance profile, and give the template the tag karpenter.sh/discovery with the cluster's name"

// keepNamedTemplate has a class launch from the template that an old object names. i is its place in the input, negative if
// it is not there.
func (c *converter) keepNamedTemplate(f *fields, class *classDraft, at, name string, i int) {
	class.object.Spec.LaunchTemplate = reference(name)
	f.decide(at, "spec.launchTemplate: "+name+", version $Latest", "older releases launched from the latest version; nodes of another one are marked as drifted now", keepPermissions)
	if i >= 0 {
		c.used = append(c.used, i)
		c.judgeTemplate(&c.templates[i], class)
	}
	for _, field := range []string{"instanceProfile", "amiFamily", "amiSelector", "userData", "blockDeviceMappings", "metadataOptions", "detailedMonitoring"} {
		if _, ok := f.take(field); ok {
			f.lost(f.at(field), "the launch template decides", "")
		}
	}
}

// keepTemplate makes a class that launches from a template which no object named.
func (c *converter) keepTemplate(t *Template, class *classDraft) {
	f := c.judgeTemplate(t, class)
	class.object.Spec.LaunchTemplate = reference(t.Name)
	class.fields = f
	f.report.Becomes = []string{"EC2NodeClass " + class.object.Name}
	f.decide("LaunchTemplateName", "spec.launchTemplate: "+t.Name+", version $Latest", "the template stays as it is", keepPermissions)
	c.oldSubnets(f, class)
	c.oldTags(&fields{c: c, doc: f.doc, root: map[string]any{}, report: f.report}, &class.object.Spec)
	c.addClass(class)
}

func reference(name string) *awsv1.LaunchTemplateReference {
	r := &awsv1.LaunchTemplateReference{Name: name, Version: new(intstr.FromString(awsv1.LaunchTemplateLatest))}
	if strings.HasPrefix(name, "lt-") {
		r.Name, r.ID = "", name
	}
	return r
}

// judgeTemplate says what of a template stands in the way of launching from it. It takes nothing over.
func (c *converter) judgeTemplate(t *Template, class *classDraft) *fields {
	r := &ObjectReport{File: t.Origin, Kind: "launch template", Name: t.Name}
	c.report.Objects = append(c.report.Objects, r)
	f := &fields{c: c, doc: &document{file: t.Origin, number: 1, kindOf: "launch template", nameOf: t.Name}, root: map[string]any{}, report: r}
	for _, must := range []struct{ field, why string }{
		{"ImageId", "there is no image, and the template decides on it"},
		{"IamInstanceProfile", "there is no instance profile, and without one machines can't join the cluster"},
	} {
		if t.Data[must.field] == nil {
			f.lost(must.field+" (not set)", must.why, "set it in a new version of the template")
		}
	}
	for _, field := range []string{"InstanceType", "InstanceRequirements", "NetworkInterfaces", "InstanceMarketOptions"} {
		if t.Data[field] != nil {
			f.lost(field, "the class is refused while the template has it: it is decided when a machine is bought", "remove it in a new version of the template")
		}
	}
	text, _ := scalar(t.Data["UserData"])
	if u, unknown := t.Data["UserData"].(cfn.Unknown); unknown {
		text = u.Text
	}
	found := userdata.Read(text)
	class.told = found.ClusterName
	switch {
	case found.Folded:
		f.lost("UserData", "all of the script is on the line of its interpreter, as YAML's > folds it, so nothing of it runs, and the class is refused", "write | in place of > in a new version of the template")
	case found.Family == awsv1.AMIFamilyCustom:
		f.decide("UserData", "", "what it tells the kubelet is not known: "+found.Why, "say under spec.kubelet of the class what bears on pods and resources")
	default:
		f.report.add(Field{Path: "UserData", Outcome: Kept, Why: "it is used as it is; what it tells the kubelet of pods, resources, labels and taints is counted with"})
	}
	return f
}
