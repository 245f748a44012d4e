package stack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// variable writes one variable. check is a condition on it with what to say when it does not hold; empty: none.
func (m *module) variable(name, kind, description, value, check, message string) {
	if m.Len() > 0 {
		m.line("")
	}
	m.line("variable %q {\ndescription = %s\ntype = %s\ndefault = %s", name, m.text(description), kind, value)
	if check != "" {
		m.line("\nvalidation {\ncondition = %s\nerror_message = %s\n}", check, m.text(message))
	}
	m.line("}")
}

func (s *Stack) variablesFile(m *module) error {
	o := &s.Options
	longest := s.longestThatFits(maxClusterName) // other names have variables of their own
	message := fmt.Sprintf("Use up to %d letters, digits, - and _, beginning with a letter or digit.", longest)
	if longest < maxClusterName {
		message += " With a longer name a policy would be too large for IAM: write the module for that name, with kerf stack terraform --cluster-name."
	}
	m.variable("cluster_name", "string", "Name of the EKS cluster", m.text(o.ClusterName),
		fmt.Sprintf("can(regex(%s, var.cluster_name)) && length(var.cluster_name) <= %d", m.text(clusterNames.String()), longest),
		message)
	name := func(variable, description, given string, limit int) {
		value := "null"
		if given != "" {
			value = m.text(given)
		}
		m.variable(variable, "string", description, value, fmt.Sprintf("length(coalesce(var.%s, \"-\")) <= %d", variable, limit),
			fmt.Sprintf("AWS allows %d characters.", limit))
	}
	if s.NodeRole != nil {
		name("node_iam_role_name", "Name of the node role; null: KarpenterNodeRole-<cluster>, which may have 64 characters", o.NodeRoleName, maxRoleName)
	}
	if s.ControllerRole != nil {
		name("iam_role_name", "Name of the controller role; null: <cluster>-karpenter, which may have 64 characters", o.ControllerRoleName, maxRoleName)
	}
	limit := maxQueueName
	if s.DeadLetter != nil {
		limit -= len(deadSuffix)
	}
	if o.QueueARN == "" {
		name("queue_name", fmt.Sprintf("Name of the interruption queue; null: that of the cluster, which may then have %d characters", limit), o.QueueName, limit)
	}
	if s.NodeRole != nil {
		m.variable("node_iam_role_additional_policies", "map(string)", "ARNs of further policies of the node role, by a name of your choice", "{}", "", "")
	}
	if s.ControllerRole != nil {
		m.variable("iam_role_policies", "map(string)", "ARNs of further policies of the controller role, by a name of your choice", "{}", "", "")
	}
	m.variable("create_instance_profile", "bool", "Make an instance profile of the node role, for spec.instanceProfile; spec.role needs none", "false", "", "")
	m.variable("iam_role_permissions_boundary_arn", "string", "ARN of the permissions boundary of the roles; null: none", orNull(m, o.PermissionsBoundary), "", "")
	m.variable("tags", "map(string)", "Further tags of all that can carry any", m.tags(o.Tags), "", "")
	if len(s.Alarms) > 0 {
		m.variable("alarm_actions", "list(string)", "ARNs that alarms notify, such as those of SNS topics", m.list(o.AlarmActions), "", "")
	}
	return nil
}

func orNull(m *module, s string) string {
	if s == "" {
		return "null"
	}
	return m.text(s)
}

func (m *module) tags(tags map[string]string) string {
	if len(tags) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		fmt.Fprintf(&b, "%s = %s\n", m.text(k), m.text(tags[k]))
	}
	b.WriteString("}")
	return b.String()
}

// outputsFile has all outputs that users of the Karpenter part of the common EKS module know, null where the stack has no
// such thing, and those of its own.
func (s *Stack) outputsFile(m *module) error {
	output := func(name, description, value string) {
		if m.Len() > 0 {
			m.line("")
		}
		m.line("output %q {\ndescription = %s\nvalue = %s\n}", name, m.text(description), cmp.Or(value, "null"))
	}
	when := func(there bool, value string) string {
		if there {
			return value
		}
		return ""
	}
	role := s.ControllerRole != nil
	output("iam_role_name", "Name of the controller role", when(role, "aws_iam_role.controller.name"))
	output("iam_role_arn", "ARN of the controller role", when(role, "aws_iam_role.controller.arn"))
	output("iam_role_unique_id", "Unique id of the controller role", when(role, "aws_iam_role.controller.unique_id"))
	var policies []string
	for _, p := range s.Policies {
		policies = append(policies, "aws_iam_policy."+policyLabel(p)+".arn")
	}
	output("iam_policy_arns", "ARNs of the controller's policies", "[\n"+strings.Join(policies, ",\n")+",\n]")
	output("queue_arn", "ARN of the interruption queue, for INTERRUPTION_QUEUE if it is of another account", m.text(s.Options.queueARN()))
	output("queue_name", "Name of the interruption queue, for INTERRUPTION_QUEUE", m.text(s.Options.queueName()))
	output("queue_url", "URL of the interruption queue", m.text(s.Options.queueURL()))
	output("queue_kms_key_arn", "ARN of the key of the interruption queue", when(s.Queue.KMSKey != "", m.text(s.Queue.KMSKey)))
	output("dead_letter_queue_arn", "ARN of the dead-letter queue", when(s.DeadLetter != nil, "aws_sqs_queue.dead_letter.arn"))
	output("event_rules", "Rules that feed the interruption queue, by kind of event", when(len(s.Rules) > 0, "aws_cloudwatch_event_rule.this"))
	output("node_iam_role_name", "Name of the node role, for spec.role of EC2NodeClasses", m.text(s.Options.nodeRoleName()))
	output("node_iam_role_arn", "ARN of the node role", m.text(s.Options.nodeRoleARN()))
	output("node_iam_role_unique_id", "Unique id of the node role; null if the role is not the module's", when(s.NodeRole != nil, "aws_iam_role.node.unique_id"))
	output("node_access_entry_arn", "ARN of the node role's access entry", when(s.AccessEntryType != "", "aws_eks_access_entry.node.access_entry_arn"))
	for _, x := range []struct{ name, attribute, of string }{{"arn", "arn", "ARN"}, {"id", "id", "Id"}, {"name", "name", "Name"}, {"unique", "unique_id", "Unique id"}} {
		output("instance_profile_"+x.name, x.of+" of the instance profile; null without one: the controller makes one for each EC2NodeClass",
			"one(aws_iam_instance_profile.this[*]."+x.attribute+")")
	}
	output("namespace", "Namespace of the controller", when(role, m.text(s.Options.Namespace)))
	output("service_account", "Service account of the controller", when(role, m.text(s.Options.ServiceAccount)))
	return nil
}
