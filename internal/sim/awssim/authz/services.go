package authz

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// ssmRules: parameters are judged by name; the public ones of AWS belong to no account.
//
// Source: Service Authorization Reference for AWS Systems Manager, checked 2026-11.
func ssmRules() map[string]rule {
	out := map[string]rule{
		"ssm:DescribeParameters": anywhere("ssm:DescribeParameters"),
		"ssm:GetParametersByPath": func(c *call) []check {
			return []check{{action: "ssm:GetParametersByPath", resource: c.parameterARN(strings.TrimSuffix(c.text("Path"), "/"))}}
		},
	}
	each(out, "ssm", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.parameterARN(c.text("Name")), keys: c.bodyTags}}
		}
	}, "GetParameter", "PutParameter", "DeleteParameter")
	each(out, "ssm", func(action string) rule {
		return func(c *call) []check {
			var checks []check
			for _, name := range c.texts("Names") {
				checks = append(checks, check{action: action, resource: c.parameterARN(name)})
			}
			return checks
		}
	}, "GetParameters", "DeleteParameters")
	return out
}

// parameterARN is the ARN of a parameter that is named by name or ARN, perhaps with a version or label behind it.
func (c *call) parameterARN(name string) string {
	if strings.HasPrefix(name, "arn:") {
		if head, rest, ok := strings.Cut(name, ":parameter/"); ok {
			rest, _, _ = strings.Cut(rest, ":")
			return head + ":parameter/" + rest
		}
		return name
	}
	name, _, _ = strings.Cut(name, ":")
	if strings.HasPrefix(name, "/aws/service/") {
		return "arn:" + c.w.Partition() + ":ssm:" + c.w.Region() + "::parameter" + name
	}
	return c.arn("ssm", "parameter/"+strings.TrimPrefix(name, "/"))
}

// eksRules: clusters, and what belongs to one.
//
// Source: Service Authorization Reference for Amazon EKS, checked 2026-11.
func eksRules() map[string]rule {
	out := map[string]rule{
		"eks:ListClusters": anywhere("eks:ListClusters"),
		"eks:CreatePodIdentityAssociation": func(c *call) []check {
			checks := onCluster("eks:CreatePodIdentityAssociation")(c)
			if role := c.text("roleArn"); role != "" {
				checks = append(checks, c.passed(role, "pods.eks.amazonaws.com", "", ""))
			}
			return checks
		},
	}
	each(out, "eks", onCluster, "DescribeCluster", "CreateAccessEntry", "ListAccessEntries", "ListPodIdentityAssociations",
		"UpdateClusterConfig", "ListNodegroups", "ListAddons", "DescribeAddon", "DescribeNodegroup")
	each(out, "eks", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.text("resourceArn", "arn"), keys: func(k iampolicy.Context) {
				c.bodyTags(k)
				if keys := c.r.Query["tagKeys"]; len(keys) > 0 {
					k["aws:tagkeys"] = keys
				}
			}}}
		}
	}, "TagResource", "UntagResource", "ListTagsForResource")
	each(out, "eks", func(action string) rule {
		return on(action, func(c *call) string {
			arn := strings.Split(c.text("principalArn", "principal"), ":")
			if len(arn) < 6 {
				return c.arn("eks", "access-entry/"+c.cluster()+"/*")
			}
			kind, name, _ := strings.Cut(arn[5], "/")
			return c.arn("eks", "access-entry/"+c.cluster()+"/"+kind+"/"+arn[4]+"/"+name+"/*")
		})
	}, "DescribeAccessEntry", "DeleteAccessEntry", "UpdateAccessEntry", "AssociateAccessPolicy", "DisassociateAccessPolicy", "ListAssociatedAccessPolicies")
	each(out, "eks", func(action string) rule {
		return on(action, func(c *call) string {
			return c.arn("eks", "podidentityassociation/"+c.cluster()+"/"+c.text("associationId", "association", "id"))
		})
	}, "DescribePodIdentityAssociation", "DeletePodIdentityAssociation", "UpdatePodIdentityAssociation")
	return out
}

func (c *call) cluster() string { return c.text("name", "clusterName", "cluster") }

func onCluster(action string) rule {
	return func(c *call) []check {
		found, ok := c.w.Cluster(c.cluster())
		return []check{{action: action, resource: c.arn("eks", "cluster/"+c.cluster()), keys: func(k iampolicy.Context) {
			if ok {
				setTags(k, resourceTag, found.Tags)
			}
			c.bodyTags(k)
		}}}
	}
}

