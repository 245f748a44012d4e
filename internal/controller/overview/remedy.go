package overview

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// What to do about a problem: sentences and commands, with "; " between them.

// lacking are titles for conditions of an EC2NodeClass that are not true, after its name.
var lacking = map[string]string{
	awsv1.ConditionTypeInstanceProfileReady: "has no usable instance profile",
	awsv1.ConditionTypeSubnetsReady:         "has no usable subnets",
	awsv1.ConditionTypeSecurityGroupsReady:  "has no usable security groups",
	awsv1.ConditionTypeAMIsReady:            "has no usable images",
}

// title says which condition is not true, in plain words where there are some.
func (t *Trouble) title() string {
	switch {
	case t.Kind != kindClass:
	case t.Condition == awsv1.ConditionTypeInterruptionQueueReady:
		return noNotice
	case lacking[t.Condition] != "":
		return t.Kind + " " + t.Name + " " + lacking[t.Condition] + ": " + t.Condition + " is not true"
	}
	return t.Kind + " " + t.Name + ": " + t.Condition + " is not true"
}

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
func (t *Trouble) remedy(d *Document) string {
	if field := fields[t.Condition]; t.Kind == kindClass && field != "" {
		if t.Value != "" {
			field += ", which is " + t.Value + " now"
		}
		return fmt.Sprintf("correct %s, or what it names in AWS; kubectl edit ec2nodeclass %s; kerf doctor", field, t.Name)
	}
	if t.Condition == awsv1.ConditionTypeInterruptionQueueReady {
		return queueRemedy(t.Reason, d)
	}
	return "kubectl describe " + strings.ToLower(t.Kind) + " " + t.Name
}

// queueRemedy is what to do about an interruption queue that can't be read for a reason of its condition.
func queueRemedy(reason string, d *Document) string {
	cluster := cmp.Or(d.Cluster, "NAME")
	switch reason {
	case "QueueNotFound":
		command := "kerf stack cloudformation --cluster-name " + cluster
		if d.Queue != nil && d.Queue.Name != "" && d.Queue.Name != d.Cluster && !strings.ContainsAny(d.Queue.Name, ":/") {
			command += " --queue-name " + d.Queue.Name
		}
		return "deploy the stack that makes the queue and its rules, or set INTERRUPTION_QUEUE to a queue that exists; " + command + " --output-file stack.yaml; aws cloudformation deploy --stack-name Karpenter-" + cluster + " --template-file stack.yaml --capabilities CAPABILITY_NAMED_IAM; kerf doctor --cluster-name " + cluster
	case "AccessDenied", "KeyUnusable":
		return "change the policies as this says; kerf stack check --live --cluster-name " + cluster + " --fix"
	}
	return "kerf doctor --cluster-name " + cluster + " --prove-delivery"
}

// consequence is what a condition that stops no launch leads to; empty where nothing is to be said.
func (t *Trouble) consequence(bill *Bill) string {
	if t.Condition == awsv1.ConditionTypeInterruptionQueueReady {
		return withoutNotice(bill.Spot)
	}
	return ""
}

const noNotice = "The interruption queue can't be read"

// withoutNotice is what an interruption queue that can't be read leads to.
func withoutNotice(spot int) string {
	if spot == 0 {
		return "without it spot instances end with no time for their pods to move; there are none now"
	}
	return counted(spot, "spot instance runs here: if AWS takes it back, it ends", "spot instances run here: those that AWS takes back end") + " with no time for the pods to move"
}

// plainly is an error of AWS without the words of the SDK around it, and without a name in front that the title has.
func (t *Trouble) plainly() string {
	text := cmp.Or(t.Message, t.Reason)
	text = strings.TrimPrefix(text, t.Kind+" "+t.Name+": ")
	return strings.TrimSuffix(withoutSDK(text), ".")
}

// sdkWords are what the SDK says of a call before it comes to what was wrong.
var sdkWords = regexp.MustCompile(`operation error [^:]+: \w+(?:, |$)(?:exceeded maximum number of attempts, \d+, )?(?:https response error StatusCode: \d+, )?(?:request send failed, )?`)

