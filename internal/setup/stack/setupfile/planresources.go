package setupfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

func (r *planReader) role(c *planned) {
	name := r.name(c)
	role := awssetup.Role{
		LogicalID: c.Address, Name: name, Path: pathOf(c), ARN: r.text(c, "arn"),
		Trust:             r.policyText(c, "assume_role_policy", "trust policy of role "+name),
		ManagedPolicyARNs: r.list(c, "managed_policy_arns"),
		Boundary:          r.text(c, "permissions_boundary"), Tags: tagsOf(c),
	}
	blocks, _ := c.Values["inline_policy"].([]any)
	for _, b := range blocks {
		m, _ := b.(map[string]any)
		text, _ := m["policy"].(string)
		if text == "" {
			continue
		}
		d, err := iampolicy.Parse([]byte(text))
		if err != nil {
			r.gap("inline policy of role "+name, err.Error())
			continue
		}
		role.Inline = append(role.Inline, iampolicy.Named{Name: fmt.Sprint(m["name"]), Document: d})
	}
	r.setup.Roles = append(r.setup.Roles, role)
}

func (r *planReader) policy(c *planned) {
	name := r.name(c)
	d := r.policyText(c, "policy", "document of policy "+name)
	p := awssetup.Policy{LogicalID: c.Address, Name: name, ARN: r.text(c, "arn"), Document: d}
	if d != nil {
		p.Characters = iampolicy.Size(d.JSON())
	}
	r.setup.Policies = append(r.setup.Policies, p)
}

// Attributes of queues that are not given, as SQS sets them.
// Source: Amazon SQS API reference, CreateQueue.
const (
	defaultRetention  = 4 * 24 * time.Hour
	defaultVisibility = 30 * time.Second
)

func (r *planReader) queue(c *planned) {
	name := r.name(c)
	q := awssetup.Queue{
		LogicalID: c.Address, Name: name, ARN: r.text(c, "arn"), URL: r.text(c, "url"), FIFO: r.flag(c, "fifo_queue"),
		Retention:  r.seconds(c, "message_retention_seconds", defaultRetention),
		Visibility: r.seconds(c, "visibility_timeout_seconds", defaultVisibility),
		Delay:      r.seconds(c, "delay_seconds", 0), MaxMessage: int(r.number(c, "max_message_size", 0)),
		KMSKey: r.text(c, "kms_master_key_id"), Tags: tagsOf(c),
		Policy: r.policyText(c, "policy", "queue policy of "+r.text(c, "arn")),
	}
	// SQS encrypts with keys of its own unless told otherwise; the provider leaves the attribute out then.
	sse := r.text(c, "sqs_managed_sse_enabled")
	q.ManagedSSE = sse == "true" || sse == "" && q.KMSKey == ""
	r.redriveOf(&q, c)
	r.setup.Queues = append(r.setup.Queues, q)
}

