package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/iampolicy"
)

const maxRoleName = 64

// managed are the policies of AWS that nodes need, by the end of their ARNs. Any of a line will do.
var managed = []struct {
	anyOf  []string
	breaks string
	advice bool
}{
	{[]string{"AmazonEKSWorkerNodePolicy"}, "the kubelet cannot describe the cluster, and nodes do not join", false},
	{[]string{"AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess"},
		"images of ECR are not pulled, among them those of the network plug-in and kube-proxy, and nodes do not get ready", false},
	{[]string{"AmazonEKS_CNI_Policy"}, "pods get no addresses, unless the network plug-in has a role of its own", true},
	{[]string{"AmazonSSMManagedInstanceCore"}, "nodes cannot be reached by Session Manager", true},
}

func (c *checker) nodeRole() {
	r := c.found.nodeRole
	if r == nil {
		if g, ok := c.found.unread("role"); ok {
			c.report.Notes = append(c.report.Notes, "the node role was not judged: "+g.Why)
			return
		}
		c.add(Finding{
			Severity: Advice, Area: AreaNodeRole, Thing: c.wanted.nodeRole.Name, What: "there is no node role here",
			Why: "nodes need one; it may be made elsewhere, and EC2NodeClasses name it",
		})
		return
	}
	base := Finding{Area: AreaNodeRole, Thing: r.Name}
	c.nodeTrust(base)
	_, unread := c.found.unread("attached policies", r.Name)
	for _, m := range managed {
		if unread || slices.ContainsFunc(r.ManagedPolicyARNs, func(arn string) bool {
			return slices.Contains(m.anyOf, arn[strings.LastIndex(arn, "/")+1:])
		}) {
			continue
		}
		f := base
		f.Severity, f.Why = Missing, m.breaks
		if m.advice {
			f.Severity = Advice
		}
		f.Policy = m.anyOf[0]
		f.What = "it does not have " + m.anyOf[0]
		f.Fix = fmt.Sprintf("attach arn:%s:iam::aws:policy/%s", c.found.Partition, m.anyOf[0])
		c.add(f)
	}
	for _, arn := range r.ManagedPolicyARNs {
		if strings.HasSuffix(arn, ":policy/AdministratorAccess") {
			f := base
			f.Severity, f.Policy, f.What = TooWide, "AdministratorAccess", "it has AdministratorAccess"
			f.Why, f.Fix = "every pod that reaches the instance metadata owns the account", "detach it"
			c.add(f)
		}
	}
}

// nodeTrust judges who may take the node role.
func (c *checker) nodeTrust(base Finding) {
	r := c.found.nodeRole
	if r.Trust == nil {
		return // it could not be read, or is made elsewhere
	}
	service := c.wanted.nodeRole.Trust.Statements[0].Principal.Service[0]
	ask := func(caller iampolicy.Caller) bool {
		return iampolicy.Evaluate(iampolicy.Call{Caller: caller, Action: "sts:AssumeRole", Resource: r.ARN, Context: iampolicy.Context{}},
			iampolicy.Policies{Resource: r.Trust, ResourceOnly: true, ResourceOwner: c.found.AccountID}).OK()
	}
	ok := ask(iampolicy.Caller{Service: service, Account: c.found.AccountID}) || ask(iampolicy.Caller{Service: "ec2.amazonaws.com", Account: c.found.AccountID})
	if !ok {
		f := base
		f.Severity, f.What = Missing, "its trust policy does not let "+service+" take it"
		f.Action = "sts:AssumeRole"
		f.Why, f.Fix = "machines start without credentials, and nodes do not join", "allow sts:AssumeRole for the service "+service
		c.add(f)
	}
	call := iampolicy.Call{Action: "sts:AssumeRole", Resource: r.ARN, Context: iampolicy.Context{}}
	if _, open := openTo(r.Trust, call, c.found.AccountID); open {
		f := base
		f.Severity, f.What = TooWide, "its trust policy lets other accounts take it"
		f.Action = "sts:AssumeRole"
		f.Why, f.Fix = "anybody can act as a node", "allow sts:AssumeRole for the service "+service+" alone"
		c.add(f)
	}
}

// controllerRole judges the role of the controller's pods, if it is here.
func (c *checker) controllerRole() {
	r := c.found.controller
	if r == nil || r.Trust == nil {
		return
	}
	base := Finding{Area: AreaController, Thing: r.Name}
	if !trusts(r.Trust, "pods.eks.") {
		return
	}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		call := iampolicy.Call{
			Caller: iampolicy.Caller{Service: "pods.eks.amazonaws.com", Account: c.found.AccountID}, Action: action, Resource: r.ARN,
			Context: iampolicy.Context{"aws:sourceaccount": {c.found.AccountID}},
		}
		d := iampolicy.Evaluate(call, iampolicy.Policies{Resource: r.Trust, ResourceOnly: true, ResourceOwner: c.found.AccountID})
		if d.OK() || len(d.Near) > 0 {
			continue // conditions on the cluster or the service account are its owner's
		}
		f := base
		f.Severity, f.Action, f.What = Missing, action, "its trust policy does not let pods.eks.amazonaws.com call "+action
		f.Why, f.Fix = "EKS Pod Identity gives the controller no credentials", "allow sts:AssumeRole and sts:TagSession for pods.eks.amazonaws.com"
		c.add(f)
	}
}

// mapping judges what maps roles to the cluster.
func (c *checker) mapping() {
	if want := c.stack.PodIdentity; want && len(c.found.PodIdentities) == 0 {
		c.add(Finding{
			Severity: Missing, Area: AreaController, Thing: c.report.Cluster, What: "no pod identity association gives the controller its role",
			Why: "the controller has no credentials, or those of its node", Fix: "add an association for service account " + c.stack.Options.Namespace + "/" + c.stack.Options.ServiceAccount,
		})
	}
	r := c.found.nodeRole
	if r == nil {
		return
	}
	for _, e := range c.found.AccessEntries {
		if e.PrincipalARN != r.ARN {
			continue
		}
		if e.Type != "EC2_LINUX" && e.Type != "EC2_WINDOWS" {
			c.add(Finding{
				Severity: Different, Area: AreaNodeRole, Thing: r.Name, What: fmt.Sprintf("its access entry is of type %s", e.Type),
				Why: "nodes are not let into the cluster", Fix: "make it of type EC2_LINUX (EC2_WINDOWS for Windows nodes)",
			})
		}
		return
	}
	if c.stack.AccessEntryType != "" {
		c.add(Finding{
			Severity: Missing, Area: AreaNodeRole, Thing: r.Name, What: "no access entry maps it to the cluster",
			Why: "nodes start and are not let into the cluster, unless aws-auth maps the role", Fix: "add an access entry of type " + c.stack.AccessEntryType,
		})
	}
}