// withoutSDK leaves what the SDK says of a call out of an error, and all that AWS says where a missing permission is named already.
func withoutSDK(text string) string {
	at := sdkWords.FindStringIndex(text)
	if at == nil {
		return text
	}
	before, after := strings.TrimSuffix(text[:at[0]], ": "), text[at[0]:]
	said := text[at[1]:]
	if _, code, known := strings.Cut(after, ", api error "); known {
		said = code
	}
	switch {
	case strings.Contains(before, "missing permission"), said == "":
		return cmp.Or(before, text)
	case before == "":
		return said
	}
	return before + ": " + said
}

// asksAgain is what to do about a service that does not answer.
func asksAgain(service string) string {
	if strings.EqualFold(service, "ec2") {
		return "wait: Kerf asks again by itself, each launch with the client token that it had before, so that EC2 launches nothing twice; kerf doctor"
	}
	return "Kerf asks again by itself; kerf doctor"
}

// refused names what EC2 refuses as a whole, and what to do; empty for a type in a zone that has no capacity, which is everyday.
// instead is what makes the pods that wait run on other capacity, if anything does.
func (c *Closure) refused(instead string) (title, remedy string) {
	switch kind := strings.TrimSpace(c.CapacityType + " launches"); c.Scope {
	case scopePolicy:
		return "A policy forbids " + kind + " of " + counted(len(c.InstanceTypes), "instance type", "instance types"),
			"leave them out of the NodePools (node.kubernetes.io/instance-type NotIn, karpenter.k8s.aws/instance-family NotIn), or have the policy allow them; kubectl get events -A --field-selector reason=" + events.LaunchFailed
	case "quota":
		return "EC2 refuses " + kind + ": " + quotas(len(c.Quotas)), c.raise(instead)
	case "subnet":
		return "EC2 refuses launches in " + counted(c.Count, "subnet", "subnets"), "add subnets, or larger ones, that spec.subnetSelectorTerms selects; kerf doctor"
	case "capacity-type":
		if len(c.Quotas) > 0 {
			return "EC2 refuses " + kind + ": " + quotas(len(c.Quotas)), c.raise(instead)
		}
		return "EC2 refuses " + kind, "kerf doctor"
	case "class":
		return "EC2 refuses launches of " + counted(c.Count, "EC2NodeClass", "EC2NodeClasses"), "kerf doctor"
	}
	return "", ""
}

func quotas(n int) string {
	if n > 1 {
		return fmt.Sprint(n, " quotas of the account are reached")
	}
	return "a quota of the account is reached"
}

// why says what EC2 refuses for: the policy that forbids it, or the quotas that are reached, where it is for some.
func (c *Closure) why() string {
	if c.Scope == scopePolicy {
		return someOf(c.InstanceTypes) + ": " + c.Policy + "; Kerf launches other types where the NodePools allow any"
	}
	if len(c.Quotas) == 0 {
		return c.Reason
	}
	var all []string
	for _, q := range c.Quotas {
		text := `quota "` + q.Name + `"`
		if q.Code != "" {
			text += ", code " + q.Code
		}
		if q.Limit > 0 {
			text += ": " + counted(q.Limit, "vCPU", "vCPUs")
		}
		if q.InUse != nil {
			text += fmt.Sprintf("; nodes of Kerf have %d of it, and whatever else runs in the account counts", *q.InUse)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// raise is what to do about quotas that are reached.
func (c *Closure) raise(instead string) string {
	out := "raise it in Service Quotas of the AWS console, which may take AWS hours"
	if instead != "" {
		out += "; until then " + instead
	}
	for _, q := range c.Quotas {
		if q.Code != "" {
			out += "; aws service-quotas get-service-quota --service-code ec2 --quota-code " + q.Code
		}
	}
	return out + "; kubectl get events -A --field-selector reason=" + events.QuotaExceeded
}

// cost is what nodes cost that nobody can use, as a clause; empty where that is not known.
func (d *Document) cost(nodes []*Node) string {
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
	return fmt.Sprintf("; %s %s/h meanwhile", what, d.Currency.Amount(sum))
}

// carried is how many pods are on nodes, as a clause; empty for none.
func carried(nodes []*Node) string {
	pods := 0
	for _, n := range nodes {
		pods += n.Running()
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
