package convert

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
)

// keepNamedTemplate has a class launch from the template that an old object names. i is the place in the input of the
// template that is meant, negative if none is; it may have another name.
func (c *converter) keepNamedTemplate(f *fields, class *classDraft, at, name string, i int) {
	use := name
	var t *Template
	do := ""
	if i >= 0 {
		t = &c.templates[i]
	}
	why := "older releases launched from the latest version; nodes of another one are marked as drifted now"
	if t.version() != awsv1.LaunchTemplateLatest {
		why = "the version is the one that --launch-template names; older releases launched from the latest one"
	}
	switch {
	case t != nil:
		c.used = append(c.used, i)
		if name != t.Name && name != t.ID {
			use, why, do = t.Name, c.guess(name)+"; "+why, c.seeGuess()+"; "
		}
	case len(c.templates) > 0:
		why = "no launch template " + name + " is in the input; " + why
		do = "see that the account has a launch template " + name + "; "
	}
	class.object.Spec.LaunchTemplate = reference(use, t.version())
	place := len(f.report.Fields) // the template is read before the line is written, for it tells the cluster's name
	if t != nil {
		c.judgeTemplate(t, class)
	}
	f.report.Fields = slices.Insert(f.report.Fields, place, Field{
		Path: at, Outcome: Translated, To: "spec.launchTemplate: " + use + ", version " + t.version(), Why: why, Do: do + c.keepNeeds(t, class.told),
	})
	for _, field := range []string{"instanceProfile", "amiFamily", "amiSelector", "userData", "blockDeviceMappings", "metadataOptions", "detailedMonitoring"} {
		if _, ok := f.take(field); ok {
			f.lost(f.at(field), "the launch template decides", "")
		}
	}
}

// keepTemplate makes a class that launches from a template which no object named.
func (c *converter) keepTemplate(t *Template, class *classDraft) {
	f := c.judgeTemplate(t, class)
	class.object.Spec.LaunchTemplate = reference(t.Name, t.version())
	class.fields = f
	f.report.Becomes = []string{"EC2NodeClass " + class.object.Name}
	f.decide("LaunchTemplateName", "spec.launchTemplate: "+t.Name+", version "+t.version(), "the template stays as it is", c.keepNeeds(t, class.told))
	c.oldSubnets(f, class)
	c.oldTags(&fields{c: c, doc: f.doc, root: map[string]any{}, report: f.report}, &class.object.Spec)
	c.addClass(class)
}

func reference(name, version string) *awsv1.LaunchTemplateReference {
	r := &awsv1.LaunchTemplateReference{Name: name, Version: new(intstr.Parse(version))}
	if strings.HasPrefix(name, "lt-") {
		r.Name, r.ID = "", name
	}
	return r
}

// tagDiscovery is the tag, with the cluster's name as its value, of templates that the controller may launch from.
const tagDiscovery = "karpenter.sh/discovery"

// keepNeeds says what launching from a user's own template takes; t is nil for a template that is not in the input.
func (c *converter) keepNeeds(t *Template, told string) string {
	out := "the bootstrap stack needs --launch-templates"
	if t == nil {
		out += ", and --pass-role with the ARN of the role of the template's instance profile, unless it is the stack's own node role"
	} else if profile := profileOf(t.Data); profile != "" {
		if pass := c.passRole(t, profile, told); pass != "" {
			out += " and " + pass
		}
	}
	if t != nil && (look(t.Data, "Placement", "GroupName") != nil || look(t.Data, "Placement", "GroupId") != nil) {
		out += "; for the placement group of the template it needs --placement-groups"
	}
	if t != nil {
		if parameter, ok := strings.CutPrefix(textOf(t.Data["ImageId"]), "resolve:ssm:"); ok && !publicParameter(parameter) {
			out += "; for the image it needs --ssm-parameter with the ARN of the parameter " + parameter
		}
	}
	cluster := c.clusterName(told)
	if cluster == "" || strings.Contains(cluster, "${") {
		cluster = unknownCluster
	}
	tag := tagDiscovery + "=" + cluster
	if t == nil || !t.fromFile {
		return out + "; give the template the tag " + tag + ", if it does not have it"
	}
	switch value := t.tags[tagDiscovery]; {
	case value == "":
		out += "; give the template the tag " + tag
	case value == told, value == c.clusterName(told):
	case cluster == unknownCluster, strings.Contains(value, "${"):
		out += "; see that the value of the template's tag " + tagDiscovery + ", " + value + ", is the cluster's name"
	default:
		out += "; give the template the tag " + tag + ", in place of the value " + value
	}
	return out
}

