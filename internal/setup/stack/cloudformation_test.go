package stack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// deployed reads a template back as a deployment would: with the values of resources as the model predicts them.
func deployed(t *testing.T, s *Stack, region string) *awssetup.Setup {
	t.Helper()
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	template, err := cfn.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range template.Notes {
		t.Errorf("the reader notes: %v", n)
	}
	values := s.resolver(testAccount, region).values
	known := func(name string) (any, error) {
		if v, ok := values[name]; ok {
			return v, nil
		}
		return nil, fmt.Errorf("no value for %s", name)
	}
	p := partition.Of(region)
	e, err := template.In(cfn.Scope{
		Pseudo:     cfn.Pseudo{Partition: p.Name, URLSuffix: p.Suffix, Region: region, AccountID: testAccount, StackName: "Karpenter-demo"},
		Parameters: map[string]any{"ClusterName": s.Options.ClusterName},
		Ref:        known, GetAtt: func(resource, attribute string) (any, error) { return known(resource + "." + attribute) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, setup: &awssetup.Setup{Source: "kerf stack", Partition: p.Name, Region: region, AccountID: testAccount, ClusterName: s.Options.ClusterName}, values: values}
	for _, res := range template.Resources {
		properties, err := e.Properties(res)
		if err != nil {
			t.Fatal(err)
		}
		r.resource(res.ID, res.Type, properties)
	}
	if _, err := e.Outputs(); err != nil {
		t.Error(err)
	}
	r.attach()
	return r.setup
}

// reader turns the properties of resources into a setup.
type reader struct {
	t      *testing.T
	setup  *awssetup.Setup
	values map[string]string
}

type properties map[string]any

func (p properties) text(key string) string { s, _ := cfn.TextOf(p[key]); return s }

func (p properties) seconds(key string) time.Duration {
	n, _ := cfn.IntOf(p[key])
	return time.Duration(n) * time.Second
}

func (p properties) inside(key string) properties { m, _ := p[key].(map[string]any); return m }

func (p properties) tags() map[string]string {
	out := map[string]string{}
	for _, x := range cfn.ListOf(p["Tags"]) {
		tag := properties(x.(map[string]any))
		out[tag.text("Key")] = tag.text("Value")
	}
	return out
}

func (r *reader) document(v any) *iampolicy.Document {
	r.t.Helper()
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			r.t.Fatal(err)
		}
		text = string(b)
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *reader) resource(id, kind string, values map[string]any) {
	p, arn := properties(values), r.values[id+".Arn"]
	s := r.setup
	switch kind {
	case "AWS::IAM::Role":
		s.Roles = append(s.Roles, awssetup.Role{
			LogicalID: id, Name: p.text("RoleName"), Path: p.text("Path"), ARN: arn, Trust: r.document(p["AssumeRolePolicyDocument"]),
			ManagedPolicyARNs: cfn.TextsOf(p["ManagedPolicyArns"]), Boundary: p.text("PermissionsBoundary"), Tags: p.tags(),
		})
	case "AWS::IAM::ManagedPolicy":
		d := r.document(p["PolicyDocument"])
		s.Policies = append(s.Policies, awssetup.Policy{LogicalID: id, Name: p.text("ManagedPolicyName"), ARN: r.values[id], Document: d, Characters: iampolicy.Size(d.JSON())})
	case "AWS::SQS::Queue":
		q := awssetup.Queue{
			LogicalID: id, Name: p.text("QueueName"), ARN: arn, URL: r.values[id], Retention: p.seconds("MessageRetentionPeriod"), Visibility: 30 * time.Second,
			KMSKey: p.text("KmsMasterKeyId"), Tags: p.tags(),
		}
		if v := p.seconds("VisibilityTimeout"); v > 0 {
			q.Visibility = v
		}
		q.ManagedSSE, _ = cfn.BoolOf(p["SqsManagedSseEnabled"])
		redrive := p.inside("RedrivePolicy")
		q.DeadLetter = redrive.text("deadLetterTargetArn")
		q.MaxReceives, _ = cfn.IntOf(redrive["maxReceiveCount"])
		s.Queues = append(s.Queues, q)
	case "AWS::SQS::QueuePolicy":
		for i := range s.Queues {
			if slices.Contains(cfn.TextsOf(p["Queues"]), s.Queues[i].URL) {
				s.Queues[i].Policy = r.document(p["PolicyDocument"])
			}
		}
	case "AWS::KMS::Key":
		s.Keys = append(s.Keys, awssetup.Key{LogicalID: id, ID: r.values[id], ARN: arn, Manager: "CUSTOMER", Enabled: true, Policy: r.document(p["KeyPolicy"])})
		s.Keys[0].Rotation, _ = cfn.BoolOf(p["EnableKeyRotation"])
	case "AWS::KMS::Alias":
		s.Keys[0].Aliases = append(s.Keys[0].Aliases, p.text("AliasName"))
	default:
		r.event(id, kind, p)
	}
}

func (r *reader) event(id, kind string, p properties) {
	s := r.setup
	switch kind {
	case "AWS::Events::Rule":
		pattern, err := json.Marshal(p["EventPattern"])
		if err != nil {
			r.t.Fatal(err)
		}
		rule := awssetup.Rule{LogicalID: id, Name: r.values[id], ARN: r.values[id+".Arn"], Description: p.text("Description"), Pattern: pattern, Enabled: true}
		for _, x := range cfn.ListOf(p["Targets"]) {
			target := properties(x.(map[string]any))
			rule.Targets = append(rule.Targets, awssetup.Target{ID: target.text("Id"), ARN: target.text("Arn"), DeadLetter: target.inside("DeadLetterConfig").text("Arn")})
		}
		s.Rules = append(s.Rules, rule)
	case "AWS::CloudWatch::Alarm":
		d := properties(cfn.ListOf(p["Dimensions"])[0].(map[string]any))
		threshold, _ := cfn.FloatOf(p["Threshold"])
		periods, _ := cfn.IntOf(p["EvaluationPeriods"])
		s.Alarms = append(s.Alarms, awssetup.Alarm{
			LogicalID: id, Name: p.text("AlarmName"), Namespace: p.text("Namespace"), Metric: p.text("MetricName"), Statistic: p.text("Statistic"),
			Dimensions: map[string]string{d.text("Name"): d.text("Value")}, Comparison: p.text("ComparisonOperator"), Threshold: threshold,
			Period: p.seconds("Period"), Periods: periods, Actions: cfn.TextsOf(p["AlarmActions"]),
		})
	case "AWS::EKS::AccessEntry":
		s.AccessEntries = append(s.AccessEntries, awssetup.AccessEntry{LogicalID: id, PrincipalARN: p.text("PrincipalArn"), Type: p.text("Type")})
	case "AWS::EKS::PodIdentityAssociation":
		s.PodIdentities = append(s.PodIdentities, awssetup.PodIdentity{
			LogicalID: id, Namespace: p.text("Namespace"), ServiceAccount: p.text("ServiceAccount"), RoleARN: p.text("RoleArn"),
		})
	default:
		r.t.Errorf("%s has type %s, which this test does not read", id, kind)
	}
}

// attach notes with each policy the roles that name it.
func (r *reader) attach() {
	for i := range r.setup.Policies {
		for _, role := range r.setup.Roles {
			if slices.Contains(role.ManagedPolicyARNs, r.setup.Policies[i].ARN) {
				r.setup.Policies[i].AttachedTo = append(r.setup.Policies[i].AttachedTo, role.Name)
			}
		}
	}
}

var setupOptions = cmp.Options{
	cmp.Transformer("Pattern", func(p json.RawMessage) map[string]any {
		var m map[string]any
		if err := json.Unmarshal(p, &m); err != nil {
			return map[string]any{"bad": string(p)}
		}
		return m
	}),
	cmp.Transformer("Document", func(d *iampolicy.Document) string { return string(d.JSON()) }),
	cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore()),
}

