package convert

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// classDraft is an EC2NodeClass on its way, with what it asks of the pools that use it.
type classDraft struct {
	object *awsv1.EC2NodeClass
	fields *fields
	nodes  additions
	// told is the name of the cluster that user data gives.
	told string
	// stays is what the user data of a launch template that stays gives nodes.
	stays *stays
	// booted is what that user data tells the kubelet; nil without such a template.
	booted *awsv1.KubeletConfiguration
}

func newClass(name string) *classDraft {
	return &classDraft{object: &awsv1.EC2NodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: awsv1.GroupVersion.String(), Kind: "EC2NodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}}
}

// classOf begins an EC2NodeClass with the name and metadata of an older object of that kind; spec holds what is left to read.
func (c *converter) classOf(d *document) (f *fields, class *classDraft, spec *fields, ok bool) {
	f = &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	class = newClass(f.nameOr("default"))
	class.object.ObjectMeta = f.metadata(class.object.Name)
	f.report.Becomes = []string{"EC2NodeClass " + class.object.Name}
	v, ok := f.take("spec")
	if !ok {
		v = map[string]any{}
	}
	spec, ok = f.below(v, "spec")
	return f, class, spec, ok
}

// nodeTemplate converts an AWSNodeTemplate of v1alpha1.
func (c *converter) nodeTemplate(d *document) {
	f, class, spec, ok := c.classOf(d)
	if !ok {
		return
	}
	c.oldClass(spec, class)
	f.leftovers()
	c.addClass(class)
}

func (c *converter) addClass(class *classDraft) {
	c.classes[class.object.Name] = class
	c.items = append(c.items, item{class: class})
}

// oldClass converts the AWS settings of v1alpha1, be they an object of their own or a part of a Provisioner.
func (c *converter) oldClass(f *fields, class *classDraft) {
	class.fields = f
	f.take("apiVersion")
	f.take("kind")
	spec := &class.object.Spec
	if f.has("launchTemplate") {
		c.fromNamedTemplate(f, class)
	} else {
		c.oldImages(f, spec)
		c.oldProfile(f, spec)
		f.oldMetadataOptions(spec)
		f.oldDevices(spec)
		if text, ok := f.text("userData"); ok {
			spec.UserData = &text
			f.kept(f.at("userData"), "spec.userData")
		}
		if on, ok := f.truth("detailedMonitoring"); ok {
			spec.DetailedMonitoring = &on
			f.kept(f.at("detailedMonitoring"), "spec.detailedMonitoring")
		}
		customJoins(f, spec)
	}
	c.oldSubnets(f, class)
	c.oldGroups(f, class)
	c.oldTags(f, spec)
	if text, ok := f.text("context"); ok {
		spec.Context = &text
		f.kept(f.at("context"), "spec.context")
	}
	f.leftovers()
}

// oldProfile converts the instance profile.
func (c *converter) oldProfile(f *fields, spec *awsv1.EC2NodeClassSpec) {
	at := f.at("instanceProfile")
	name, ok := f.text("instanceProfile")
	switch {
	case ok && name != "":
		f.report.add(Field{Path: at, Outcome: Kept, To: "spec.instanceProfile", Do: c.passedRole(name)})
	case c.global.instanceProfile != "":
		name = c.global.instanceProfile
		f.decide(at+" (not set)", "spec.instanceProfile: "+name, "it came from aws.defaultInstanceProfile of the settings", c.passedRole(name))
	default:
		name = "INSTANCE_PROFILE_OF_THE_NODES"
		f.decide(at+" (not set)", "spec.instanceProfile: "+name, "it came from aws.defaultInstanceProfile of the settings, a ConfigMap that is not in the input",
			"put the name of the nodes' instance profile in its place, or set spec.role instead, or convert together with the ConfigMap karpenter-global-settings")
	}
	spec.InstanceProfile = &name
}

// Values that metadata options had where they were not set, up to v1beta1.
const (
	oldEndpoint = "enabled"
	oldIPv6     = "disabled"
	oldHops     = 2
	oldTokens   = "required"
)

// oldMetadataOptions converts the metadata options and spells out the old defaults.
func (f *fields) oldMetadataOptions(spec *awsv1.EC2NodeClassSpec) {
	at := f.at("metadataOptions")
	var o awsv1.MetadataOptions
	if f.into(&o, "metadataOptions") {
		f.kept(at, "spec.metadataOptions")
	}
	spec.MetadataOptions = f.oldMetadataDefaults(at, &o)
}

func (f *fields) oldMetadataDefaults(at string, o *awsv1.MetadataOptions) *awsv1.MetadataOptions {
	if o.HTTPPutResponseHopLimit == nil {
		o.HTTPPutResponseHopLimit = new(int64(oldHops))
		f.translated(member(at, "httpPutResponseHopLimit")+" (not set)", "spec.metadataOptions.httpPutResponseHopLimit: 2",
			"2 was the default then and let pods with a network of their own reach the metadata service; 1 is the default now and keeps them from it")
	}
	set := func(p **string, value string) {
		if *p == nil {
			*p = &value
		}
	}
	set(&o.HTTPEndpoint, oldEndpoint)
	set(&o.HTTPProtocolIPv6, oldIPv6)
	set(&o.HTTPTokens, oldTokens)
	return o
}

// oldTags converts tags, with those of the settings.
func (c *converter) oldTags(f *fields, spec *awsv1.EC2NodeClassSpec) {
	at := f.at("tags")
	tags := f.textMap("tags")
	if len(tags) > 0 && f.dropOwnTags(at, tags) {
		f.kept(at, "spec.tags")
	}
	merged := maps.Clone(spec.Tags)
	if merged == nil {
		merged = map[string]string{}
	}
	for k, v := range c.global.tags {
		if awsv1.RestrictedTag(k) == "" {
			merged[k] = v
		}
	}
	maps.Copy(merged, tags)
	if len(merged) > 0 {
		spec.Tags = merged
	}
}

// ownTags are tags that the controller sets itself, under the names that they had and have.
var ownTags = map[string]string{
	"karpenter.sh/provisioner-name": awsv1.TagNodePool,
	"karpenter.sh/managed-by":       awsv1.TagEKSCluster,
}

// dropOwnTags takes away what the controller sets itself, and tells whether a tag is left.
func (f *fields) dropOwnTags(at string, tags map[string]string) bool {
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		why := awsv1.RestrictedTag(k)
		switch now, own := ownTags[k]; {
		case own:
			f.translated(member(at, k), "tag "+now, "the controller sets it itself")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			f.lost(member(at, k), why, "")
		case why != "":
			f.translated(member(at, k), "", "the controller sets it itself")
		default:
			continue
		}
		delete(tags, k)
	}
	return len(tags) > 0
}
