package convert

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// fromTemplate translates a launch template field by field into a class. It gives back the fields of the template, to
// report more to.
func (c *converter) fromTemplate(t *Template, class *classDraft) *fields {
	r := &ObjectReport{File: t.Origin, Kind: "launch template", Name: t.Name}
	c.report.Objects = append(c.report.Objects, r)
	root, _ := clone(t.Data).(map[string]any)
	f := &fields{c: c, doc: &document{file: t.Origin, number: 1, kindOf: "launch template", nameOf: t.Name}, root: root, report: r}
	class.nodes.fields = f
	f.otherDefault(t)
	spec := &class.object.Spec
	found := userdata.Read(t.userData())
	class.told = found.ClusterName
	f.take("UserData")
	f.templateImage(t, spec)
	f.templateProfile(t, class)
	f.templateUserData(class, found)
	f.templateDevices(spec)
	f.templateMetadata(spec)
	f.templateInterfaces(spec)
	f.templateGroups(spec)
	if on, ok := f.truth("Monitoring", "Enabled"); ok {
		spec.DetailedMonitoring = &on
		f.kept("Monitoring.Enabled", "spec.detailedMonitoring")
	}
	f.templateTags(spec)
	f.templatePlacement(class)
	f.templateReservations(spec)
	f.templateRest(spec)
	f.leftovers()
	return f
}

// templateImage translates the image.
func (f *fields) templateImage(t *Template, spec *awsv1.EC2NodeClassSpec) {
	v, ok := f.take("ImageId")
	if !ok {
		f.placeholderImage("ImageId (not set)", "the template names no image", spec)
		return
	}
	text, _ := scalar(v)
	u, unknown := v.(cfn.Unknown)
	if unknown {
		text = u.Text
	}
	parameter, isParameter := strings.CutPrefix(text, "resolve:ssm:")
	if inner, ok := strings.CutPrefix(text, "{{resolve:ssm:"); ok {
		parameter, isParameter = strings.TrimSuffix(inner, "}}"), true
	}
	if name, ok := strings.CutPrefix(text, "${"); ok && t.stored[strings.TrimSuffix(name, "}")] != "" {
		parameter, isParameter = t.stored[strings.TrimSuffix(name, "}")], true
	}
	switch {
	case isParameter:
		spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: parameter}}
		do := ""
		if !publicParameter(parameter) {
			do = "the bootstrap stack needs --ssm-parameter with the ARN of the parameter"
		}
		f.decide("ImageId", "spec.amiSelectorTerms: ssmParameter "+parameter, "a new value of the parameter replaces nodes", do)
	case unknown:
		spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Name: text, Owner: "self"}}
		f.decide("ImageId", "spec.amiSelectorTerms: name "+text, "its value is not known: "+u.Why, "put the image's ID in its place"+f.c.orGive(u.Text))
	case strings.HasPrefix(text, "ami-"):
		spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: text}}
		f.translated("ImageId", "spec.amiSelectorTerms: id "+text, "")
	default:
		f.fail("ImageId", "want the ID of an image, not %s", describe(v))
	}
}

// publicParameter tells parameters of AWS, which every stack lets the controller read.
func publicParameter(name string) bool { return strings.HasPrefix(name, "/aws/service/") }

// templateProfile translates the instance profile.
func (f *fields) templateProfile(t *Template, class *classDraft) {
	for _, member := range []string{"Name", "Arn"} {
		v, ok := f.take("IamInstanceProfile", member)
		if !ok {
			continue
		}
		at := "IamInstanceProfile." + member
		name := lastPart(textOf(v))
		if name == "" || strings.ContainsAny(name, "${}:") {
			if u, unknown := v.(cfn.Unknown); unknown {
				f.unknown(at, u)
			} else {
				f.fail(at, "want the name or the ARN of an instance profile, not %s", describe(v))
			}
			continue
		}
		class.object.Spec.InstanceProfile = &name
		do := ""
		if pass := f.c.passRole(t, name, class.told); pass != "" {
			do = "the bootstrap stack needs " + pass
		}
		f.decide(at, "spec.instanceProfile: "+name, "", do)
	}
}