// TestTemplatesReadBackAreTheModel holds the writer of templates and Setup to each other, through a reader that shares
// nothing with either.
func TestTemplatesReadBackAreTheModel(t *testing.T) {
	changes := map[string]func(*Options){
		"with defaults":   func(*Options) {},
		"with everything": everything,
		"with other names": func(o *Options) {
			o.NodeRoleName, o.ControllerRoleName, o.QueueName, o.PolicySuffix = "nodes", "controller", "notices", "short"
			o.Path, o.PermissionsBoundary, o.Tags = "/karpenter/", "arn:aws:iam::111122223333:policy/boundary", map[string]string{"team": "a", "on": "true"}
			o.Controller, o.OIDCProvider = IRSA, "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/0123"
			o.Retention, o.Visibility = 10*time.Minute, time.Minute
		},
		"with a key that exists": func(o *Options) { o.KMSKey = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd" },
	}
	eachEdition(t, func(t *testing.T, c Compat) {
		for name, change := range changes {
			for _, region := range []string{"eu-west-1", "cn-north-1", "us-iso-east-1"} {
				s := makeStack(t, c, change)
				if diff := cmp.Diff(s.Setup(testAccount, region), deployed(t, s, region), setupOptions); diff != "" {
					t.Errorf("%s in %s (-model +template):\n%s", name, region, diff)
				}
			}
		}
	})
}

func TestNoReferenceIsLeftOver(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		s := makeStack(t, c, everything)
		b, err := json.Marshal(s.Setup(testAccount, "eu-west-1"))
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(b), "${"); i >= 0 {
			t.Errorf("the setup has an unresolved reference: %.60s", b[i:])
		}
	})
}

