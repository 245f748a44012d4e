package stack

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// attribute are references that GetAtt takes.
var attribute = regexp.MustCompile(`^[A-Za-z0-9]+\.[A-Za-z]+$`)

// inChina is the condition on which EC2 has another name.
const inChina = "InChina"

// CloudFormation is the stack as a template for "aws cloudformation deploy". It fits every partition, region and account,
// and its one parameter is the cluster's name, so that one file serves many clusters; names that were given in the
// options, and sizes, hold for the cluster of the options only.
func (s *Stack) CloudFormation() ([]byte, error) {
	o := &s.Options
	top := fields{
		{"AWSTemplateFormatVersion", literal("2010-09-09")},
		{"Description", "Node role, controller permissions and interruption queue for the node autoscaler of an EKS cluster"},
		{"Parameters", fields{{"ClusterName", fields{
			{"Type", "String"},
			{"Description", "EKS cluster name"},
			{"Default", literal(o.ClusterName)},
			{"MaxLength", s.longestClusterName()},
			{"AllowedPattern", literal(clusterNames.String())},
		}}}},
	}
	if s.NodeRole != nil {
		top = top.with("Conditions", fields{{inChina, fields{{"Fn::Equals", []any{refPartition, partition.China}}}}})
	}
	top = top.with("Resources", s.resources()).with("Outputs", s.outputs())
	head := fmt.Sprintf(`# The bootstrap stack of cluster %s, in the edition %s, as "kerf stack cloudformation" wrote it.
# Deploy it with: aws cloudformation deploy --stack-name Karpenter-%[3]s --template-file FILE --capabilities CAPABILITY_NAMED_IAM
# Spot instances need a role that an account has once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com
`, o.ClusterName, o.Compat, strings.ReplaceAll(o.ClusterName, "_", "-")) // names of stacks have no _
	return writeYAML(head, top)
}

// longestClusterName is how long a cluster's name may be that the template is deployed for: names are made of it.
func (s *Stack) longestClusterName() int {
	o := &s.Options
	n := maxClusterName
	if o.NodeRole == "" && o.NodeRoleName == "" {
		n = min(n, maxRoleName-len("KarpenterNodeRole-"))
	}
	if s.ControllerRole != nil && o.ControllerRoleName == "" {
		n = min(n, maxRoleName-len("-karpenter"))
	}
	if o.QueueName == "" && s.DeadLetter != nil {
		n = min(n, maxQueueName-len(deadSuffix))
	} else if o.QueueName == "" && o.QueueARN == "" {
		n = min(n, maxQueueName)
	}
	if o.PolicySuffix == "" {
		for _, p := range s.Policies {
			n = min(n, maxPolicyName-len(strings.ReplaceAll(p.Name, refCluster, "")))
		}
	}
	return s.longestThatFits(n)
}

// longestThatFits is how long a cluster's name may be, up to n, for IAM to take the policies with it. That of the options fits.
func (s *Stack) longestThatFits(n int) int {
	fits := func(length int) bool {
		named := *s
		named.Options.ClusterName = strings.Repeat("n", length)
		return !slices.ContainsFunc(s.Policies, func(p Policy) bool { return named.largest(p.Document) > iampolicy.ManagedPolicyLimit })
	}
	least := min(n, len(s.Options.ClusterName))
	return least + sort.Search(n-least, func(i int) bool { return !fits(least + i + 1) })
}

func resource(kind string, properties fields) fields {
	return fields{{"Type", kind}, {"Properties", properties}}
}

func (s *Stack) resources() fields {
	var list fields
	if s.NodeRole != nil {
		list = list.with(idNodeRole, roleResource(s.NodeRole))
	}
	for _, p := range s.Policies {
		f := fields{{"ManagedPolicyName", p.Name}}
		if p.Path != "/" {
			f = f.with("Path", p.Path)
		}
		list = list.with(p.LogicalID, resource("AWS::IAM::ManagedPolicy", f.with("PolicyDocument", embedded{p.Document})))
	}
	if s.ControllerRole != nil {
		list = list.with(idControllerRole, roleResource(s.ControllerRole))
	}
	if k := s.Key; k != nil {
		f := fields{{"Description", k.Description}, {"EnableKeyRotation", true}, {"KeyPolicy", k.Policy}}
		list = list.with(k.LogicalID, resource("AWS::KMS::Key", withTags(f, k.Tags))).
			with(k.AliasID, resource("AWS::KMS::Alias", fields{{"AliasName", k.Alias}, {"TargetKeyId", "${" + k.LogicalID + "}"}}))
	}
	if o := &s.Options; o.QueueARN == "" {
		list = append(list, queueResources(&s.Queue)...)
	}
	if s.DeadLetter != nil {
		list = append(list, queueResources(s.DeadLetter)...)
	}
	for _, r := range s.Rules {
		list = list.with(r.LogicalID, ruleResource(r))
	}
	for _, a := range s.Alarms {
		list = list.with(a.LogicalID, alarmResource(a))
	}
	return append(list, s.mappings()...)
}

// mappings are what ties the roles to the cluster.
func (s *Stack) mappings() fields {
	var list fields
	if s.AccessEntryType != "" {
		list = list.with(idAccessEntry, resource("AWS::EKS::AccessEntry", fields{
			{"ClusterName", refCluster}, {"PrincipalArn", s.Options.nodeRoleARN()}, {"Type", s.AccessEntryType},
		}))
	}
	if s.PodIdentity {
		list = list.with(idPodIdentity, resource("AWS::EKS::PodIdentityAssociation", fields{
			{"ClusterName", refCluster}, {"Namespace", s.Options.Namespace}, {"ServiceAccount", s.Options.ServiceAccount}, {"RoleArn", arnOf(idControllerRole)},
		}))
	}
	return list
}

