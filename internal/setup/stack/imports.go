package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Found is what an account has already, and which of it plays which part. An empty part was not found.
type Found struct {
	Setup                *awssetup.Setup
	Queue                string // ARN of the interruption queue
	NodeRole, Controller string // names of the roles
}

// Import says that a resource of the module exists already, by its address in the module and the id by which Terraform's
// AWS provider imports it.
type Import struct{ Address, ID string }

// Adopted is what a module takes over from an account.
type Adopted struct {
	Imports []Import
	// Notes say what the module will change, make beside what there is, or leave outside, where that may surprise.
	Notes []string
}

// Imports matches the stack with what an account has: the queue, its policy and its dead-letter queue, rules by their
// patterns, roles by the parts that they play, policies by their names, and what ties roles to the cluster.
//
// A controller role with one policy of the account under another name gives it to the first of the stack's policies, which
// changes what it says; the others are made beside it.
//
// Source of the ids: documentation of the provider hashicorp/aws, section "Import" of each resource.
//
// Errors: a role whose permissions boundary or trust the module would silently change; the message names the flag that keeps it.
func (s *Stack) Imports(f Found) (Adopted, error) {
	a := &adopter{stack: s, found: f, want: s.Setup(f.Setup.AccountID, f.Setup.Region)}
	a.roles()
	a.queues()
	a.rules()
	a.alarms()
	a.mappings()
	return a.Adopted, errors.Join(a.refused...)
}

type adopter struct {
	Adopted
	stack *Stack
	found Found
	want  *awssetup.Setup // the stack as it would be in that account

	refused []error
}

func (a *adopter) add(address, id string) { a.Imports = append(a.Imports, Import{address, id}) }

func (a *adopter) note(format string, args ...any) {
	a.Notes = append(a.Notes, fmt.Sprintf(format, args...))
}

func (a *adopter) refuse(format string, args ...any) {
	a.refused = append(a.refused, fmt.Errorf(format, args...))
}

func (a *adopter) role(name string) *awssetup.Role {
	for i := range a.found.Setup.Roles {
		if name != "" && a.found.Setup.Roles[i].Name == name {
			return &a.found.Setup.Roles[i]
		}
	}
	return nil
}

func (a *adopter) roles() {
	if a.stack.NodeRole != nil {
		if r := a.role(a.found.NodeRole); r != nil {
			a.add("aws_iam_role.node", r.Name)
			a.boundary(r)
			a.attachments(r, a.want.Roles[0].ManagedPolicyARNs)
		} else {
			a.note("there is no role of the nodes called %s, so Terraform makes one: name the role that exists with --node-role-name, or with --node-role if something else owns it", a.want.Roles[0].Name)
		}
	}
	r := a.role(a.found.Controller)
	switch {
	case a.stack.ControllerRole != nil && r != nil:
		a.add("aws_iam_role.controller", r.Name)
		a.boundary(r)
		a.trust(r)
	case a.stack.ControllerRole != nil:
		a.note("no role of the controller was found, so Terraform makes one: name the role that exists with --controller-role-name")
	}
	a.policies(r)
	for _, x := range []*awssetup.Role{r, a.role(a.found.NodeRole)} {
		if x != nil && len(x.Inline) > 0 {
			a.note("role %s keeps its inline policy %s: look whether it is needed still, and delete it with aws iam delete-role-policy", x.Name, strings.Join(namesOf(x.Inline), ", "))
		}
	}
}

// boundary holds the module to the permissions boundary of a role that it takes over: Terraform would take it off in place.
func (a *adopter) boundary(r *awssetup.Role) {
	if want := a.stack.Options.PermissionsBoundary; r.Boundary != "" && r.Boundary != want {
		a.refuse("role %s has the permissions boundary %s, which the module would take off: give --permissions-boundary %[2]s", r.Name, r.Boundary)
	}
}

// trust holds the module to the way in which the controller's pods get the role that it takes over.
func (a *adopter) trust(r *awssetup.Role) {
	if r.Trust == nil {
		return
	}
	var providers []string
	pods := false
	for _, st := range r.Trust.Statements {
		if st.Principal == nil || st.Effect != iampolicy.Allow {
			continue
		}
		for _, p := range st.Principal.Federated {
			if strings.Contains(p, ":oidc-provider/") {
				providers = append(providers, p)
			}
		}
		pods = pods || slices.Contains(st.Principal.Service, "pods.eks.amazonaws.com")
	}
	switch wanted := a.want.RoleBy(a.stack.resolver(a.found.Setup.AccountID, a.found.Setup.Region).text(a.stack.ControllerRole.Name)); {
	case a.stack.Options.Controller == PodIdentity && len(providers) > 0:
		a.refuse("pods take role %s by the identity provider %s, which the module would take out of its trust policy: give --controller irsa --oidc-provider %[2]s", r.Name, providers[0])
	case a.stack.Options.Controller == IRSA && len(providers) > 0 && !slices.Contains(wanted.Trust.Statements[0].Principal.Federated, providers[0]):
		a.refuse("pods take role %s by the identity provider %s, which the module would put another in place of: give --oidc-provider %[2]s", r.Name, providers[0])
	case a.stack.Options.Controller == IRSA && len(providers) == 0 && pods:
		a.refuse("pods take role %s by EKS Pod Identity, which the module would take out of its trust policy: give --controller pod-identity", r.Name)
	}
}

