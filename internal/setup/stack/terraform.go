package stack

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// File is a file of a directory.
type File struct {
	Name    string
	Content []byte
}

// Terraform is the stack as a module. It fits every partition, region and account; the cluster's name, other names, tags
// and what alarms notify are variables, whose defaults are those of the options. Sizes hold for the cluster of the options.
func (s *Stack) Terraform() ([]File, error) {
	parts := []struct {
		name  string
		write func(*module) error
	}{
		{"main.tf", s.mainFile}, {"iam.tf", s.iamFile}, {"queue.tf", s.queueFile}, {"events.tf", s.eventsFile}, {"alarms.tf", s.alarmsFile},
		{"variables.tf", s.variablesFile}, {"outputs.tf", s.outputsFile}, {"versions.tf", versionsFile}, {"moved.tf", s.movedFile},
	}
	names := s.expressions()
	var files []File
	for _, p := range parts {
		m := &module{names: names, adopting: s.Options.Adopt != AdoptNothing}
		if err := p.write(m); err != nil {
			return nil, fmt.Errorf("writing %s: %w", p.name, err)
		}
		if m.Len() > 0 {
			files = append(files, File{p.name, hclwrite.Format([]byte(m.String()))})
		}
	}
	return files, nil
}

func (s *Stack) mainFile(m *module) error {
	m.line(`# The bootstrap stack of an EKS cluster's node autoscaler, in the edition %s, as "kerf stack terraform" wrote it.
#
# Spot instances need a role that an account has once:
#   aws iam create-service-linked-role --aws-service-name spot.amazonaws.com

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region = data.aws_region.current.id
`, s.Options.Compat)
	if len(s.Options.VolumeKeys) > 0 {
		m.line("dns_suffix = data.aws_partition.current.dns_suffix")
	}
	if s.NodeRole != nil {
		m.line("node_principal = local.partition == %q ? %q : %q", partition.China, partition.EC2ServiceChina, partition.EC2Service)
	}
	if s.Options.Compat == Latest {
		m.line("tags = merge({ %q = var.cluster_name }, var.tags)\n}", tagDiscover)
	} else {
		m.line("tags = var.tags\n}")
	}
	if s.AccessEntryType != "" {
		m.line("\nresource \"aws_eks_access_entry\" \"node\" {\ncluster_name = var.cluster_name\nprincipal_arn = %s\ntype = %q\ntags = local.tags\n}",
			m.text(s.Options.nodeRoleARN()), s.AccessEntryType)
	}
	if s.PodIdentity {
		m.line("\nresource \"aws_eks_pod_identity_association\" \"karpenter\" {\ncluster_name = var.cluster_name\nnamespace = %s\nservice_account = %s\n"+
			"role_arn = aws_iam_role.controller.arn\ntags = local.tags\n}", m.text(s.Options.Namespace), m.text(s.Options.ServiceAccount))
	}
	return nil
}

func (s *Stack) iamFile(m *module) error {
	if s.NodeRole != nil {
		if err := m.role("node", "node_iam_role_name", "KarpenterNodeRole-"+refCluster, s.NodeRole); err != nil {
			return err
		}
		m.line("\nresource \"aws_iam_role_policy_attachment\" \"node\" {\nfor_each = { for name, arn in {")
		for _, arn := range s.NodeRole.ManagedPolicies {
			m.line("%s = %s", policyName(arn), m.text(arn))
		}
		m.line("} : name => arn if !contains(keys(var.node_iam_role_additional_policies), name) }\n\nrole = aws_iam_role.node.name\npolicy_arn = each.value\n}")
		m.line("\nresource \"aws_iam_role_policy_attachment\" \"node_additional\" {\nfor_each = var.node_iam_role_additional_policies\n\n" +
			"role = aws_iam_role.node.name\npolicy_arn = each.value\n}\n")
	}
	m.line("resource \"aws_iam_instance_profile\" \"this\" {\ncount = var.create_instance_profile ? 1 : 0\n\nname = %s\npath = %s\nrole = %[1]s\ntags = local.tags",
		m.text(s.Options.nodeRoleName()), m.text(s.Options.Path))
	m.keeps("name", "name_prefix", "path")
	m.line("}")
	for i, p := range s.Policies {
		d, err := m.document(p.Document)
		if err != nil {
			return err
		}
		m.line("\nresource \"aws_iam_policy\" %q {\nname = %s\npath = %s\ntags = local.tags\n\npolicy = %s", policyLabel(p), m.text(p.Name), m.text(p.Path), d)
		if i == 0 || s.Options.Adopt == AdoptLive { // of the EKS module only the one policy that it has is taken over
			m.keeps("name", "name_prefix", "path", "description")
		}
		m.line("}")
	}
	if s.ControllerRole == nil {
		return nil
	}
	m.line("")
	if err := m.role("controller", "iam_role_name", refCluster+"-karpenter", s.ControllerRole); err != nil {
		return err
	}
	m.line("\nresource \"aws_iam_role_policy_attachment\" \"controller\" {\nfor_each = {")
	for _, p := range s.Policies {
		m.line("%s = aws_iam_policy.%[1]s.arn", policyLabel(p))
	}
	m.line("}\n\nrole = aws_iam_role.controller.name\npolicy_arn = each.value\n}")
	m.line("\nresource \"aws_iam_role_policy_attachment\" \"controller_additional\" {\nfor_each = var.iam_role_policies\n\n" +
		"role = aws_iam_role.controller.name\npolicy_arn = each.value\n}")
	return nil
}

