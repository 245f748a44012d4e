package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

const maxRoleName = 64

// managed are the policies of AWS that nodes need, by the end of their ARNs. Any of a line will do.
var managed = []struct {
	anyOf  []string
	calls  []string // that tell whether other policies allow the same
	breaks string
	advice bool
}{
	{[]string{"AmazonEKSWorkerNodePolicy"}, []string{"ec2:DescribeInstances"}, "the kubelet cannot describe the cluster, and nodes do not join", false},
	{[]string{"AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess"},
		[]string{"ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
		"images of ECR are not pulled, among them those of the network plug-in and kube-proxy, and nodes do not get ready", false},
	{[]string{"AmazonEKS_CNI_Policy"}, []string{"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:AttachNetworkInterface"}, "pods get no addresses, unless the network plug-in has a role of its own", true},
	{[]string{"AmazonSSMManagedInstanceCore"}, []string{"ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel"}, "nodes cannot be reached by Session Manager", true},
}

// AdministratorPolicy is the managed policy of AWS that allows everything.
const AdministratorPolicy = "AdministratorAccess"

func (c *Comparison) nodeRole() {
	r := c.Found.NodeRole
	if r == nil {
		if g, ok := c.Found.unread("role"); ok {
			c.Report.Notes = append(c.Report.Notes, "the node role was not judged: "+g.Why)
			return
		}
		if c.hints.NodeRole != "" { // it was said to be elsewhere
			return
		}
		c.add(Finding{
			Severity: Advice, Area: AreaNodeRole, Thing: c.Wanted.NodeRole.Name, What: "there is no node role here",
			Why: "nodes need one; it may be made elsewhere, and EC2NodeClasses name it",
			Fix: "if it is, name it with --node-role",
		})
		return
	}
	base := Finding{Area: AreaNodeRole, Thing: r.Name}
	c.nodeTrust(base)
	_, unread := c.Found.unread("attached policies", r.Name)
	grants, gap := c.nodePolicies(r)
	for _, m := range managed {
		if unread || slices.ContainsFunc(r.ManagedPolicyARNs, func(arn string) bool {
			return slices.Contains(m.anyOf, arn[strings.LastIndex(arn, "/")+1:])
		}) {
			continue
		}
		if c.nodesMay(grants, m.calls) {
			continue
		}
		if gap != "" {
			if !m.advice {
				c.Report.Unread = append(c.Report.Unread, Unread{What: "whether nodes may call " + List(m.calls), Why: "role " + r.Name + " does not have " + m.anyOf[0] + ", and " + gap})
			}
			continue
		}
		f := base
		f.Severity, f.Why = Missing, m.breaks
		if m.advice {
			f.Severity = Advice
		}
		f.Policy = m.anyOf[0]
		f.What = "it does not have " + m.anyOf[0]
		f.Fix = fmt.Sprintf("attach arn:%s:iam::aws:policy/%s", c.Found.Partition, m.anyOf[0])
		c.add(f)
	}
	for _, arn := range r.ManagedPolicyARNs {
		if name := Powerful(arn); name != "" {
			f := base
			f.Severity, f.Policy, f.What = TooWide, name, "it has "+name
			f.Why, f.Fix = ownedByPods, "detach it"
			c.add(f)
		}
	}
	for _, n := range r.Inline {
		c.nodeGrants(base, n)
	}
	for _, p := range c.Found.Policies {
		if slices.Contains(r.ManagedPolicyARNs, p.ARN) || slices.Contains(p.AttachedTo, r.Name) {
			c.nodeGrants(base, iampolicy.Named{Name: p.Name, Document: p.Document})
		}
	}
}

// nodePolicies are the documents that are here of a node role's policies, and why there may be more; empty if there are none.
func (c *Comparison) nodePolicies(r *awssetup.Role) (documents []iampolicy.Named, gap string) {
	documents = slices.Clone(r.Inline)
	read := map[string]bool{}
	for _, p := range c.Found.Policies {
		if p.Document != nil && (slices.Contains(r.ManagedPolicyARNs, p.ARN) || slices.Contains(p.AttachedTo, r.Name)) {
			documents = append(documents, iampolicy.Named{Name: p.Name, Document: p.Document})
			read[p.ARN] = true
		}
	}
	for _, arn := range r.ManagedPolicyARNs {
		if !read[arn] && !strings.Contains(arn, ":iam::aws:policy/") {
			gap = "the text of its policy " + arn + " is not here"
		}
	}
	if g, ok := c.Found.unread("inline", r.Name); ok {
		gap = g.What + " could not be read"
	}
	return documents, gap
}

// nodesMay tells whether documents allow nodes all of these calls, on the account's own resources.
func (c *Comparison) nodesMay(documents []iampolicy.Named, actions []string) bool {
	where := c.Where()
	return !slices.ContainsFunc(actions, func(action string) bool {
		call := iampolicy.Call{Caller: iampolicy.Caller{ARN: c.Found.NodeRole.ARN, Account: c.Found.AccountID}, Action: action, Resource: "*", Context: iampolicy.Context{}}
		call.Context.Set("aws:RequestedRegion", c.Found.Region)
		switch {
		case strings.HasPrefix(action, "ecr:") && action != "ecr:GetAuthorizationToken":
			call.Resource = where.ARN("ecr", "repository/some")
		case action == "ec2:AssignPrivateIpAddresses", action == "ec2:AttachNetworkInterface", action == "ec2:CreateNetworkInterface":
			call.Resource = where.ARN("ec2", "network-interface/eni-0")
		}
		return !iampolicy.Evaluate(call, iampolicy.Policies{Identity: documents}).OK()
	})
}

const ownedByPods = "every pod that reaches the instance metadata has it too, and with it the account"

// Powerful is the name of a policy of AWS's that nothing which runs pods may have; empty for others.
func Powerful(arn string) string {
	for _, name := range []string{AdministratorPolicy, "IAMFullAccess", "PowerUserAccess"} {
		if strings.HasSuffix(arn, ":iam::aws:policy/"+name) {
			return name
		}
	}
	return ""
}

// nodeGrants looks whether a policy of the nodes lets them make themselves into something else.
func (c *Comparison) nodeGrants(base Finding, n iampolicy.Named) {
	if n.Document == nil {
		return
	}
	where := c.Where()
	for _, call := range []iampolicy.Call{
		{Action: "iam:CreateUser", Resource: where.Global("iam", "user/another")},
		{Action: "iam:AttachRolePolicy", Resource: where.Global("iam", "role/another")},
		{Action: "iam:PassRole", Resource: where.Global("iam", "role/another"), Context: iampolicy.Context{"iam:passedtoservice": {partition.EC2Service}}},
		{Action: "sts:AssumeRole", Resource: where.Global("iam", "role/another")},
		{Action: "ec2:TerminateInstances", Resource: where.ARN("ec2", "instance/i-0another")},
		{Action: "kms:Decrypt", Resource: where.ARN("kms", "key/another")},
	} {
		call.Caller = iampolicy.Caller{ARN: c.Found.NodeRole.ARN, Account: c.Found.AccountID}
		d := iampolicy.Evaluate(call, iampolicy.Policies{Identity: []iampolicy.Named{n}})
		if !d.OK() {
			continue
		}
		f := base
		f.Severity, f.Policy, f.Sid, f.Action, f.Resource = TooWide, n.Name, d.Sid, call.Action, call.Resource
		f.What = "its policy " + n.Name + " lets nodes call " + call.Action + " on anything of the account, such as " + call.Resource
		f.Why, f.Fix = ownedByPods, "take the statement out, or limit it to what the nodes themselves need"
		c.add(f)
		return
	}
}

// nodeTrust judges who may take the node role.
func (c *Comparison) nodeTrust(base Finding) {
	r := c.Found.NodeRole
	if r.Trust == nil {
		return // it could not be read, or is made elsewhere
	}
	service := c.Wanted.NodeRole.Trust.Statements[0].Principal.Service[0]
	ask := func(caller iampolicy.Caller) bool {
		return iampolicy.Evaluate(iampolicy.Call{Caller: caller, Action: "sts:AssumeRole", Resource: r.ARN, Context: iampolicy.Context{}},
			iampolicy.Policies{Resource: r.Trust, ResourceOnly: true, ResourceOwner: c.Found.AccountID}).OK()
	}
	ok := ask(iampolicy.Caller{Service: service, Account: c.Found.AccountID}) || ask(iampolicy.Caller{Service: partition.EC2Service, Account: c.Found.AccountID})
	if !ok {
		f := base
		f.Severity, f.What = Missing, "its trust policy does not let "+service+" take it"
		f.Action = "sts:AssumeRole"
		f.Why, f.Fix = "instances start without credentials, and nodes do not join", "allow sts:AssumeRole for the service "+service
		c.add(f)
	}
	call := iampolicy.Call{Action: "sts:AssumeRole", Resource: r.ARN, Context: iampolicy.Context{}}
	if _, open := OpenTo(r.Trust, call, c.Found.AccountID); open {
		f := base
		f.Severity, f.What = TooWide, "its trust policy lets other accounts take it"
		f.Action = "sts:AssumeRole"
		f.Why, f.Fix = "anybody can act as a node", "allow sts:AssumeRole for the service "+service+" alone"
		c.add(f)
	}
	base.Action = "sts:AssumeRole"
	c.reportOutsiders(base, Outsiders(r.Trust, c.Found.AccountID, service, partition.EC2Service), "take it",
		"they act as a node", "allow sts:AssumeRole for the service "+service+" alone")
}

// controllerRole judges the role of the controller's pods, if it is here.
func (c *Comparison) controllerRole() {
	r := c.Found.Controller
	if r == nil || r.Trust == nil {
		return
	}
	base := Finding{Area: AreaController, Thing: r.Name, Policy: "trust policy"}
	c.reportOutsiders(base, Outsiders(r.Trust, c.Found.AccountID, "pods.eks.amazonaws.com"), "take it",
		"they can end instances and pass roles as the controller does", "let only the controller's service account in: by EKS Pod Identity, or with StringEquals on the provider's sub and aud")
	base.Policy = ""
	c.webIdentity(base, r)
	if !trusts(r.Trust, "pods.eks.") {
		return
	}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		call := iampolicy.Call{
			Caller: iampolicy.Caller{Service: "pods.eks.amazonaws.com", Account: c.Found.AccountID}, Action: action, Resource: r.ARN,
			Context: iampolicy.Context{"aws:sourceaccount": {c.Found.AccountID}},
		}
		d := iampolicy.Evaluate(call, iampolicy.Policies{Resource: r.Trust, ResourceOnly: true, ResourceOwner: c.Found.AccountID})
		if d.OK() || len(d.Near()) > 0 {
			continue // conditions on the cluster or the service account are its owner's
		}
		f := base
		f.Severity, f.Action, f.What = Missing, action, "its trust policy does not let pods.eks.amazonaws.com call "+action
		f.Why, f.Fix = "EKS Pod Identity gives the controller no credentials", "allow sts:AssumeRole and sts:TagSession for pods.eks.amazonaws.com"
		c.add(f)
	}
}