func roleResource(r *Role) fields {
	f := fields{{"RoleName", r.Name}, {"Path", r.Path}}
	if r.Boundary != "" {
		f = f.with("PermissionsBoundary", r.Boundary)
	}
	var managed []any
	for _, arn := range r.ManagedPolicies {
		managed = append(managed, arn)
	}
	f = f.with("AssumeRolePolicyDocument", r.Trust).with("ManagedPolicyArns", managed)
	return resource("AWS::IAM::Role", withTags(f, r.Tags))
}

func withTags(f fields, tags []Tag) fields {
	if len(tags) == 0 {
		return f
	}
	var list []any
	for _, t := range tags {
		list = append(list, fields{{"Key", literal(t.Key)}, {"Value", t.Value}})
	}
	return f.with("Tags", list)
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func queueResources(q *Queue) fields {
	f := fields{{"QueueName", q.Name}, {"MessageRetentionPeriod", seconds(q.Retention)}, {"DelaySeconds", 0}}
	if q.Visibility > 0 {
		f = f.with("VisibilityTimeout", seconds(q.Visibility))
	}
	if q.KMSKey == "" {
		f = f.with("SqsManagedSseEnabled", true)
	} else {
		f = f.with("KmsMasterKeyId", q.KMSKey)
	}
	if q.DeadLetter != "" {
		f = f.with("RedrivePolicy", fields{{"deadLetterTargetArn", q.DeadLetter}, {"maxReceiveCount", q.MaxReceives}})
	}
	return fields{
		{q.LogicalID, resource("AWS::SQS::Queue", withTags(f, q.Tags))},
		{q.PolicyID, resource("AWS::SQS::QueuePolicy", fields{{"Queues", []any{"${" + q.LogicalID + "}"}}, {"PolicyDocument", q.Policy}})},
	}
}

func ruleResource(r Rule) fields {
	target := fields{{"Id", targetID}, {"Arn", arnOf(idQueue)}}
	if r.DeadLetter != "" {
		target = target.with("DeadLetterConfig", fields{{"Arn", r.DeadLetter}})
	}
	return resource("AWS::Events::Rule", fields{
		{"EventPattern", fields{{"source", []any{r.Source}}, {"detail-type", []any{r.DetailType}}}},
		{"Targets", []any{target}},
	})
}

func alarmResource(a Alarm) fields {
	f := fields{
		{"AlarmName", a.Name}, {"AlarmDescription", a.Description}, {"Namespace", a.Namespace}, {"MetricName", a.Metric},
		{"Dimensions", []any{fields{{"Name", a.Dimension}, {"Value", a.Value}}}},
		{"Statistic", a.Statistic}, {"Period", seconds(a.Period)}, {"EvaluationPeriods", a.Periods},
		{"Threshold", a.Threshold}, {"ComparisonOperator", "GreaterThanThreshold"}, {"TreatMissingData", "notBreaching"},
	}
	if len(a.Actions) > 0 {
		var list []any
		for _, arn := range a.Actions {
			list = append(list, arn)
		}
		f = f.with("AlarmActions", list)
	}
	return resource("AWS::CloudWatch::Alarm", f)
}

// outputs are the same as those of the module, by the names that templates give things.
func (s *Stack) outputs() fields {
	var list fields
	add := func(name, description, value string) {
		list = list.with(name, fields{{"Description", description}, {"Value", value}})
	}
	add("NodeRoleName", "spec.role of EC2NodeClasses", s.Options.nodeRoleName())
	add("NodeRoleArn", "Role of the nodes, to map to the cluster", s.Options.nodeRoleARN())
	if s.NodeRole != nil {
		add("NodeRoleId", "Unique id of the node role", "${"+idNodeRole+".RoleId}")
	}
	if s.AccessEntryType != "" {
		add("NodeAccessEntryArn", "Access entry of the node role", "${"+idAccessEntry+".AccessEntryArn}")
	}
	add("InterruptionQueueName", "Setting INTERRUPTION_QUEUE of the controller", s.Options.queueName())
	add("InterruptionQueueUrl", "The same queue, as its API names it", s.Options.queueURL())
	add("InterruptionQueueArn", "The same queue, as policies and rules name it; INTERRUPTION_QUEUE for one of another account", s.Options.queueARN())
	if s.Queue.KMSKey != "" {
		add("InterruptionQueueKeyArn", "Key that the queue is encrypted with", s.Queue.KMSKey)
	}
	if s.DeadLetter != nil {
		add("DeadLetterQueueArn", "Queue of what could not be delivered or handled", arnOf(idDeadLetter))
	}
	for _, r := range s.Rules {
		add(r.LogicalID+"Arn", "Rule that feeds the queue", arnOf(r.LogicalID))
	}
	if s.ControllerRole != nil {
		add("ControllerRoleName", "Role of the controller's pods", "${"+idControllerRole+"}")
		add("ControllerRoleArn", "The same role, for the annotation eks.amazonaws.com/role-arn", arnOf(idControllerRole))
		add("ControllerRoleId", "Unique id of the controller role", "${"+idControllerRole+".RoleId}")
		add("ControllerNamespace", "Namespace of the controller", s.Options.Namespace)
		add("ControllerServiceAccount", "Service account of the controller", s.Options.ServiceAccount)
	}
	for _, p := range s.Policies {
		add(p.LogicalID+"Arn", "Policy of the controller's role", "${"+p.LogicalID+"}")
	}
	return list
}
