package setupfile

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

func (r *templateReader) arn(service, id string) string {
	return Place{r.setup.Partition, r.setup.Region, r.setup.AccountID}.ARN(service, id)
}

func (r *templateReader) global(service, id string) string {
	return Place{r.setup.Partition, r.setup.Region, r.setup.AccountID}.Global(service, id)
}

func (c *resource) path() string {
	if p := c.text("Path"); strings.HasPrefix(p, "/") {
		return p
	}
	return "/"
}

func (r *templateReader) role(c *resource) {
	name := c.name("RoleName")
	role := awssetup.Role{
		LogicalID: c.ID, Name: name, Path: c.path(), ARN: r.global("iam", "role"+c.path()+name),
		Trust:             r.document(c.Values["AssumeRolePolicyDocument"], "trust policy of role "+name),
		ManagedPolicyARNs: c.list("ManagedPolicyArns"), Boundary: c.text("PermissionsBoundary"), Tags: c.tags(),
	}
	for _, v := range cfn.ListOf(c.Values["Policies"]) {
		m, _ := v.(map[string]any)
		policy := r.text(m["PolicyName"], c.what("Policies"))
		if d := r.document(m["PolicyDocument"], "inline policy "+policy+" of role "+name); d != nil {
			role.Inline = append(role.Inline, iampolicy.Named{Name: policy, Document: d})
		}
	}
	r.setup.Roles = append(r.setup.Roles, role)
}

func (r *templateReader) policy(c *resource) {
	name := c.name("ManagedPolicyName")
	d := r.document(c.Values["PolicyDocument"], "document of policy "+name)
	p := awssetup.Policy{
		LogicalID: c.ID, Name: name, ARN: r.global("iam", "policy"+c.path()+name), Document: d, AttachedTo: c.list("Roles"),
	}
	if d != nil {
		p.Characters = iampolicy.Size(d.JSON())
	}
	r.setup.Policies = append(r.setup.Policies, p)
}

func (r *templateReader) queue(c *resource) {
	name := c.name("QueueName")
	q := awssetup.Queue{
		LogicalID: c.ID, Name: name, ARN: r.arn("sqs", name), FIFO: c.flag("FifoQueue"),
		URL:        "https://sqs." + r.setup.Region + "." + partition.SuffixOf(r.setup.Partition) + "/" + r.setup.AccountID + "/" + name,
		Retention:  c.seconds("MessageRetentionPeriod", defaultRetention),
		Visibility: c.seconds("VisibilityTimeout", defaultVisibility),
		Delay:      c.seconds("DelaySeconds", 0), MaxMessage: int(c.seconds("MaximumMessageSize", 0) / time.Second),
		KMSKey: c.text("KmsMasterKeyId"), Tags: c.tags(),
	}
	// SQS encrypts with keys of its own unless told otherwise.
	q.ManagedSSE = c.flag("SqsManagedSseEnabled") || c.Values["SqsManagedSseEnabled"] == nil && q.KMSKey == ""
	redrive := c.Values["RedrivePolicy"]
	if text, ok := redrive.(string); ok {
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) == nil {
			redrive = v
		}
	}
	if m, ok := redrive.(map[string]any); ok {
		q.DeadLetter = r.text(m["deadLetterTargetArn"], c.what("RedrivePolicy"))
		q.MaxReceives, _ = cfn.IntOf(m["maxReceiveCount"])
	}
	r.setup.Queues = append(r.setup.Queues, q)
}

func (r *templateReader) queuePolicy(c *resource) {
	urls := append(c.list("Queues"), c.list("Queue")...)
	for i := range r.setup.Queues {
		if q := &r.setup.Queues[i]; slices.Contains(urls, q.URL) || slices.Contains(urls, q.ARN) {
			q.Policy = r.document(c.Values["PolicyDocument"], "queue policy of "+q.ARN)
		}
	}
}

func (r *templateReader) key(c *resource) {
	id := r.text(c.Ref, c.ID)
	arn := r.arn("kms", "key/"+id)
	enabled, given := cfn.BoolOf(c.Values["Enabled"])
	r.setup.Keys = append(r.setup.Keys, awssetup.Key{
		LogicalID: c.ID, ID: id, ARN: arn, Manager: "CUSTOMER", Enabled: enabled || !given,
		Rotation: c.flag("EnableKeyRotation"), Policy: r.document(c.Values["KeyPolicy"], "key policy of "+arn),
	})
}