// webIdentity judges whether the controller's service account gets a role by an identity provider of a cluster. Conditions on
// other things than whose token it is are their owner's.
func (c *Comparison) webIdentity(base Finding, r *awssetup.Role) {
	d := &iampolicy.Document{Version: r.Trust.Version}
	for _, st := range r.Trust.Statements {
		st.Conditions = slices.DeleteFunc(slices.Clone(st.Conditions), func(c iampolicy.Condition) bool {
			key := strings.ToLower(c.Key)
			return !strings.HasSuffix(key, ":sub") && !strings.HasSuffix(key, ":aud")
		})
		d.Statements = append(d.Statements, st)
	}
	providers := identityProviders(r.Trust)
	if len(providers) == 0 || trusts(r.Trust, "pods.eks.") && c.Associated() {
		return
	}
	o := c.Stack.Options
	const prefix = "system:serviceaccount:"
	subject := prefix + o.Namespace + ":" + o.ServiceAccount
	if named := subjectOf(r.Trust, o.ServiceAccount); c.hints.Namespace == "" && named != "" {
		subject = named // nobody has said in which namespace the controller is
		o.Namespace, _, _ = strings.Cut(strings.TrimPrefix(named, prefix), ":")
	}
	var why iampolicy.Decision
	for _, p := range providers {
		_, issuer, _ := strings.Cut(p, ":oidc-provider/")
		call := iampolicy.Call{Caller: iampolicy.Caller{Federated: p, Account: c.Found.AccountID}, Action: "sts:AssumeRoleWithWebIdentity", Resource: r.ARN, Context: iampolicy.Context{}}
		call.Context.Set(issuer+":sub", subject)
		call.Context.Set(issuer+":aud", "sts.amazonaws.com")
		if why = iampolicy.Evaluate(call, iampolicy.Policies{Resource: d, ResourceOnly: true, ResourceOwner: c.Found.AccountID}); why.OK() {
			return
		}
	}
	f := base
	f.Severity, f.Action = Missing, "sts:AssumeRoleWithWebIdentity"
	f.What = fmt.Sprintf("its trust policy does not let the service account %s/%s of %s take it", o.Namespace, o.ServiceAccount, Enumerate(providers))
	if near := why.Near(); len(near) > 0 {
		f.What += ": " + strings.Join(near, "; ")
		f.Key = keyIn(near[0])
	}
	f.Why = "the controller gets no credentials"
	f.Fix = "ask with StringEquals for " + subject + " in the provider's sub and for sts.amazonaws.com in its aud; if the controller has another service account, give the check --namespace and --service-account"
	c.add(f)
}