// attachments are those of the node role that the stack has, too.
func (a *adopter) attachments(r *awssetup.Role, want []string) {
	for _, arn := range r.ManagedPolicyARNs {
		if slices.Contains(want, arn) {
			a.add(fmt.Sprintf("aws_iam_role_policy_attachment.node[%q]", policyName(arn)), r.Name+"/"+arn)
			continue
		}
		a.note("role %s keeps the policy %s outside Terraform: add it to node_iam_role_additional_policies with an import block, or detach it", r.Name, arn)
	}
}

func (a *adopter) policies(controller *awssetup.Role) {
	attached := func(arn string) bool { return controller != nil && slices.Contains(controller.ManagedPolicyARNs, arn) }
	take := func(i int, arn string) {
		label := policyLabel(a.stack.Policies[i])
		a.add("aws_iam_policy."+label, arn)
		if attached(arn) && a.stack.ControllerRole != nil {
			a.add(fmt.Sprintf("aws_iam_role_policy_attachment.controller[%q]", label), controller.Name+"/"+arn)
		}
	}
	var taken []string
	for i := range a.want.Policies {
		name := a.want.Policies[i].Name
		if k := slices.IndexFunc(a.found.Setup.Policies, func(p awssetup.Policy) bool { return p.Name == name }); k >= 0 {
			arn := a.found.Setup.Policies[k].ARN
			take(i, arn)
			taken = append(taken, arn)
		}
	}
	if controller == nil {
		return
	}
	left := slices.DeleteFunc(slices.Clone(controller.ManagedPolicyARNs), func(arn string) bool { return slices.Contains(taken, arn) || isAWSPolicy(arn) })
	if len(taken) == 0 && len(left) == 1 && a.stack.ControllerRole != nil {
		take(0, left[0])
		a.note("policy %s becomes the %s of the module and keeps its name; %d policies are made beside it", policyName(left[0]), "aws_iam_policy."+policyLabel(a.stack.Policies[0]), len(a.stack.Policies)-1)
		left = nil
	}
	for _, arn := range left {
		a.note("role %s keeps the policy %s outside Terraform: detach it when the module is applied", controller.Name, arn)
	}
}

func isAWSPolicy(arn string) bool { return strings.Contains(arn, ":iam::aws:policy/") }

func namesOf(list []iampolicy.Named) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.Name)
	}
	return out
}

func (a *adopter) queues() {
	if a.stack.Options.QueueARN != "" {
		return
	}
	q := a.queue(a.found.Queue)
	if q == nil {
		a.note("there is no queue %s, so Terraform makes one: name the one that exists with --queue-name", a.want.Queues[0].Name)
		return
	}
	a.oneQueue("this", q)
	a.key(q)
	if a.stack.DeadLetter == nil {
		return
	}
	dead := a.queue(q.DeadLetter)
	if dead == nil {
		dead = a.queueNamed(a.want.Queues[1].Name)
	}
	if dead != nil {
		a.oneQueue("dead_letter", dead)
	}
}

func (a *adopter) oneQueue(label string, q *awssetup.Queue) {
	a.add("aws_sqs_queue."+label, q.URL)
	if q.Policy != nil {
		a.add("aws_sqs_queue_policy."+label, q.URL)
	}
}

// key is the queue's: that of the stack if the account has it, and otherwise one that a flag must name.
func (a *adopter) key(q *awssetup.Queue) {
	if a.stack.Key != nil {
		alias := a.stack.resolver(a.found.Setup.AccountID, a.found.Setup.Region).text(a.stack.Key.Alias)
		for _, k := range a.found.Setup.Keys {
			if slices.Contains(k.Aliases, alias) {
				a.add("aws_kms_key.queue", k.ID)
				a.add("aws_kms_alias.queue", alias)
				return
			}
		}
	}
	if q.KMSKey != "" && a.stack.Queue.KMSKey == "" {
		a.note("queue %s is encrypted with %s, and Terraform changes that to SQS's own encryption: give --kms-key with the key's ARN to keep it", q.Name, q.KMSKey)
	}
}

func (a *adopter) queue(arn string) *awssetup.Queue {
	for i := range a.found.Setup.Queues {
		if arn != "" && a.found.Setup.Queues[i].ARN == arn {
			return &a.found.Setup.Queues[i]
		}
	}
	return nil
}

