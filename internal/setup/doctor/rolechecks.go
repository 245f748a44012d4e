package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// controllerPolicies are what decides the controller's calls, or why they are not known. whole is false when a part of them
// could not be read.
func (in *Input) controllerPolicies() (role *awssetup.Role, p iampolicy.Policies, whole bool, none Result) {
	if role = account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole); in.AWS.ControllerRole == "" || role == nil {
		for _, about := range []string{account.GapRole + " of the controller", account.GapPodIdentity, account.GapRole} {
			if g, isGap := in.gapAbout(about); isGap {
				r := unknown("the controller's role is not known: %s", g.Why)
				r.Remedy = "name it with --controller-role"
				return nil, p, false, r
			}
		}
		r := unknown("the controller's role is not known")
		r.Remedy = "name it with --controller-role"
		return nil, p, false, r
	}
	p, whole = account.PoliciesOf(&in.AWS.Setup, role)
	return role, p, whole, Result{}
}

// session is a session of a role, as calls have it.
func (in *Input) session(role *awssetup.Role) iampolicy.Caller {
	return iampolicy.Caller{ARN: "arn:" + in.AWS.Partition + ":sts::" + in.AWS.AccountID + ":assumed-role/" + role.Name + "/controller", Account: in.AWS.AccountID}
}

func (in *Input) roleContext(role *awssetup.Role) iampolicy.Context {
	c := iampolicy.Context{}
	c.Set("aws:SecureTransport", "true")
	c.Set("aws:RequestedRegion", in.AWS.Region)
	c.Set("aws:PrincipalArn", role.ARN)
	c.Set("aws:PrincipalAccount", in.AWS.AccountID)
	for k, v := range role.Tags {
		c.Set("aws:PrincipalTag/"+k, v)
	}
	return c
}

var queueActions = []string{"sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"}

// controllerQueueAccess judges by policies. To try a receive would say more, but it takes messages out of the queue for a
// while, and one of them may be the warning that counts.
func controllerQueueAccess(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	if reason, message := in.condition(); reason == "AccessDenied" {
		return failed(in.fixes("adds what is missing"), "the controller is refused by its queue").with("it says: " + message)
	}
	role, p, whole, none := in.controllerPolicies()
	if role == nil {
		return none
	}
	p.Resource, p.ResourceOwner = q.Policy, accountOf(q.ARN)
	var refused []string
	explicit := false
	for _, action := range queueActions {
		c := in.roleContext(role)
		for k, v := range q.Tags {
			c.Set("aws:ResourceTag/"+k, v)
		}
		if d := iampolicy.Evaluate(iampolicy.Call{Caller: in.session(role), Action: action, Resource: q.ARN, Context: c}, p); !d.OK() {
			refused = append(refused, action+": "+told(d))
			explicit = explicit || d.Outcome == iampolicy.ExplicitDeny
		}
	}
	for _, action := range queueActions {
		if reason := in.Refused[action]; reason != "" {
			refused, explicit = append(refused, action+": IAM says that "+reason), true
		}
	}
	switch {
	case len(refused) == 0 && in.Refused == nil:
		return ok("%s may do so, by its policies", role.Name).with("IAM could not be asked itself, so that policies of the organization are not known")
	case len(refused) == 0:
		return ok("%s may do so, by its policies and as IAM says itself", role.Name)
	case !whole && !explicit:
		return unknown("not all policies of %s could be read, and those that were do not allow it", role.Name).with(refused...)
	}
	return failed(in.fixes("adds what is missing", "if the controller's role is another one, name it with --controller-role"), "%s may not read the queue", role.Name).with(refused...)
}

// Policies near the limit fail with the next statement.
const nearLimit = iampolicy.ManagedPolicyLimit * 95 / 100

// maxAttached is how many managed policies a role may have, unless AWS raised it for the account.
//
// Source: IAM User Guide, "IAM and AWS STS quotas".
const maxAttached = 10

// wanted are the options of the stack that would be right here, with the names that are there. Names that would be too long,
// as they follow from a long cluster name, have shorter ones of their kind in their place: whoever made things under other
// names has made no mistake.
func (in *Input) wanted() stack.Options {
	const queueRoom, suffixRoom = 76, 80 // of the 80 of a queue, "-dlq" comes after it; of the 128 of a policy
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Region, o.AccountID = in.ClusterName, in.AWS.Region, in.AWS.AccountID
	if name := strings.TrimSuffix(in.AWS.QueueName, ".fifo"); name != in.ClusterName {
		o.QueueName = name
	}
	roles, _ := in.nodeRoles()
	usual := "KarpenterNodeRole-" + in.ClusterName
	if len(roles) > 0 && roles[0] != usual {
		o.NodeRoleName = roles[0]
	}
	shorten := func(name *string, derived string, room int) {
		if full := cmp.Or(*name, derived); len(full) > room {
			*name = full[:room]
		}
	}
	shorten(&o.QueueName, in.ClusterName, queueRoom)
	shorten(&o.NodeRoleName, usual, maxRoleName)
	shorten(&o.PolicySuffix, in.ClusterName, suffixRoom)
	return o
}