// templateUserData takes user data apart, and moves what has a field there.
func (f *fields) templateUserData(class *classDraft, found *userdata.Found) {
	spec := &class.object.Spec
	class.nodes.labels, class.nodes.taints = found.Labels, found.Taints
	spec.AMIFamily = &found.Family
	spec.Kubelet = found.KubeletOrNil()
	spec.InstanceStorePolicy = found.InstanceStore
	if found.Rest != "" {
		spec.UserData = &found.Rest
	}
	if found.Family == awsv1.AMIFamilyCustom {
		f.decide("UserData", "spec.amiFamily: Custom, spec.userData", found.Why+"; it is used as it is",
			"see that the kubelet registers with the taint karpenter.sh/unregistered:NoExecute, and with the labels and taints of the pools, and say under spec.kubelet what the user data tells the kubelet of maxPods and reserved resources, so that pods are counted right")
		return
	}
	rest := "all of it went elsewhere, as is said below, and nothing is left for spec.userData"
	if found.Rest != "" {
		rest = "what is said below went elsewhere, all else stays in spec.userData"
	}
	f.translated("UserData", "spec.amiFamily: "+string(found.Family), "the user data that is written for this family does what this one did; "+rest)
	for _, s := range found.Settings {
		at := "UserData: " + s.Name
		switch s.Fate {
		case userdata.Moved:
			f.translated(at, s.To, s.Why)
		case userdata.Generated:
			f.translated(at, "", s.Why)
		default:
			f.lost(at, s.Why, s.Do)
		}
	}
}

// Values that EC2 gives metadata options where a launch template sets none, unless the image or the account say otherwise.
const (
	ec2Tokens = "optional"
	ec2Hops   = 1
)

// templateMetadata translates the metadata options.
func (f *fields) templateMetadata(spec *awsv1.EC2NodeClassSpec) {
	o := &awsv1.MetadataOptions{}
	spec.MetadataOptions = o
	get := func(name, to string) *string {
		text, ok := f.text("MetadataOptions", name)
		if !ok {
			return nil
		}
		f.kept("MetadataOptions."+name, "spec.metadataOptions."+to)
		return &text
	}
	o.HTTPEndpoint = get("HttpEndpoint", "httpEndpoint")
	o.HTTPProtocolIPv6 = get("HttpProtocolIpv6", "httpProtocolIPv6")
	o.HTTPTokens = get("HttpTokens", "httpTokens")
	if n, ok := f.number("MetadataOptions", "HttpPutResponseHopLimit"); ok {
		o.HTTPPutResponseHopLimit = &n
		f.kept("MetadataOptions.HttpPutResponseHopLimit", "spec.metadataOptions.httpPutResponseHopLimit")
	}
	f.take("MetadataOptions", "State")
	if text, ok := f.text("MetadataOptions", "InstanceMetadataTags"); ok {
		do := "see that nothing on the instances reads its tags from the metadata service"
		if text == "disabled" {
			do = ""
		}
		f.lost("MetadataOptions.InstanceMetadataTags", "tags are never in the metadata, for keys of tags that the controller sets are refused there", do)
	}
	if o.HTTPTokens == nil {
		o.HTTPTokens = new(ec2Tokens)
		f.translated("MetadataOptions.HttpTokens (not set)", "spec.metadataOptions.httpTokens: optional",
			"it is what EC2 does unless the image or the account say otherwise; the default of a class is required, which is safer: set it as soon as nothing uses the first version of the service")
	}
	if o.HTTPPutResponseHopLimit == nil {
		o.HTTPPutResponseHopLimit = new(int64(ec2Hops))
		f.translated("MetadataOptions.HttpPutResponseHopLimit (not set)", "spec.metadataOptions.httpPutResponseHopLimit: 1",
			"it is what EC2 does unless the image or the account say otherwise: pods with a network of their own don't reach the service")
	}
	if o.HTTPEndpoint == nil {
		o.HTTPEndpoint = new(oldEndpoint)
	}
	if o.HTTPProtocolIPv6 == nil {
		o.HTTPProtocolIPv6 = new(oldIPv6)
	}
}