func (a *adopter) queueNamed(name string) *awssetup.Queue {
	for i := range a.found.Setup.Queues {
		if a.found.Setup.Queues[i].Name == name {
			return &a.found.Setup.Queues[i]
		}
	}
	return nil
}

// rules are taken over by what they catch. One that catches more than a rule of the stack stays outside.
func (a *adopter) rules() {
	var taken []string
	for _, r := range a.stack.Rules {
		for _, x := range a.found.Setup.Rules {
			target := a.targetOf(x)
			if x.Bus != "" || target == "" || slices.Contains(taken, x.Name) || !catches(x.Pattern, r) {
				continue
			}
			a.add(fmt.Sprintf("aws_cloudwatch_event_rule.this[%q]", r.Kind), x.Name)
			a.add(fmt.Sprintf("aws_cloudwatch_event_target.this[%q]", r.Kind), x.Name+"/"+target)
			taken = append(taken, x.Name)
			break
		}
	}
	for _, x := range a.found.Setup.Rules {
		if a.stack.Options.QueueARN == "" && a.targetOf(x) != "" && !slices.Contains(taken, x.Name) {
			a.note("rule %s goes on sending to the queue outside Terraform: delete it when the module is applied, if the module's rules catch the same", x.Name)
		}
	}
}

// targetOf is the id of the rule's target that is the queue.
func (a *adopter) targetOf(r awssetup.Rule) string {
	for _, t := range r.Targets {
		if a.found.Queue != "" && t.ARN == a.found.Queue {
			return t.ID
		}
	}
	return ""
}

// catches tells whether a pattern is that of a rule of the stack, but for its order.
func catches(pattern json.RawMessage, r Rule) bool {
	var p map[string]json.RawMessage
	var sources, types []string
	if json.Unmarshal(pattern, &p) != nil || len(p) != 2 || json.Unmarshal(p["source"], &sources) != nil || json.Unmarshal(p["detail-type"], &types) != nil {
		return false
	}
	return slices.Equal(sources, []string{r.Source}) && slices.Equal(types, []string{r.DetailType})
}

func (a *adopter) alarms() {
	for i, x := range a.want.Alarms {
		if slices.ContainsFunc(a.found.Setup.Alarms, func(y awssetup.Alarm) bool { return y.Name == x.Name }) {
			a.add("aws_cloudwatch_metric_alarm."+alarmLabel(a.stack.Alarms[i]), x.Name)
		}
	}
}

func (a *adopter) mappings() {
	role := a.stack.Options.NodeRole
	if r := a.role(a.found.NodeRole); role == "" && r != nil {
		role = r.ARN
	}
	for _, e := range a.found.Setup.AccessEntries {
		if a.stack.AccessEntryType == "" || e.PrincipalARN != role {
			continue
		}
		a.add("aws_eks_access_entry.node", a.stack.Options.ClusterName+":"+e.PrincipalARN)
		if e.Type != a.stack.AccessEntryType {
			a.note("the access entry of %s is of type %s, and Terraform replaces it by one of type %s: give --access-entry %[2]s to keep it", e.PrincipalARN, e.Type, a.stack.AccessEntryType)
		}
	}
	for _, p := range a.found.Setup.PodIdentities {
		if a.stack.PodIdentity && p.Namespace == a.stack.Options.Namespace && p.ServiceAccount == a.stack.Options.ServiceAccount {
			a.add("aws_eks_pod_identity_association.karpenter", a.stack.Options.ClusterName+","+p.ID)
		}
	}
}

// moduleAddress is one of a call in the root module: import blocks stand there, and name the module by it.
var moduleAddress = regexp.MustCompile(`^module\.[A-Za-z_][\w-]*(\[("[^"]+"|[0-9]+)\])?(\.module\.[A-Za-z_][\w-]*(\[("[^"]+"|[0-9]+)\])?)*$`)

// Blocks are the import blocks, for the root module, which calls the module by an address such as module.karpenter. Empty
// means that the module is the root module.
//
// Errors: an address that is none.
func (a Adopted) Blocks(address string) ([]byte, error) {
	if address != "" && !moduleAddress.MatchString(address) {
		return nil, fmt.Errorf("--adopt-module-address %q is not the address of a module, such as module.karpenter", address)
	}
	prefix := ""
	if address != "" {
		prefix = address + "."
	}
	var b strings.Builder
	b.WriteString("# What exists already, for the root module: Terraform 1.5 and later, and OpenTofu, take these over in place of making them\n" +
		"# anew. terraform plan must say that nothing is destroyed. The file may be removed once it is applied.\n")
	for _, x := range a.Imports {
		fmt.Fprintf(&b, "\nimport {\nto = %s\nid = \"%s\"\n}\n", prefix+x.Address, quoted(x.ID))
	}
	return hclwrite.Format([]byte(b.String())), nil
}