func (r *planReader) redriveOf(q *awssetup.Queue, c *planned) {
	text := r.text(c, "redrive_policy")
	if text == "" {
		return
	}
	var v struct {
		Target string `json:"deadLetterTargetArn"`
		Max    any    `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		// It is put together from the ARN of a queue of the plan: which is all that matters.
		if strings.HasPrefix(text, "arn:") {
			q.DeadLetter = text
			return
		}
		r.gap("redrive policy of "+q.ARN, fmt.Sprintf("%s: %v", c.Address, err))
		return
	}
	q.DeadLetter = v.Target
	_, _ = fmt.Sscan(fmt.Sprint(v.Max), &q.MaxReceives)
}

// queueBy finds a queue by its URL or ARN.
func (r *planReader) queueBy(id string) *awssetup.Queue {
	for i := range r.setup.Queues {
		if q := &r.setup.Queues[i]; id != "" && (q.URL == id || q.ARN == id) {
			return q
		}
	}
	return nil
}

func (r *planReader) queuePolicy(c *planned) {
	q := r.queueBy(r.text(c, "queue_url"))
	if q == nil {
		r.gap("queue of "+c.Address, "the plan does not have the queue that this policy is for")
		return
	}
	q.Policy = r.policyText(c, "policy", "queue policy of "+q.ARN)
}

func (r *planReader) redrive(c *planned) {
	if q := r.queueBy(r.text(c, "queue_url")); q != nil {
		r.redriveOf(q, c)
	}
}

func (r *planReader) key(c *planned) {
	arn := r.text(c, "arn")
	enabled := r.text(c, "is_enabled")
	r.setup.Keys = append(r.setup.Keys, awssetup.Key{
		LogicalID: c.Address, ID: r.text(c, "key_id"), ARN: arn, Manager: "CUSTOMER",
		Enabled: enabled != "false", Rotation: r.flag(c, "enable_key_rotation"),
		Policy: r.policyText(c, "policy", "key policy of "+arn),
	})
}

func (r *planReader) keyBy(id string) *awssetup.Key {
	for i := range r.setup.Keys {
		if k := &r.setup.Keys[i]; id != "" && (k.ID == id || k.ARN == id || slices.Contains(k.Aliases, id)) {
			return k
		}
	}
	return nil
}

func (r *planReader) keyPolicy(c *planned) {
	if k := r.keyBy(r.text(c, "key_id")); k != nil {
		k.Policy = r.policyText(c, "policy", "key policy of "+k.ARN)
	}
}

func (r *planReader) alias(c *planned) {
	if k := r.keyBy(r.text(c, "target_key_id")); k != nil {
		k.Aliases = append(k.Aliases, r.name(c))
	}
}

func (r *planReader) rule(c *planned) {
	name := r.name(c)
	rule := awssetup.Rule{LogicalID: c.Address, Name: name, ARN: r.text(c, "arn"), Enabled: r.text(c, "state") != "DISABLED", Bus: otherBus(r.text(c, "event_bus_name"))}
	if v, ok := c.Values["is_enabled"].(bool); ok && !v {
		rule.Enabled = false
	}
	switch text := r.text(c, "event_pattern"); {
	case json.Valid([]byte(text)):
		rule.Pattern = json.RawMessage(text)
	case r.text(c, "schedule_expression") != "":
		return
	default:
		r.gap("pattern of rule "+name, r.whyUnknown(c, "event_pattern"))
	}
	r.setup.Rules = append(r.setup.Rules, rule)
}

func (r *planReader) target(c *planned) {
	name := r.text(c, "rule")
	t := awssetup.Target{ID: r.text(c, "target_id"), ARN: r.text(c, "arn")}
	if blocks, ok := c.Values["dead_letter_config"].([]any); ok && len(blocks) == 1 {
		m, _ := blocks[0].(map[string]any)
		t.DeadLetter, _ = m["arn"].(string)
		if t.DeadLetter == "" && c.conf != nil {
			var conf []map[string]json.RawMessage
			_ = json.Unmarshal(c.conf.Expressions["dead_letter_config"], &conf)
			if len(conf) == 1 {
				if v, ok := r.expr(conf[0]["arn"], c.scope, c); ok && len(v) == 1 {
					t.DeadLetter = fmt.Sprint(v[0])
				}
			}
		}
	}
	blocks, _ := c.Values["input_transformer"].([]any)
	t.Input = inputOf(len(blocks) > 0, r.text(c, "input") != "", r.text(c, "input_path"))
	for i := range r.setup.Rules {
		// Of this[each.key].name a plan lists this alone, and that is resolved to the rule's ARN.
		if rule := &r.setup.Rules[i]; rule.Name == name || rule.ARN == name {
			r.setup.Rules[i].Targets = append(r.setup.Rules[i].Targets, t)
			return
		}
	}
	r.gap("rule of "+c.Address, fmt.Sprintf("the plan does not have the rule %q that this target is for", name))
}

func (r *planReader) alarm(c *planned) {
	a := awssetup.Alarm{
		LogicalID: c.Address, Name: r.text(c, "alarm_name"), Namespace: r.text(c, "namespace"), Metric: r.text(c, "metric_name"),
		Statistic: r.text(c, "statistic"), Comparison: r.text(c, "comparison_operator"), Threshold: r.number(c, "threshold", 0),
		Period: r.seconds(c, "period", 0), Periods: int(r.number(c, "evaluation_periods", 0)), Actions: r.list(c, "alarm_actions"), Dimensions: map[string]string{},
	}
	m, _ := c.Values["dimensions"].(map[string]any)
	for k, v := range m {
		if s, ok := v.(string); ok {
			a.Dimensions[k] = s
		}
	}
	if d := dimensionOf[a.Namespace]; d != "" && a.Dimensions[d] == "" && c.conf != nil {
		// A name that is made up when the plan is applied leaves a hole, or the whole map out.
		if v, ok := r.expr(c.conf.Expressions["dimensions"], c.scope, c); ok && len(v) == 1 {
			a.Dimensions[d] = fmt.Sprint(v[0])
		}
	}
	r.setup.Alarms = append(r.setup.Alarms, a)
}

// dimensionOf is the dimension that names what an alarm of a namespace watches.
var dimensionOf = map[string]string{"AWS/Events": "RuleName", "AWS/SQS": "QueueName"}

func (r *planReader) accessEntry(c *planned) {
	kind := r.text(c, "type")
	if kind == "" {
		kind = "STANDARD"
	}
	r.setup.AccessEntries = append(r.setup.AccessEntries, awssetup.AccessEntry{
		LogicalID: c.Address, Cluster: r.text(c, "cluster_name"), PrincipalARN: r.text(c, "principal_arn"), Type: kind, Groups: r.list(c, "kubernetes_groups"),
	})
}

func (r *planReader) podIdentity(c *planned) {
	r.setup.PodIdentities = append(r.setup.PodIdentities, awssetup.PodIdentity{
		LogicalID: c.Address, Namespace: r.text(c, "namespace"), ServiceAccount: r.text(c, "service_account"), RoleARN: r.text(c, "role_arn"),
	})
}

func (r *planReader) inline(c *planned) {
	name := r.text(c, "role")
	d := r.policyText(c, "policy", "inline policy "+r.name(c)+" of role "+name)
	if d == nil {
		return
	}
	role := r.setup.RoleBy(name)
	if role == nil { // of another plan
		r.setup.Roles = append(r.setup.Roles, awssetup.Role{Name: name})
		role = &r.setup.Roles[len(r.setup.Roles)-1]
	}
	role.Inline = append(role.Inline, iampolicy.Named{Name: r.name(c), Document: d})
}

func (r *planReader) attachment(c *planned) {
	roles := r.list(c, "role")
	if c.Type == "aws_iam_policy_attachment" {
		roles = r.list(c, "roles")
	}
	for _, role := range roles {
		r.attach(role, r.text(c, "policy_arn"))
	}
}

func (r *planReader) attach(role, arn string) {
	if arn == "" || role == "" {
		return
	}
	role = role[strings.LastIndex(role, "/")+1:]
	if found := r.setup.RoleBy(role); found != nil {
		found.ManagedPolicyARNs = appendNew(found.ManagedPolicyARNs, arn)
	}
	for i := range r.setup.Policies {
		if r.setup.Policies[i].ARN == arn {
			r.setup.Policies[i].AttachedTo = appendNew(r.setup.Policies[i].AttachedTo, role)
		}
	}
}

// finish tells the cluster's name from what carries it, if it was not given.
func (r *planReader) finish() {
	for _, name := range []string{"cluster_name", "eks_cluster_name", "cluster"} {
		if v, ok := r.p.file.Variables[name].Value.(string); ok && r.setup.ClusterName == "" {
			r.setup.ClusterName = v
		}
	}
	if r.setup.ClusterName == "" {
		r.setup.ClusterName = clusterNameOf(r.setup)
	}
}
