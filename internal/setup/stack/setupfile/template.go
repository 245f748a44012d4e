package setupfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// readTemplate turns a template into what it sets up when it is deployed.
func readTemplate(data []byte, o ReadOptions) (*awssetup.Setup, error) {
	t, err := cfn.Parse(data)
	if err != nil {
		return nil, err
	}
	where := Place{o.Partition, o.Region, o.AccountID}.written(data, o.Given)
	given := maps.Clone(o.Parameters)
	if given == nil {
		given = map[string]string{}
	}
	cluster := nameCluster(t, given, o.ClusterName)
	static, err := t.Static(cfn.Pseudo{
		Partition: where.Partition, Region: where.Region, AccountID: where.Account, StackName: "stack",
		StackID: where.ARN("cloudformation", "stack/stack/00000000-0000-0000-0000-000000000000"),
	}, given)
	if err != nil {
		return nil, err
	}
	r := &templateReader{
		t: t, setup: &awssetup.Setup{
			Source: o.Source, Partition: where.Partition, Region: where.Region, AccountID: where.Account, ClusterName: cluster,
		},
	}
	// Policies and attachments name roles and queues; so these come first.
	for _, pass := range []map[string]func(*resource){r.things(), r.attachments()} {
		for i := range static.Resources {
			c := &static.Resources[i]
			if read := pass[c.Type]; read != nil {
				read(&resource{StaticResource: c, r: r})
			}
		}
	}
	if r.setup.ClusterName == "" {
		r.setup.ClusterName = clusterNameOf(r.setup)
	}
	return r.setup, nil
}

// nameCluster gives the cluster's name to the parameter that asks for it, unless it has a value, and returns it.
func nameCluster(t *cfn.Template, given map[string]string, cluster string) string {
	for _, p := range t.Parameters {
		if !IsClusterParameter(p.Name) {
			continue
		}
		switch value, ok := given[p.Name]; {
		case ok && cluster == "":
			return value
		case ok:
		case cluster != "":
			given[p.Name] = cluster
		case p.Default != nil && *p.Default != "":
			return *p.Default
		default:
			given[p.Name] = AssumedCluster
			return AssumedCluster
		}
	}
	return cluster
}

// IsClusterParameter tells whether a parameter is called like the cluster's name.
func IsClusterParameter(name string) bool {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "clustername", "eksclustername", "cluster":
		return true
	}
	return false
}

type templateReader struct {
	t     *cfn.Template
	setup *awssetup.Setup
}

// resource is one of the template with its values.
type resource struct {
	*cfn.StaticResource
	r *templateReader
}

func (r *templateReader) things() map[string]func(*resource) {
	return map[string]func(*resource){
		"AWS::IAM::Role":                   r.role,
		"AWS::IAM::ManagedPolicy":          r.policy,
		"AWS::SQS::Queue":                  r.queue,
		"AWS::KMS::Key":                    r.key,
		"AWS::Events::Rule":                r.rule,
		"AWS::CloudWatch::Alarm":           r.alarm,
		"AWS::EKS::AccessEntry":            r.accessEntry,
		"AWS::EKS::PodIdentityAssociation": r.podIdentity,
	}
}

func (r *templateReader) attachments() map[string]func(*resource) {
	return map[string]func(*resource){
		"AWS::IAM::Policy":            r.inline,
		"AWS::IAM::RolePolicy":        r.inline,
		"AWS::SQS::QueuePolicy":       r.queuePolicy,
		"AWS::SQS::QueueInlinePolicy": r.queuePolicy,
		"AWS::KMS::Alias":             r.alias,
	}
}

func (r *templateReader) gap(what, why string) {
	g := awssetup.Gap{What: what, Why: why}
	if !slices.Contains(r.setup.Gaps, g) {
		r.setup.Gaps = append(r.setup.Gaps, g)
	}
}

// placeholders are what an unknown value has in place of what is not known.
var placeholders = regexp.MustCompile(`\$\{([^}]*)\}`)