func policySize(in *Input) Result {
	s, err := stack.New(in.wanted())
	if err != nil {
		return failed(lines(note("give shorter names; this lists the flags for them:"), "kerf stack cloudformation --help"), "the stack for this cluster does not fit: %v", err)
	}
	var evidence, near []string
	role, _, _, none := in.controllerPolicies()
	if role == nil {
		evidence = append(evidence, why(none, "")+"; its policies were not measured")
	} else {
		near, evidence = in.measure(role)
	}
	largest := 0
	for _, p := range s.Policies {
		largest = max(largest, p.Characters)
	}
	evidence = append(evidence, fmt.Sprintf("the policies that Kerf writes for this cluster and region have at most %d characters", largest))
	if len(near) > 0 {
		return warning(in.fixes("cuts them into several"), "policies of the controller are at a limit").with(append(near, evidence...)...)
	}
	return ok("none is near the %d characters that IAM takes", iampolicy.ManagedPolicyLimit).with(evidence...)
}

func (in *Input) measure(role *awssetup.Role) (near, fine []string) {
	for _, p := range in.AWS.Policies {
		if !slices.Contains(p.AttachedTo, role.Name) || accountOf(p.ARN) == "aws" || p.Characters == 0 {
			continue
		}
		text := fmt.Sprintf("%s has %d characters", p.Name, p.Characters)
		if p.Characters > nearLimit {
			near = append(near, text+fmt.Sprintf(" of %d: IAM refuses it when it grows, or when it is made anew for a longer region or cluster name", iampolicy.ManagedPolicyLimit))
		} else {
			fine = append(fine, text)
		}
	}
	inline := 0
	for _, p := range role.Inline {
		inline += iampolicy.Size(p.Document.JSON())
	}
	if text := fmt.Sprintf("the inline policies of %s have %d characters together", role.Name, inline); inline > iampolicy.RoleInlineLimit*95/100 {
		near = append(near, text+fmt.Sprintf(" of %d", iampolicy.RoleInlineLimit))
	} else if inline > 0 {
		fine = append(fine, text)
	}
	if n := len(role.ManagedPolicyARNs); n >= maxAttached {
		near = append(near, fmt.Sprintf("%s has %d managed policies attached; the usual quota is %d", role.Name, n, maxAttached))
	}
	return near, fine
}

func spotRole(in *Input) Result {
	if account.RoleOf(&in.AWS.Setup, account.SpotRole) != nil {
		return ok("%s exists", account.SpotRole)
	}
	if g, isGap := in.gapAbout(account.GapRole + " " + account.SpotRole); isGap {
		return unknown("it could not be read: %s", g.Why)
	}
	fix := lines(note("once per account:"), "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com")
	if in.Kube == nil {
		return warning(fix, "%s does not exist: no spot instance can be started", account.SpotRole)
	}
	pools := in.Kube.spotPools()
	if len(pools) == 0 {
		return skipped("%s does not exist, and no NodePool asks for spot", account.SpotRole)
	}
	return failed(fix, "%s does not exist: no spot instance can be started", account.SpotRole).with("NodePools that may launch spot: " + strings.Join(pools, ", "))
}

// nodeRoles are the roles that nodes of the cluster have, by name, and the classes that name only a profile or a launch template.
func (in *Input) nodeRoles() (roles, profiles []string) {
	if in.Kube != nil {
		for i := range in.Kube.Classes {
			spec := &in.Kube.Classes[i].Spec
			switch name := spec.Role[strings.LastIndexByte(spec.Role, '/')+1:]; {
			case name != "" && !slices.Contains(roles, name):
				roles = append(roles, name)
			case name == "" && (spec.InstanceProfile != nil || spec.LaunchTemplate != nil):
				profiles = append(profiles, in.Kube.Classes[i].Name)
			}
		}
	}
	if len(roles) == 0 && in.AWS != nil && in.AWS.NodeRole != "" {
		roles = []string{in.AWS.NodeRole}
	}
	return roles, profiles
}

// entryType is the type of the access entry that a node role needs.
func (in *Input) entryType(role string) string {
	if in.Kube != nil {
		for i := range in.Kube.Classes {
			c := &in.Kube.Classes[i]
			if name := c.Spec.Role[strings.LastIndexByte(c.Spec.Role, '/')+1:]; name == role && c.ResolvedAMIFamily().IsWindows() {
				return "EC2_WINDOWS"
			}
		}
	}
	return "EC2_LINUX"
}

