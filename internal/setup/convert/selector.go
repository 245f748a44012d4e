package convert

import (
	"maps"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// specialKeys are keys of the old selectors that were no tags.
var specialKeys = map[string]string{"aws-ids": "ids", "aws::ids": "ids", "aws::name": "names", "aws::owners": "owners"}

// selector is an old selector, read: a map whose values may be several, separated by commas.
type selector struct {
	ids, names, owners []string
	tags               []map[string]string // one map for each combination of values
}

func readSelector(m map[string]string) selector {
	var s selector
	s.tags = []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values := split(m[key])
		switch specialKeys[key] {
		case "ids":
			s.ids = append(s.ids, values...)
		case "names":
			s.names = append(s.names, values...)
		case "owners":
			s.owners = append(s.owners, values...)
		default:
			s.tags = product(s.tags, key, values)
		}
	}
	if len(s.tags) == 1 && len(s.tags[0]) == 0 {
		s.tags = nil
	}
	return s
}

// mostTerms is how many terms the API takes; more combinations of values than this are not multiplied out.
const mostTerms = 30

func product(maps_ []map[string]string, key string, values []string) []map[string]string {
	if len(maps_)*len(values) > mostTerms {
		values = []string{strings.Join(values, ",")}
	}
	var out []map[string]string
	for _, m := range maps_ {
		for _, v := range values {
			next := maps.Clone(m)
			next[key] = v
			out = append(out, next)
		}
	}
	return out
}

// split is a comma-separated list; an empty one stands for any value, as it did in the first releases.
func split(text string) []string {
	var out []string
	for _, v := range strings.Split(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return []string{"*"}
	}
	return out
}

// tooMany reports values that were not multiplied out.
func (f *fields) tooMany(at string, m map[string]string, s selector) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value := m[key]
		if specialKeys[key] == "" && strings.Contains(value, ",") && slices.ContainsFunc(s.tags, func(t map[string]string) bool { return t[key] == value }) {
			f.lost(member(at, key), "each combination of values needs a term of its own, and there would be more than 30", "write terms for those that are needed")
		}
	}
}

// imageTerms converts an image selector.
func (f *fields) imageTerms(m map[string]string) []awsv1.AMISelectorTerm {
	at := f.at("amiSelector")
	s := readSelector(m)
	f.tooMany(at, m, s)
	var out []awsv1.AMISelectorTerm
	for _, id := range s.ids {
		out = append(out, awsv1.AMISelectorTerm{ID: id})
	}
	if len(s.ids) > 0 {
		f.translated(at, "spec.amiSelectorTerms", "one term for each ID")
		if len(s.names) > 0 || len(s.owners) > 0 || len(s.tags) > 0 {
			f.lost(at+", other than IDs", "IDs excluded all else, and do so now", "")
		}
		return out
	}
	owners, names, tags := orBlank(s.owners), orBlank(s.names), s.tags
	if len(tags) == 0 {
		tags = []map[string]string{nil}
	}
	for _, t := range tags {
		for _, name := range names {
			for _, owner := range owners {
				out = append(out, awsv1.AMISelectorTerm{Tags: t, Name: name, Owner: owner})
			}
		}
	}
	f.translated(at, "spec.amiSelectorTerms", "a term for each combination of values; all of a term must hold")
	return out
}

func orBlank(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}

// unknownCluster stands where the name of the cluster belongs; no subnet and no group has such a tag.
const unknownCluster = "CLUSTER_NAME"