// text is a value as text. Of what AWS makes up on deployment, such as the end of a rule's name, a stand-in is as good:
// it is the same wherever the template refers to it. What others decide, such as parameters, becomes a gap called what.
func (r *templateReader) text(v any, what string) string {
	u, unknown := v.(cfn.Unknown)
	if !unknown {
		s, _ := cfn.TextOf(v)
		return s
	}
	for _, m := range placeholders.FindAllStringSubmatch(u.Text, -1) {
		id, _, _ := strings.Cut(m[1], ".")
		if m[1] != "random" && r.t.Resource(id) == nil {
			r.gap(what, u.Why)
		}
	}
	return placeholders.ReplaceAllStringFunc(u.Text, func(s string) string {
		return strings.NewReplacer("${", "", "}", "", "::", "-", ".", "-", " ", "-").Replace(s)
	})
}

// plain replaces what is unknown within a value.
func (r *templateReader) plain(v any, what string) any {
	switch v := v.(type) {
	case cfn.Unknown:
		return r.text(v, what)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.plain(v[i], what)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = r.plain(v[k], what)
		}
		return out
	}
	return v
}

func (c *resource) what(property string) string { return property + " of " + c.ID }

func (c *resource) text(property string) string {
	return c.r.text(c.Values[property], c.what(property))
}

// name is the name that the resource will have.
func (c *resource) name(property string) string {
	if c.Values[property] != nil {
		return c.text(property)
	}
	return "stack-" + c.ID + "-random"
}

func (c *resource) list(property string) []string {
	var out []string
	for _, v := range cfn.ListOf(c.Values[property]) {
		out = appendNew(out, c.r.text(v, c.what(property)))
	}
	return out
}

func (c *resource) seconds(property string, otherwise time.Duration) time.Duration {
	v := c.Values[property]
	if f, ok := cfn.FloatOf(v); ok {
		return time.Duration(f * float64(time.Second))
	}
	if s := c.text(property); s != "" && !isUnknown(v) {
		c.r.gap(c.what(property), fmt.Sprintf("%q is no number of seconds, and CloudFormation refuses it", s))
	}
	return otherwise
}

func (c *resource) flag(property string) bool {
	b, _ := cfn.BoolOf(c.Values[property])
	return b
}

// whole is a whole number; zero if it is not known.
func (c *resource) whole(property string) int {
	n, _ := cfn.IntOf(c.Values[property])
	return n
}

func isUnknown(v any) bool {
	_, ok := v.(cfn.Unknown)
	return ok
}

// bus is the event bus of a rule, if it is another than the one of AWS's events. What is not known is a gap.
func (c *resource) bus() string {
	gaps := len(c.r.setup.Gaps)
	name := c.text("EventBusName")
	if len(c.r.setup.Gaps) > gaps {
		return "" // a parameter's, which most likely is the default
	}
	return otherBus(name)
}

// tags reads both forms of tags.
func (c *resource) tags() map[string]string {
	out := map[string]string{}
	switch tags := c.Values["Tags"].(type) {
	case map[string]any:
		for k, v := range tags {
			out[k] = c.r.text(v, c.what("Tags"))
		}
	case []any:
		for _, t := range tags {
			m, _ := t.(map[string]any)
			if k := c.r.text(m["Key"], c.what("Tags")); k != "" {
				out[k] = c.r.text(m["Value"], c.what("Tags"))
			}
		}
	}
	return out
}

// document reads a policy, which may be an object or a text of JSON.
func (r *templateReader) document(v any, what string) *iampolicy.Document {
	if v == nil {
		return nil
	}
	v = r.plain(v, what)
	text, ok := v.(string)
	if !ok {
		data, err := json.Marshal(texted(v))
		if err != nil {
			r.gap(what, err.Error())
			return nil
		}
		text = string(data)
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		r.gap(what, err.Error())
		return nil
	}
	return d
}

// texted turns truth values and numbers into texts, as CloudFormation does for policies: aws:SecureTransport: false.
func texted(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = texted(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = texted(v[k])
		}
		return out
	}
	if s, ok := cfn.TextOf(v); ok {
		return s
	}
	return fmt.Sprint(v)
}
