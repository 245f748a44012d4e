package overview

import (
	"cmp"
	"fmt"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// What to do about a problem: sentences and commands, with "; " between them.

// fields are those of an EC2NodeClass that make its conditions true.
var fields = map[string]string{
	awsv1.ConditionTypeInstanceProfileReady:      "spec.role or spec.instanceProfile",
	awsv1.ConditionTypeSubnetsReady:              "spec.subnetSelectorTerms",
	awsv1.ConditionTypeSecurityGroupsReady:       "spec.securityGroupSelectorTerms",
	awsv1.ConditionTypeAMIsReady:                 "spec.amiSelectorTerms",
	awsv1.ConditionTypeCapacityReservationsReady: "spec.capacityReservationSelectorTerms",
	awsv1.ConditionTypeLaunchTemplateReady:       "spec.launchTemplate",
}

// remedy is what to do about a condition.
func (t *Trouble) remedy() string {
	if field := fields[t.Condition]; t.Kind == kindClass && field != "" {
		return fmt.Sprintf("correct %s, or what it names in AWS; kubectl edit ec2nodeclass %s; kerf doctor", field, t.Name)
	}
	if t.Condition == awsv1.ConditionTypeInterruptionQueueReady {
		return "kerf doctor; the queue and its rules are written by kerf stack"
	}
	return "kubectl describe " + strings.ToLower(t.Kind) + " " + t.Name
}

// consequence is what a condition that stops no launch leads to; empty where nothing is to be said.
func (t *Trouble) consequence() string {
	if t.Condition == awsv1.ConditionTypeInterruptionQueueReady {
		return withoutNotice
	}
	return ""
}

const withoutNotice = "without it spot instances end with no time for their pods to move"

// refused names what EC2 refuses as a whole, and what to do; empty for a type in a zone that has no capacity, which is everyday.
func (c *Closure) refused() (title, remedy string) {
	switch c.Scope {
	case "quota":
		kind := strings.TrimSpace(c.CapacityType + " launches")
		return "EC2 refuses " + kind + ": a quota of the account is reached", "raise the quota of vCPUs in the AWS console, Service Quotas; kubectl get events -A --field-selector reason=" + events.QuotaExceeded
	case "subnet":
		return "EC2 refuses launches in " + counted(c.Count, "subnet", "subnets"), "add subnets, or larger ones, that spec.subnetSelectorTerms selects; kerf doctor"
	case "capacity-type":
		return "EC2 refuses " + c.CapacityType + " launches", "kerf doctor"
	case "class":
		return "EC2 refuses launches of " + counted(c.Count, "EC2NodeClass", "EC2NodeClasses"), "kerf doctor"
	}
	return "", ""
}

// cost is what nodes cost that nobody can use, as a clause; empty where that is not known.
func cost(nodes []*Node) string {
	sum := catalog.MicroUSD(0)
	for _, n := range nodes {
		sum += n.Price
	}
	if sum == 0 {
		return ""
	}
	what := "they cost"
	if len(nodes) == 1 {
		what = "it costs"
	}
	return fmt.Sprintf("; %s %s/h meanwhile", what, plan.Dollars(sum))
}

// carried is how many pods are on nodes, as a clause; empty for none.
func carried(nodes []*Node) string {
	pods := 0
	for _, n := range nodes {
		pods += int(n.Pods.Used)
	}
	if pods == 0 {
		return ""
	}
	return "; " + counted(pods, "pod is", "pods are") + " there"
}

// unblock is what to do so that a node may be removed; empty where it is not for one object to change.
func unblock(r *disrupt.Reason) string {
	namespace, name, _ := strings.Cut(cmp.Or(r.Want, r.Pod), "/")
	switch {
	case r.Code == disrupt.DisruptionBudget && r.Want != "":
		return fmt.Sprintf("let it allow one eviction: fewer minAvailable, more maxUnavailable, or more replicas; kubectl describe pdb -n %s %s", namespace, name)
	case r.Code == disrupt.DoNotDisrupt && r.Pod != "":
		namespace, name, _ = strings.Cut(r.Pod, "/")
		return fmt.Sprintf("take the annotation karpenter.sh/do-not-disrupt off, or give it a duration such as 4h; kubectl describe pod -n %s %s", namespace, name)
	}
	return ""
}