// eventsRules: rules of the default bus.
//
// Source: Service Authorization Reference for Amazon EventBridge, checked 2026-11.
func eventsRules() map[string]rule {
	out := map[string]rule{
		"events:TestEventPattern":      anywhere("events:TestEventPattern"),
		"events:ListRules":             on("events:ListRules", func(c *call) string { return c.arn("events", "rule/*") }),
		"events:ListRuleNamesByTarget": on("events:ListRuleNamesByTarget", func(c *call) string { return c.arn("events", "rule/*") }),
		"events:ListEventBuses":        anywhere("events:ListEventBuses"),
		"events:DescribeEventBus":      on("events:DescribeEventBus", func(c *call) string { return c.arn("events", "event-bus/default") }),
		"events:PutEvents":             putEvents,
	}
	each(out, "events", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.arn("events", "rule/"+c.text("Name", "Rule")), keys: c.ruleKeys}}
		}
	}, "PutRule", "DescribeRule", "DeleteRule", "EnableRule", "DisableRule", "PutTargets", "RemoveTargets", "ListTargetsByRule")
	each(out, "events", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.text("ResourceARN"), keys: c.bodyTags}}
		}
	}, "TagResource", "UntagResource", "ListTagsForResource")
	return out
}

func (c *call) ruleKeys(k iampolicy.Context) {
	c.bodyTags(k)
	targets, _ := c.body()["Targets"].([]any)
	for _, e := range targets {
		t, _ := e.(map[string]any)
		if arn, ok := t["Arn"].(string); ok {
			k["events:targetarn"] = append(k["events:targetarn"], arn)
		}
	}
}

func putEvents(c *call) []check {
	entries, _ := c.body()["Entries"].([]any)
	var out []check
	for n := range max(len(entries), 1) {
		var e map[string]any
		if n < len(entries) {
			e, _ = entries[n].(map[string]any)
		}
		out = append(out, check{action: "events:PutEvents", resource: c.arn("events", "event-bus/default"), keys: func(k iampolicy.Context) {
			if v, ok := e["Source"].(string); ok {
				k["events:source"] = []string{v}
			}
			if v, ok := e["DetailType"].(string); ok {
				k["events:detail-type"] = []string{v}
			}
		}})
	}
	return out
}

// cloudwatchRules: alarms have names, metrics do not.
//
// Source: Service Authorization Reference for Amazon CloudWatch, checked 2026-11.
func cloudwatchRules() map[string]rule {
	out := map[string]rule{
		"cloudwatch:PutMetricData": func(c *call) []check {
			return []check{{action: "cloudwatch:PutMetricData", resource: "*", keys: func(k iampolicy.Context) {
				k["cloudwatch:namespace"] = []string{c.text("Namespace")}
			}}}
		},
		"cloudwatch:PutMetricAlarm": func(c *call) []check {
			return []check{{action: "cloudwatch:PutMetricAlarm", resource: c.arn("cloudwatch", "alarm:"+c.text("AlarmName")), keys: c.bodyTags}}
		},
		"cloudwatch:DescribeAlarms": on("cloudwatch:DescribeAlarms", func(c *call) string { return c.arn("cloudwatch", "alarm:*") }),
		"cloudwatch:DeleteAlarms": func(c *call) []check {
			var checks []check
			for _, name := range c.texts("AlarmNames") {
				checks = append(checks, check{action: "cloudwatch:DeleteAlarms", resource: c.arn("cloudwatch", "alarm:"+name)})
			}
			return checks
		},
	}
	each(out, "cloudwatch", anywhere, "GetMetricData", "GetMetricStatistics", "ListMetrics")
	each(out, "cloudwatch", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.text("ResourceARN"), keys: c.bodyTags}}
		}
	}, "TagResource", "UntagResource", "ListTagsForResource")
	return out
}

// cloudformationRules judge the call only: what a stack makes is made with the account's own rights.
//
// Source: Service Authorization Reference for AWS CloudFormation, checked 2026-11.
func cloudformationRules() map[string]rule {
	out := map[string]rule{}
	each(out, "cloudformation", anywhere, "ListStacks", "ValidateTemplate", "ListExports", "ListImports")
	each(out, "cloudformation", func(action string) rule {
		return func(c *call) []check {
			return []check{{action: action, resource: c.stackARN(), keys: func(k iampolicy.Context) {
				setRequested(k, formTags(c.r.Form, "Tags.member"))
				if v := c.text("ChangeSetName"); v != "" {
					k["cloudformation:changesetname"] = []string{v}
				}
				if v := c.text("RoleARN"); v != "" {
					k["cloudformation:rolearn"] = []string{v}
				}
			}}}
		}
	}, "CreateStack", "UpdateStack", "DeleteStack", "DescribeStacks", "DescribeStackEvents", "DescribeStackResource",
		"DescribeStackResources", "ListStackResources", "GetTemplate", "GetTemplateSummary", "CreateChangeSet", "DescribeChangeSet",
		"ExecuteChangeSet", "DeleteChangeSet", "ListChangeSets", "UpdateTerminationProtection", "CancelUpdateStack",
		"ContinueUpdateRollback", "GetStackPolicy", "SetStackPolicy", "DetectStackDrift", "TagResource", "UntagResource")
	return out
}

// stackARN is the stack that a call names by name or id; the random end of the id of one that is named stays open.
func (c *call) stackARN() string {
	name := c.text("StackName")
	switch {
	case strings.HasPrefix(name, "arn:"):
		return name
	case name != "":
		return c.arn("cloudformation", "stack/"+name+"/*")
	}
	if set := c.text("ChangeSetName"); strings.HasPrefix(set, "arn:") {
		return c.arn("cloudformation", "stack/*/*")
	}
	return "*"
}