func (r *templateReader) alias(c *resource) {
	target := c.text("TargetKeyId")
	for i := range r.setup.Keys {
		if k := &r.setup.Keys[i]; k.ID == target || k.ARN == target {
			k.Aliases = append(k.Aliases, c.text("AliasName"))
		}
	}
}

func (r *templateReader) rule(c *resource) {
	name := c.name("Name")
	rule := awssetup.Rule{LogicalID: c.ID, Name: name, ARN: r.arn("events", "rule/"+name), Enabled: c.text("State") != "DISABLED", Bus: c.bus()}
	switch pattern := r.plain(c.Values["EventPattern"], "pattern of rule "+name).(type) {
	case nil:
		return // by schedule
	case string:
		rule.Pattern = json.RawMessage(pattern)
	default:
		data, err := json.Marshal(pattern)
		if err != nil {
			r.gap("pattern of rule "+name, err.Error())
			return
		}
		rule.Pattern = data
	}
	for _, v := range cfn.ListOf(c.Values["Targets"]) {
		m, _ := v.(map[string]any)
		t := awssetup.Target{ID: r.text(m["Id"], c.what("Targets")), ARN: r.text(m["Arn"], "target of rule "+name)}
		if d, ok := m["DeadLetterConfig"].(map[string]any); ok {
			t.DeadLetter = r.text(d["Arn"], c.what("Targets"))
		}
		t.Input = inputOf(m["InputTransformer"] != nil, m["Input"] != nil, r.text(m["InputPath"], c.what("Targets")))
		rule.Targets = append(rule.Targets, t)
	}
	r.setup.Rules = append(r.setup.Rules, rule)
}

func (r *templateReader) alarm(c *resource) {
	threshold, _ := cfn.FloatOf(c.Values["Threshold"])
	a := awssetup.Alarm{
		LogicalID: c.ID, Name: c.name("AlarmName"), Namespace: c.text("Namespace"), Metric: c.text("MetricName"),
		Statistic: c.text("Statistic"), Comparison: c.text("ComparisonOperator"), Threshold: threshold,
		Period: c.seconds("Period", 0), Periods: c.whole("EvaluationPeriods"), Actions: c.list("AlarmActions"), Dimensions: map[string]string{},
	}
	for _, v := range cfn.ListOf(c.Values["Dimensions"]) {
		m, _ := v.(map[string]any)
		a.Dimensions[r.text(m["Name"], c.what("Dimensions"))] = r.text(m["Value"], c.what("Dimensions"))
	}
	r.setup.Alarms = append(r.setup.Alarms, a)
}

func (r *templateReader) accessEntry(c *resource) {
	kind := c.text("Type")
	if kind == "" {
		kind = "STANDARD"
	}
	r.setup.AccessEntries = append(r.setup.AccessEntries, awssetup.AccessEntry{
		LogicalID: c.ID, Cluster: c.text("ClusterName"), PrincipalARN: c.text("PrincipalArn"), Type: kind, Groups: c.list("KubernetesGroups"),
	})
}

func (r *templateReader) podIdentity(c *resource) {
	r.setup.PodIdentities = append(r.setup.PodIdentities, awssetup.PodIdentity{
		LogicalID: c.ID, Namespace: c.text("Namespace"), ServiceAccount: c.text("ServiceAccount"), RoleARN: c.text("RoleArn"),
	})
}

func (r *templateReader) inline(c *resource) {
	for _, name := range append(c.list("Roles"), c.list("RoleName")...) {
		d := r.document(c.Values["PolicyDocument"], "inline policy "+c.ID+" of role "+name)
		if d == nil {
			continue
		}
		role := r.setup.RoleBy(name)
		if role == nil { // of another stack
			r.setup.Roles = append(r.setup.Roles, awssetup.Role{Name: name})
			role = &r.setup.Roles[len(r.setup.Roles)-1]
		}
		role.Inline = append(role.Inline, iampolicy.Named{Name: c.name("PolicyName"), Document: d})
	}
}