// templateGroups translates the security groups.
func (f *fields) templateGroups(spec *awsv1.EC2NodeClassSpec) {
	terms := &spec.SecurityGroupSelectorTerms
	f.groupIDs(terms, "SecurityGroupIds", f.groupList("SecurityGroupIds"))
	for _, v := range f.groupList("SecurityGroups") {
		name, ok := scalar(v)
		if u, unknown := v.(cfn.Unknown); unknown {
			f.unknownGroup(terms, "SecurityGroups", u)
		} else if ok {
			addGroup(terms, awsv1.SecurityGroupSelectorTerm{Name: name})
			f.translated("SecurityGroups", "spec.securityGroupSelectorTerms: name "+name, "")
		}
	}
	if len(*terms) == 0 {
		*terms = []awsv1.SecurityGroupSelectorTerm{{Name: "default"}}
		f.decide("SecurityGroupIds (not set)", "spec.securityGroupSelectorTerms: name default", "instances got the default group of the cluster's VPC; the name selects the default group of every VPC of the region",
			"put the group's ID in its place: aws ec2 describe-security-groups --filters Name=group-name,Values=default Name=vpc-id,Values=VPC")
	}
}

// groupList hands out a list of security groups, which may be unknown as a whole.
func (f *fields) groupList(path ...string) []any {
	v, ok := f.take(path...)
	if !ok {
		return nil
	}
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func (f *fields) groupIDs(terms *[]awsv1.SecurityGroupSelectorTerm, at string, list []any) {
	for _, v := range list {
		u, unknown := v.(cfn.Unknown)
		text, ok := scalar(v)
		switch {
		case unknown:
			f.unknownGroup(terms, at, u)
		case !ok || !strings.HasPrefix(text, "sg-"):
			f.fail(at, "want IDs of security groups, not %s", describe(v))
		default:
			addGroup(terms, awsv1.SecurityGroupSelectorTerm{ID: text})
			f.translated(at, "spec.securityGroupSelectorTerms: id "+text, "")
		}
	}
}

// addGroup adds a term, once.
func addGroup(terms *[]awsv1.SecurityGroupSelectorTerm, term awsv1.SecurityGroupSelectorTerm) {
	if !slices.ContainsFunc(*terms, func(t awsv1.SecurityGroupSelectorTerm) bool { return t.ID == term.ID && t.Name == term.Name }) {
		*terms = append(*terms, term)
	}
}

func (f *fields) unknownGroup(terms *[]awsv1.SecurityGroupSelectorTerm, at string, u cfn.Unknown) {
	addGroup(terms, awsv1.SecurityGroupSelectorTerm{Name: u.Text})
	f.decide(at, "spec.securityGroupSelectorTerms: name "+u.Text, "its value is not known: "+u.Why, "put the group's ID in its place"+f.c.orGive(u.Text))
}

// templateTags translates the tags of what is launched.
func (f *fields) templateTags(spec *awsv1.EC2NodeClassSpec) {
	for _, v := range f.list("TagSpecifications") {
		s, ok := f.below(v, "TagSpecifications")
		if !ok {
			continue
		}
		kind, _ := s.text("ResourceType")
		at := "TagSpecifications[" + kind + "]"
		tags := map[string]string{}
		for _, v := range s.list("Tags") {
			tag, ok := f.below(v, at)
			if !ok {
				continue
			}
			key, okKey := tag.text("Key")
			value, okValue := tag.text("Value")
			if okKey && okValue {
				tags[key] = value
			}
		}
		if len(tags) == 0 || !f.dropOwnTags(at, tags) {
			continue
		}
		if spec.Tags == nil {
			spec.Tags = map[string]string{}
		}
		for _, k := range slices.Sorted(maps.Keys(tags)) {
			value := tags[k]
			if had, ok := spec.Tags[k]; ok && had != value {
				f.lost(member(at, k), "all that is launched has the same tags now, and another kind of resource has "+k+"="+had, "see which of the two is right")
				continue
			}
			spec.Tags[k] = value
		}
		f.translated(at, "spec.tags", "all that is launched has the same tags now")
	}
}

// templatePlacement translates where instances go.
func (f *fields) templatePlacement(class *classDraft) {
	spec := &class.object.Spec
	needs := func(at, key, value string) {
		class.nodes.requirements = append(class.nodes.requirements, in(key, value))
		f.translated(at, "NodePool spec.template.spec.requirements: "+key+" In ["+value+"]", "")
	}
	if tenancy, ok := f.text("Placement", "Tenancy"); ok {
		switch tenancy {
		case awsv1.TenancyDefault:
			f.kept("Placement.Tenancy", "")
		case awsv1.TenancyDedicated:
			needs("Placement.Tenancy", awsv1.LabelInstanceTenancy, tenancy)
		default:
			f.lost("Placement.Tenancy", "dedicated hosts are not supported", "choose dedicated instances (requirement "+awsv1.LabelInstanceTenancy+" In [dedicated]) or none")
		}
	}
	for _, m := range []struct {
		name string
		to   func(*awsv1.PlacementGroupSelector) *string
	}{
		{"GroupName", func(s *awsv1.PlacementGroupSelector) *string { return &s.Name }},
		{"GroupId", func(s *awsv1.PlacementGroupSelector) *string { return &s.ID }},
	} {
		if text, ok := f.text("Placement", m.name); ok && text != "" {
			if spec.PlacementGroupSelector == nil {
				spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{}
				*m.to(spec.PlacementGroupSelector) = text
			}
			f.decide("Placement."+m.name, "spec.placementGroupSelector", "", "the bootstrap stack needs --placement-groups")
		}
	}
	for _, m := range [][2]string{
		{"PartitionNumber", awsv1.LabelPlacementGroupPartition}, {"AvailabilityZone", corev1.LabelTopologyZone}, {"AvailabilityZoneId", awsv1.LabelTopologyZoneID},
	} {
		if text, ok := f.text("Placement", m[0]); ok {
			needs("Placement."+m[0], m[1], text)
		}
	}
	for _, name := range []string{"Affinity", "HostId", "HostResourceGroupArn", "SpreadDomain"} {
		if v, ok := f.take("Placement", name); ok && !blank(v) {
			f.lost("Placement."+name, "dedicated hosts are not supported", "leave these instances to what launches them now, or do without")
		}
	}
}

// templateReservations translates the choice of capacity reservations.
func (f *fields) templateReservations(spec *awsv1.EC2NodeClassSpec) {
	const at = "CapacityReservationSpecification"
	if id, ok := f.text(at, "CapacityReservationTarget", "CapacityReservationId"); ok {
		spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: id}}
		f.decide(at+".CapacityReservationTarget.CapacityReservationId", "spec.capacityReservationSelectorTerms: id "+id, "",
			"let the pools use reserved capacity: add reserved to the values of their requirement "+karpv1.CapacityTypeLabelKey+"; the bootstrap stack needs --capacity-reservations")
	}
	if v, ok := f.take(at, "CapacityReservationTarget", "CapacityReservationResourceGroupArn"); ok {
		f.lost(at+".CapacityReservationTarget.CapacityReservationResourceGroupArn", "groups of reservations are not selected as such: "+describe(v), "select its reservations by id or tags in spec.capacityReservationSelectorTerms")
	}
	if preference, ok := f.text(at, "CapacityReservationPreference"); ok {
		if preference == "open" {
			f.lost(at+".CapacityReservationPreference", "instances use those reservations only that the class selects", "select open ones with spec.capacityReservationSelectorTerms: instanceMatchCriteria open, if instances are to use them; the bootstrap stack needs --capacity-reservations then")
		} else {
			f.translated(at+".CapacityReservationPreference", "", "it follows from spec.capacityReservationSelectorTerms")
		}
	}
}