// TestOneTemplateServesManyClusters: the parameter is all that makes the difference.
func TestOneTemplateServesManyClusters(t *testing.T) {
	s := makeStack(t, Latest, everything)
	other := makeStack(t, Latest, everything, func(o *Options) { o.ClusterName = "another" })
	ours, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.NewReplacer("cluster another,", "cluster demo,", "Karpenter-another", "Karpenter-demo", "Default: another", "Default: demo").Replace(string(theirs)); got != string(ours) {
		t.Errorf("templates of two clusters differ in more than the default:\n%s", cmp.Diff(string(ours), got))
	}
}

// outputsOf says which output of the template is which of the module.
var outputsOf = map[string]string{
	"iam_role_name": "ControllerRoleName", "iam_role_arn": "ControllerRoleArn", "iam_role_unique_id": "ControllerRoleId", "namespace": "ControllerNamespace",
	"service_account": "ControllerServiceAccount", "queue_arn": "InterruptionQueueArn", "queue_name": "InterruptionQueueName", "queue_url": "InterruptionQueueUrl",
	"queue_kms_key_arn": "InterruptionQueueKeyArn", "dead_letter_queue_arn": "DeadLetterQueueArn", "node_iam_role_name": "NodeRoleName", "node_iam_role_arn": "NodeRoleArn",
	"node_iam_role_unique_id": "NodeRoleId", "node_access_entry_arn": "NodeAccessEntryArn", "iam_policy_arns": "KarpenterControllerNodeLifecyclePolicyArn",
	"event_rules": "SpotInterruptionRuleArn",
}

// TestTemplatesAndModulesHaveTheSameOutputs, but for the instance profile, which modules alone can make.
func TestTemplatesAndModulesHaveTheSameOutputs(t *testing.T) {
	s := makeStack(t, Latest, everything)
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	_, outputs, _ := strings.Cut(string(text), "\nOutputs:\n")
	for name := range parseModule(t, s).outputs {
		if id := outputsOf[name]; !strings.HasPrefix(name, "instance_profile_") && (id == "" || !strings.Contains(outputs, "  "+id+":\n")) {
			t.Errorf("the template has no output for %s", name)
		}
	}
}