// Associated tells whether the controller's service account has its role.
func (c *Comparison) Associated() bool {
	o, role := c.Stack.Options, c.Found.Controller
	return slices.ContainsFunc(c.Found.PodIdentities, func(a awssetup.PodIdentity) bool {
		return a.Namespace == o.Namespace && a.ServiceAccount == o.ServiceAccount && (role == nil || a.RoleARN == role.ARN)
	})
}

// mapping judges what maps roles to the cluster.
func (c *Comparison) mapping() {
	if c.Stack.PodIdentity && !c.Associated() {
		c.add(Finding{
			Severity: Missing, Area: AreaController, Thing: c.Report.Cluster, What: "no pod identity association gives the controller its role",
			Why: "the controller has no credentials, or those of its node", Fix: "add an association for service account " + c.Stack.Options.Namespace + "/" + c.Stack.Options.ServiceAccount,
		})
	}
	r := c.Found.NodeRole
	if r == nil {
		return
	}
	for _, e := range c.Found.AccessEntries {
		if e.PrincipalARN != r.ARN {
			continue
		}
		if e.Cluster != "" && e.Cluster != c.Report.Cluster {
			c.add(Finding{
				Severity: Different, Area: AreaNodeRole, Thing: r.Name, What: fmt.Sprintf("its access entry is of cluster %s, and not of %s", e.Cluster, c.Report.Cluster),
				Why: "nodes are not let into this cluster", Fix: "add an access entry of type EC2_LINUX to cluster " + c.Report.Cluster,
			})
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
	if c.Stack.AccessEntryType != "" {
		c.add(Finding{
			Severity: Missing, Area: AreaNodeRole, Thing: r.Name, What: "no access entry maps it to the cluster",
			Why: "nodes start and are not let into the cluster, unless aws-auth maps the role", Fix: "add an access entry of type " + c.Stack.AccessEntryType,
		})
	}
}