// oldSubnets converts the subnet selector.
func (c *converter) oldSubnets(f *fields, class *classDraft) {
	at := f.at("subnetSelector")
	m := f.textMap("subnetSelector")
	spec := &class.object.Spec
	if len(m) == 0 {
		if len(spec.SubnetSelectorTerms) > 0 {
			return
		}
		key := c.clusterTag(class)
		spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{Tags: map[string]string{key: "*"}}}
		f.report.add(c.spelled(at, "spec.subnetSelectorTerms: tag "+key, "subnet", key))
		return
	}
	s := readSelector(m)
	f.tooMany(at, m, s)
	for _, id := range s.ids {
		spec.SubnetSelectorTerms = append(spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{ID: id})
	}
	if len(s.ids) == 0 {
		for _, t := range s.tags {
			spec.SubnetSelectorTerms = append(spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{Tags: t})
		}
	}
	f.selected(at, "spec.subnetSelectorTerms", s)
	if len(spec.SubnetSelectorTerms) == 0 {
		spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{Tags: map[string]string{c.clusterTag(class): "*"}}}
		f.lost(at, "subnets have neither names nor owners to select them by", "select them by tags or ID; the cluster's tag stands in for now")
	}
}

// oldGroups converts the security group selector.
func (c *converter) oldGroups(f *fields, class *classDraft) {
	at := f.at("securityGroupSelector")
	m := f.textMap("securityGroupSelector")
	spec := &class.object.Spec
	if len(spec.SecurityGroupSelectorTerms) > 0 || spec.LaunchTemplate != nil { // from a launch template
		if len(m) > 0 {
			f.lost(at, "the launch template decided on the security groups", "")
		}
		return
	}
	if len(m) == 0 {
		key := c.clusterTag(class)
		spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Tags: map[string]string{key: "*"}}}
		f.report.add(c.spelled(at, "spec.securityGroupSelectorTerms: tag "+key, "security group", key))
		return
	}
	s := readSelector(m)
	f.tooMany(at, m, s)
	for _, id := range s.ids {
		spec.SecurityGroupSelectorTerms = append(spec.SecurityGroupSelectorTerms, awsv1.SecurityGroupSelectorTerm{ID: id})
	}
	if len(s.ids) == 0 {
		for _, name := range s.names {
			spec.SecurityGroupSelectorTerms = append(spec.SecurityGroupSelectorTerms, awsv1.SecurityGroupSelectorTerm{Name: name})
		}
		if len(s.names) > 0 && len(s.tags) > 0 {
			f.lost(at+", tags beside aws::name", "a term has either a name or tags", "see that the names alone select the right groups")
		}
		for _, t := range s.tags {
			if len(s.names) == 0 {
				spec.SecurityGroupSelectorTerms = append(spec.SecurityGroupSelectorTerms, awsv1.SecurityGroupSelectorTerm{Tags: t})
			}
		}
	}
	f.selected(at, "spec.securityGroupSelectorTerms", s)
}

// selected reports a selector that was converted.
func (f *fields) selected(at, to string, s selector) {
	switch {
	case len(s.ids) > 0:
		f.translated(at, to, "one term for each ID")
		if len(s.names) > 0 || len(s.tags) > 0 {
			f.lost(at+", other than IDs", "IDs excluded all else, and do so now", "")
		}
	case len(s.names) > 0:
		f.translated(at, to, "one term for each name")
	case len(s.tags) > 1:
		f.translated(at, to, "a term for each combination of values; all of a term must hold")
	default:
		f.translated(at, to, "one term with these tags")
	}
}

func (c *converter) clusterTag(class *classDraft) string {
	name := c.clusterName(class.told)
	if name == "" {
		name = unknownCluster
	}
	return awsv1.TagClusterPrefix + name
}

// spelled is the report of a selector that was not there.
func (c *converter) spelled(at, to, what, key string) Field {
	out := Field{
		Path: at + " (not set)", Outcome: Translated, To: to,
		Why: "the first releases took every " + what + " with the cluster's tag; later ones refused an object without a selector",
		Do:  "see that each " + what + " that is meant has this tag, and no other",
	}
	name := strings.TrimPrefix(key, awsv1.TagClusterPrefix)
	switch {
	case name == unknownCluster:
		out.Do = "put the cluster's name in place of " + unknownCluster + ", or convert with --cluster-name, and " + out.Do
	case strings.Contains(name, "${"):
		out.Do = "put the cluster's name in place of " + name + ", or convert with --cluster-name NAME" + c.orParameters(name) + ", and " + out.Do
	}
	return out
}