func nodeRoleMapped(in *Input) Result {
	roles, profiles := in.nodeRoles()
	var evidence []string
	if len(profiles) > 0 {
		evidence = append(evidence, "not judged, as they name an instance profile or a launch template and not a role: EC2NodeClass "+strings.Join(profiles, ", "))
	}
	if len(roles) == 0 {
		return skipped("no node role is known").with(evidence...)
	}
	if absent := in.absentRoles(); len(absent) > 0 {
		return failed(lines(note("correct spec.role of the EC2NodeClass, or make the role by deploying this stack:"), in.makesStack("--node-role-name", absent[0].role)),
			"%s named by an EC2NodeClass does not exist in account %s", count(len(absent), "role"), in.AWS.AccountID).with(absentLines(absent)...)
	}
	entriesUnread, noEntries := in.gapAbout(account.GapAccess, account.GapCluster)
	configUnread := in.Kube == nil || in.Kube.NoAWSAuth != ""
	var unmapped, mapped, open []string
	for _, role := range roles {
		how := in.mapping(role)
		switch {
		case how.good:
			mapped = append(mapped, role+": "+how.text)
		case how.text != "":
			unmapped = append(unmapped, role+": "+how.text)
		case noEntries:
			open = append(open, role+": access entries could not be read: "+entriesUnread.Why)
		case configUnread && in.AWS.AuthenticationMode != "API":
			open = append(open, role+": it has no access entry, and aws-auth could not be read")
		default:
			unmapped = append(unmapped, role+": it has neither an access entry nor a line in aws-auth")
		}
	}
	switch {
	case len(unmapped) > 0:
		fix := []string{note("with authentication mode CONFIG_MAP, add lines to the ConfigMap aws-auth instead:")}
		for _, u := range unmapped {
			role, _, _ := strings.Cut(u, ":")
			fix = append(fix, command("aws", "eks", "create-access-entry", "--cluster-name", in.ClusterName, "--type", in.entryType(role), "--principal-arn", in.roleARN(role)))
		}
		return failed(lines(fix...),
			"nodes with %s start and never join", count(len(unmapped), "role")).with(append(unmapped, evidence...)...)
	case len(open) > 0:
		return unknown("not all could be read").with(append(open, evidence...)...)
	}
	return ok("%s mapped to the cluster", count(len(mapped), "role")).with(append(mapped, evidence...)...)
}

// absentRole is a role that a class names and that does not exist.
type absentRole struct{ class, role string }

func absentLines(list []absentRole) []string {
	var out []string
	for _, a := range list {
		out = append(out, "EC2NodeClass "+a.class+" has spec.role "+a.role)
	}
	return out
}

// absentRoles are the roles of classes that were asked for, and are neither there nor unreadable.
func (in *Input) absentRoles() []absentRole {
	if in.Kube == nil {
		return nil
	}
	var out []absentRole
	for i := range in.Kube.Classes {
		c := &in.Kube.Classes[i]
		name := c.Spec.Role[strings.LastIndexByte(c.Spec.Role, '/')+1:]
		if name == "" || account.RoleOf(&in.AWS.Setup, name) != nil {
			continue
		}
		if _, unread := in.gapAbout(account.GapRole); !unread {
			out = append(out, absentRole{c.Name, name})
		}
	}
	return out
}

type mapping struct {
	good bool
	text string
}

// mapping finds how a role is mapped. In the mode CONFIG_MAP entries don't count, in the mode API the ConfigMap doesn't.
func (in *Input) mapping(role string) mapping {
	var wrong string
	if in.AWS.AuthenticationMode != "CONFIG_MAP" {
		for _, e := range in.AWS.AccessEntries {
			if e.PrincipalARN[strings.LastIndexByte(e.PrincipalARN, '/')+1:] != role {
				continue
			}
			if strings.HasPrefix(e.Type, "EC2") || e.Type == "HYPERPOD_LINUX" || slices.Contains(e.Groups, "system:nodes") {
				return mapping{true, "access entry of type " + e.Type}
			}
			wrong = "its access entry has type " + e.Type + ", nodes need EC2_LINUX or EC2_WINDOWS"
		}
	}
	if in.Kube != nil && in.AWS.AuthenticationMode != "API" {
		for _, m := range in.Kube.AWSAuth {
			if m.RoleARN[strings.LastIndexByte(m.RoleARN, '/')+1:] != role {
				continue
			}
			switch {
			case strings.Count(m.RoleARN, "/") > 1:
				wrong = "its line in aws-auth has the role's path, which must be left out there: " + m.RoleARN
			case slices.Contains(m.Groups, "system:nodes") && slices.Contains(m.Groups, "system:bootstrappers"):
				return mapping{true, "aws-auth"}
			default:
				wrong = "its line in aws-auth lacks the groups system:bootstrappers and system:nodes"
			}
		}
	}
	return mapping{false, wrong}
}

// maxRoleName is how long a role's name may be.
//
// Source: IAM User Guide, "IAM and AWS STS quotas".
const maxRoleName = 64

func roleNames(in *Input) Result {
	roles, _ := in.nodeRoles()
	if usual := "KarpenterNodeRole-" + in.ClusterName; len(roles) == 0 {
		roles = []string{usual}
	}
	longest := 0
	var long []string
	for _, r := range roles {
		n := utf8.RuneCountInString(r)
		if longest = max(longest, n); n > maxRoleName {
			long = append(long, fmt.Sprintf("%s has %d characters", r, n))
		}
	}
	if len(long) > 0 {
		return failed("give the role a shorter name, with --node-role-name of kerf stack and in spec.role of the EC2NodeClass", "IAM takes %d characters for a role's name", maxRoleName).with(long...)
	}
	return ok("the longest has %d characters of %d", longest, maxRoleName)
}