// ownTagsOf are the tags that a CloudFormation file gives a launch template itself.
func ownTagsOf(values map[string]any) map[string]string {
	out := map[string]string{}
	specs, _ := values["TagSpecifications"].([]any)
	for _, s := range specs {
		if textOf(look(s, "ResourceType")) != "launch-template" {
			continue
		}
		tags, _ := look(s, "Tags").([]any)
		for _, tag := range tags {
			out[textOf(look(tag, "Key"))] = textOf(look(tag, "Value"))
		}
	}
	return out
}

// judgeTemplate says what of a template stands in the way of launching from it. It takes nothing over.
func (c *converter) judgeTemplate(t *Template, class *classDraft) *fields {
	r := &ObjectReport{File: t.Origin, Kind: "launch template", Name: t.Name}
	c.report.Objects = append(c.report.Objects, r)
	f := &fields{c: c, doc: &document{file: t.Origin, number: 1, kindOf: "launch template", nameOf: t.Name}, root: map[string]any{}, report: r}
	f.otherDefault(t)
	f.refused(t)
	found := userdata.Read(t.userData())
	class.told, class.booted = found.ClusterName, found.KubeletOrNil()
	f.judgeVolumeKeys(t)
	f.judgeUserData(found)
	if cluster := c.clusterName(""); cluster != "" && found.ClusterName != "" && found.ClusterName != cluster && !strings.Contains(found.ClusterName, "${") {
		f.lost("UserData: cluster name", "it joins instances to cluster "+found.ClusterName+", and this is "+cluster+", so that the class is refused", "fix it"+inNewVersion)
	}
	f.judgeTaint(t, found)
	class.stays = &stays{fields: f, labels: found.Labels}
	return f
}

func (f *fields) judgeUserData(found *userdata.Found) {
	switch {
	case found.Folded:
		f.lost("UserData", "all of the script is on the line of its interpreter, as YAML's > folds it, so nothing of it runs, and the class is refused", "write | in place of > in a new version of the template")
	case strings.Contains(strings.ToLower(found.Rest), "<powershell>"):
		f.lost("UserData", "it is a PowerShell script, and launch templates of Windows are not supported", "leave these instances to what launches them now, or translate the template in place of keeping it")
	case found.Family == awsv1.AMIFamilyCustom:
		f.decide("UserData", "", "what it tells the kubelet is not known: "+found.Why, "say under spec.kubelet of the class what bears on pods and resources")
	default:
		f.report.add(Field{Path: "UserData", Outcome: Kept, Why: "it is used as it is; what it tells the kubelet of pods, resources, labels and taints is counted with"})
	}
}

// taintAtBoot is how user data of a family has the kubelet register with the taint of new nodes.
var taintAtBoot = map[awsv1.AMIFamily]string{
	awsv1.AMIFamilyAL2:          "add --register-with-taints=" + newNode + " to --kubelet-extra-args",
	awsv1.AMIFamilyAL2023:       "add --register-with-taints=" + newNode + " to spec.kubelet.flags of the NodeConfig",
	awsv1.AMIFamilyBottlerocket: `add "` + karpv1.UnregisteredTaintKey + `" = [":NoExecute"] below [settings.kubernetes.node-taints]`,
}

const newNode = karpv1.UnregisteredTaintKey + "=:NoExecute"

// judgeTaint says when user data does not announce nodes as new.
func (f *fields) judgeTaint(t *Template, found *userdata.Found) {
	if announces(t.userData()) || strings.Contains(strings.ToLower(found.Rest), "<powershell>") {
		return
	}
	how, ok := taintAtBoot[found.Family]
	if !ok {
		how = "have the kubelet register with it (--register-with-taints=" + newNode + ")"
	}
	f.decide("UserData: taint "+karpv1.UnregisteredTaintKey+" (not set)", "",
		"nodes register without it, and pods may land on them before they have the labels and taints of their NodePool", how+inNewVersion)
}

// announces tells whether user data has the taint of new nodes.
func announces(text string) bool { return strings.Contains(text, karpv1.UnregisteredTaintKey) }

// stays is what the user data of a template that stays gives nodes, beside what their pools do.
type stays struct {
	fields *fields // to report to
	labels map[string]string
}

// mislead reports a label that says of the instances of a pool what they are not. p is nil where no pool is known.
func (s *stays) mislead(p *poolDraft) {
	if s == nil {
		return
	}
	value, ok := s.labels[oldCapacityType]
	if !ok || p != nil && p.launchesOnly(value) {
		return
	}
	pool := "the pool"
	if p != nil {
		pool = "NodePool " + p.object.Name
	}
	s.fields.report.add(Field{
		Path: "UserData: label " + oldCapacityType + "=" + value, Outcome: Kept,
		Why: likeAnyOther + "; it says of all instances that they are " + value,
		Do:  "drop it in a new version of the template, or have " + pool + " launch " + value + " instances only: requirement " + karpv1.CapacityTypeLabelKey + " In [" + value + "]",
	})
}
