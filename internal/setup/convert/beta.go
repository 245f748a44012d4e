package convert

import (
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// nodePool converts a NodePool of v1beta1.
func (c *converter) nodePool(d *document) {
	f := &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	p := newPool(f.nameOr("default"))
	p.ObjectMeta = f.metadata(p.Name)
	f.report.Becomes = []string{"NodePool " + p.Name}
	template := &p.Spec.Template
	template.Labels = f.labels("spec", "template", "metadata", "labels")
	if a := f.textMap("spec", "template", "metadata", "annotations"); len(a) > 0 {
		template.Annotations = a
		f.kept("spec.template.metadata.annotations", "spec.template.metadata.annotations")
	}
	f.nodeTaints(&template.Spec, inTemplate, "spec", "template", "spec")
	template.Spec.Requirements = f.requirements("spec", "template", "spec", "requirements")
	template.Spec.NodeClassRef = f.nodeClassRef(inTemplate, "spec", "template", "spec", "nodeClassRef")
	draft := &poolDraft{object: p, fields: f, kubelet: f.kubelet("spec", "template", "spec", "kubelet"), kubeletAt: "spec.template.spec.kubelet"}
	if _, ok := f.take("spec", "template", "spec", "resources"); ok {
		f.lost("spec.template.spec.resources", "a pool's had no effect", "")
	}
	f.betaDisruption(p)
	p.Spec.Limits, draft.limits = f.limits("spec", "limits")
	p.Spec.Weight = f.weight()
	f.leftovers()
	c.addPool(draft)
}

// nodeClassRef converts a reference that had a version.
func (f *fields) nodeClassRef(to string, path ...string) *karpv1.NodeClassReference {
	at := f.at(path...)
	sub := func(name string) (string, bool) { return f.text(append(append([]string(nil), path...), name)...) }
	name, ok := sub("name")
	if !ok || name == "" {
		f.fail(at, "it names no node class")
	}
	ref := classRef(name)
	if version, ok := sub("apiVersion"); ok {
		ref.Group, _, _ = strings.Cut(version, "/")
	}
	if kind, ok := sub("kind"); ok && kind != "" && kind != "AWSNodeTemplate" {
		ref.Kind = kind
	}
	f.translated(at, to+"nodeClassRef: "+ref.Group+" "+ref.Kind+" "+name, "a reference has a group and no version now")
	return ref
}

// betaDisruption converts the disruption of v1beta1, and spells out its defaults.
func (f *fields) betaDisruption(p *karpv1.NodePool) {
	d := &p.Spec.Disruption
	policy, ok := f.text("spec", "disruption", "consolidationPolicy")
	at := f.at("spec", "disruption", "consolidationPolicy")
	switch {
	case !ok:
		d.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
		f.translated(at+" (not set)", "spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized", "WhenUnderutilized was the default, and this is its name now")
	case policy == "WhenUnderutilized":
		d.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
		f.translated(at, "spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized", "it was renamed")
	default:
		d.ConsolidationPolicy = karpv1.ConsolidationPolicy(policy)
		f.kept(at, "spec.disruption.consolidationPolicy")
	}
	at = f.at("spec", "disruption", "consolidateAfter")
	switch {
	case f.into(&d.ConsolidateAfter, "spec", "disruption", "consolidateAfter"):
		f.kept(at, "spec.disruption.consolidateAfter")
	default:
		d.ConsolidateAfter = seconds(0)
		f.translated(at+" (not set)", "spec.disruption.consolidateAfter: 0s", "nodes were consolidated as soon as they could be")
	}
	if f.into(&d.Budgets, "spec", "disruption", "budgets") {
		f.kept("spec.disruption.budgets", "spec.disruption.budgets")
	}
	expire := &p.Spec.Template.Spec.ExpireAfter
	const forceful = "an expired node goes now whatever budgets say; its pods move once their new instances are ready"
	if f.into(expire, "spec", "disruption", "expireAfter") {
		f.translated("spec.disruption.expireAfter", "spec.template.spec.expireAfter: "+expire.String(), "it moved; "+forceful)
		return
	}
	*expire = karpv1.MustParseNillableDuration("720h")
	f.translated("spec.disruption.expireAfter (not set)", "spec.template.spec.expireAfter: 720h", "it was the default, too; "+forceful)
}

// nodeClass converts an EC2NodeClass of v1beta1.
func (c *converter) nodeClass(d *document) {
	f, class, s, ok := c.classOf(d)
	if !ok {
		return
	}
	class.fields = s
	spec := &class.object.Spec
	keep := func(to any, name string) bool {
		ok := s.into(to, name)
		if ok {
			s.kept("spec."+name, "spec."+name)
		}
		return ok
	}
	keep(&spec.SubnetSelectorTerms, "subnetSelectorTerms")
	keep(&spec.SecurityGroupSelectorTerms, "securityGroupSelectorTerms")
	keep(&spec.AMISelectorTerms, "amiSelectorTerms")
	c.betaFamily(s, spec)
	keep(&spec.AssociatePublicIPAddress, "associatePublicIPAddress")
	keep(&spec.UserData, "userData")
	keep(&spec.InstanceStorePolicy, "instanceStorePolicy")
	keep(&spec.DetailedMonitoring, "detailedMonitoring")
	keep(&spec.Context, "context")
	if s.into(&spec.Role, "role") {
		s.report.add(Field{Path: "spec.role", Outcome: Kept, To: "spec.role", Do: c.ownRole(spec.Role)})
	}
	if s.has("instanceProfile") || spec.Role == "" {
		c.oldProfile(s, spec)
	}
	s.oldMetadataOptions(spec)
	s.oldDevices(spec)
	c.oldTags(s, spec)
	customJoins(s, spec)
	s.leftovers()
	f.leftovers()
	c.addClass(class)
}

// betaFamily converts the family, which used to select images by itself.
func (c *converter) betaFamily(s *fields, spec *awsv1.EC2NodeClassSpec) {
	family, ok := s.text("amiFamily")
	at := s.at("amiFamily")
	if !ok {
		at, family = at+" (not set)", "AL2"
	}
	s.family(at, family, !ok, spec)
}