func (m *module) role(label, variable, name string, r *Role) error {
	d, err := m.document(r.Trust)
	if err != nil {
		return err
	}
	m.line("resource \"aws_iam_role\" %q {\nname = coalesce(var.%s, %s)\npath = %s\npermissions_boundary = var.iam_role_permissions_boundary_arn\n"+
		"tags = local.tags\n\nassume_role_policy = %s", label, variable, m.text(name), m.text(r.Path), d)
	m.keeps("name", "name_prefix", "path", "description", "max_session_duration", "force_detach_policies")
	m.line("}")
	return nil
}

func (s *Stack) queueFile(m *module) error {
	if s.Options.QueueARN != "" {
		return nil
	}
	if k := s.Key; k != nil {
		d, err := m.document(k.Policy)
		if err != nil {
			return err
		}
		m.line("resource \"aws_kms_key\" \"queue\" {\ndescription = %s\nenable_key_rotation = true\ntags = local.tags\n\npolicy = %s\n}", m.text(k.Description), d)
		m.line("\nresource \"aws_kms_alias\" \"queue\" {\nname = %s\ntarget_key_id = aws_kms_key.queue.key_id\n}\n", m.text(k.Alias))
	}
	if err := m.queue("this", "coalesce(var.queue_name, var.cluster_name)", &s.Queue); err != nil {
		return err
	}
	if s.DeadLetter == nil {
		return nil
	}
	m.line("\n# What could not be delivered or handled. It has no key of the account's own, for that key may be what kept an event out.")
	return m.queue("dead_letter", `"${coalesce(var.queue_name, var.cluster_name)}`+deadSuffix+`"`, s.DeadLetter)
}

func (m *module) queue(label, name string, q *Queue) error {
	m.line("resource \"aws_sqs_queue\" %q {\nname = %s\nmessage_retention_seconds = %d\ndelay_seconds = 0", label, name, seconds(q.Retention))
	if q.Visibility > 0 {
		m.line("visibility_timeout_seconds = %d", seconds(q.Visibility))
	}
	if q.KMSKey == "" {
		m.line("sqs_managed_sse_enabled = true")
	} else {
		m.line("kms_master_key_id = %s", m.text(q.KMSKey))
	}
	m.line("tags = local.tags")
	if q.DeadLetter != "" {
		m.line("\nredrive_policy = jsonencode({\ndeadLetterTargetArn = %s\nmaxReceiveCount = %d\n})", m.text(q.DeadLetter), q.MaxReceives)
	}
	d, err := m.document(q.Policy)
	if err != nil {
		return err
	}
	m.keeps("name", "name_prefix")
	m.line("}\n\nresource \"aws_sqs_queue_policy\" %q {\nqueue_url = aws_sqs_queue.%[1]s.url\n\npolicy = %s\n}", label, d)
	return nil
}

func (s *Stack) eventsFile(m *module) error {
	if len(s.Rules) == 0 {
		return nil
	}
	m.line("locals {\nevents = {")
	for _, r := range s.Rules {
		m.line("%s = {\ndescription = %s\nsource = %s\ndetail_type = %s\n}", r.Kind, m.text("Events on "+r.Description), m.text(r.Source), m.text(r.DetailType))
	}
	m.line(`}
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each = local.events

  name_prefix = "Karpenter${each.key}-"
  description = each.value.description
  tags = local.tags

  event_pattern = jsonencode({
    source = [each.value.source]
    detail-type = [each.value.detail_type]
  })`)
	m.keeps("name", "name_prefix")
	m.line(`}

resource "aws_cloudwatch_event_target" "this" {
  for_each = local.events

  rule = aws_cloudwatch_event_rule.this[each.key].name
  target_id = %q
  arn = aws_sqs_queue.this.arn`, targetID)
	if s.DeadLetter != nil {
		m.line("\ndead_letter_config {\narn = aws_sqs_queue.dead_letter.arn\n}")
	}
	m.keeps("target_id")
	m.line("}")
	return nil
}

func (s *Stack) alarmsFile(m *module) error {
	for i, a := range s.Alarms {
		if i > 0 {
			m.line("")
		}
		m.line("resource \"aws_cloudwatch_metric_alarm\" %q {", alarmLabel(a))
		m.line("alarm_name = %s\nalarm_description = %s\nnamespace = %q\nmetric_name = %q\nstatistic = %q", m.text(a.Name), m.text(a.Description), a.Namespace, a.Metric, a.Statistic)
		m.line("period = %d\nevaluation_periods = %d\nthreshold = %d\ncomparison_operator = \"GreaterThanThreshold\"\ntreat_missing_data = \"notBreaching\"",
			seconds(a.Period), a.Periods, a.Threshold)
		m.line("alarm_actions = var.alarm_actions\ntags = local.tags\n\ndimensions = {\n%s = %s\n}\n}", a.Dimension, m.text(a.Value))
	}
	return nil
}

// alarmLabel is what an alarm is called in the module.
func alarmLabel(a Alarm) string { return snake(strings.TrimSuffix(a.LogicalID, "Alarm")) }

func versionsFile(m *module) error {
	m.line(`terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      version = ">= 5.40"
    }
  }
}`)
	return nil
}
