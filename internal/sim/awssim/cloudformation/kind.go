package cloudformation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// kind is one type of resource: what it may say, and how it is made, changed and removed with the operations of its
// service.
type kind struct {
	properties map[string]*shape
	required   []string
	// fixed are properties that cannot be changed: a resource for which one differs is made anew.
	fixed []string
	// readOnly are attributes that GetAtt knows.
	readOnly []string
	// name is the property by which a user names the resource; empty if AWS makes its identifier. Unless optional is
	// false, a name is made when there is none; nameLength bounds it.
	name       string
	nameLength int
	tagged     bool // takes tags of the stack
	iam        bool // needs a capability

	create func(*change) error
	update func(*change) error // nil when every property is fixed
	remove func(*change) error
}

// change is one resource while it is made, changed or removed.
type change struct {
	calls
	world    *world.World
	stack    string // name
	logical  string
	kind     *kind
	physical string         // what Ref gives; create sets it
	name     string         // given or made, for kinds with names
	old, new map[string]any // properties, fitted to the kind's shapes
	oldTags  []tag
	newTags  []tag
	random   func(int) string
	// attributes are what GetAtt gives; create and update set them.
	attributes map[string]any
}

type tag struct{ key, value string }

// tagsOf are the tags of a resource: those of its stack, and its own, which win.
func tagsOf(properties map[string]any, stack []tag) []tag {
	all := map[string]string{}
	for _, t := range stack {
		all[t.key] = t.value
	}
	switch own := properties["Tags"].(type) {
	case []any:
		for _, item := range own {
			if m, ok := item.(map[string]any); ok {
				k, _ := m["Key"].(string)
				v, _ := m["Value"].(string)
				all[k] = v
			}
		}
	case map[string]any:
		for k, v := range own {
			all[k] = fmt.Sprint(v)
		}
	}
	return sortedTags(all)
}

func sortedTags(all map[string]string) []tag {
	out := make([]tag, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, tag{k, all[k]})
	}
	return out
}

// retag calls set with tags that are new or differ and unset with the keys that are gone.
func (c *change) retag(set func([]tag) error, unset func([]string) error) error {
	var changed []tag
	var gone []string
	for _, t := range c.newTags {
		if !slices.Contains(c.oldTags, t) {
			changed = append(changed, t)
		}
	}
	for _, t := range c.oldTags {
		if !slices.ContainsFunc(c.newTags, func(n tag) bool { return n.key == t.key }) {
			gone = append(gone, t.key)
		}
	}
	if len(changed) > 0 {
		if err := set(changed); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		return unset(gone)
	}
	return nil
}

// tagMap is the form that some services take tags in.
func tagMap(tags []tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[t.key] = t.value
	}
	return out
}

// text is a property that is a text, empty when it is not set.
func (c *change) text(property string) string {
	s, _ := c.new[property].(string)
	return s
}

// textOr is a property that is a text, or what it is without.
func (c *change) textOr(property, otherwise string) string {
	if s := c.text(property); s != "" {
		return s
	}
	return otherwise
}

// differs tells whether a property is changed.
func (c *change) differs(properties ...string) bool {
	return slices.ContainsFunc(properties, func(p string) bool { return !reflect.DeepEqual(c.old[p], c.new[p]) })
}

// fit checks the properties of a resource of this kind and returns them in the kind's shapes.
func (k *kind) fit(logical string, properties map[string]any) (map[string]any, error) {
	s := shape{kind: object, members: k.properties, required: k.required}
	var problems []string
	if properties == nil {
		properties = map[string]any{}
	}
	out, _ := s.fit(properties, "#", &problems).(map[string]any)
	if len(problems) > 0 {
		return nil, fmt.Errorf("properties validation failed for resource %s with message: [%s]", logical, strings.Join(problems, ", "))
	}
	return out, nil
}

// replaced returns the properties whose change makes a resource anew.
func (k *kind) replaced(old, new map[string]any) []string {
	var out []string
	for _, p := range k.fixed {
		if !reflect.DeepEqual(old[p], new[p]) {
			out = append(out, p)
		}
	}
	return out
}

// kinds are the types of resources that can be deployed.
var kinds = map[string]*kind{
	"AWS::IAM::Role":                   iamRole,
	"AWS::IAM::ManagedPolicy":          iamManagedPolicy,
	"AWS::IAM::Policy":                 iamPolicy,
	"AWS::IAM::RolePolicy":             iamRolePolicy,
	"AWS::IAM::InstanceProfile":        iamInstanceProfile,
	"AWS::IAM::ServiceLinkedRole":      iamServiceLinkedRole,
	"AWS::SQS::Queue":                  sqsQueue,
	"AWS::SQS::QueuePolicy":            sqsQueuePolicy,
	"AWS::Events::Rule":                eventsRule,
	"AWS::KMS::Key":                    kmsKey,
	"AWS::KMS::Alias":                  kmsAlias,
	"AWS::CloudWatch::Alarm":           cloudWatchAlarm,
	"AWS::EKS::AccessEntry":            eksAccessEntry,
	"AWS::EKS::PodIdentityAssociation": eksPodIdentity,
	"AWS::EC2::LaunchTemplate":         ec2LaunchTemplate,
	"AWS::EC2::SecurityGroup":          ec2SecurityGroup,
	"AWS::SSM::Parameter":              ssmParameter,
}

func knownTypes() string { return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") }
