package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// controllerPermissions evaluates every call that the controller makes, but for those on the queue and on keys, which
// checks 3, 5 and 16 judge with the policies of these.
func controllerPermissions(in *Input) Result {
	said := in.unauthorized()
	fix := in.fixes("adds what is missing") + "; if the controller's role is another one, name it with --controller-role"
	role, policies, whole, none := in.controllerPolicies()
	switch {
	case role == nil && len(said) > 0:
		return failed("add what AWS asks for to the controller's role: docs/iam.md has the statements", "AWS refuses the controller").with(said...)
	case role == nil:
		return none
	}
	policies.ResourceOwner = in.AWS.AccountID
	needs, left := in.needs()
	j := judgement{in: in, role: role, policies: policies, whole: whole}
	for _, n := range needs {
		j.need(n)
	}
	evidence := slices.Concat(said, j.grave, j.minor, j.unsure, left)
	switch {
	case len(j.grave) > 0:
		return failed(fix, "%s may not make all calls by which instances are started, joined and ended", role.Name).with(evidence...)
	case len(said) > 0:
		return failed("look for a policy of the organization, a boundary or a denial; if the controller's role is another one, name it with --controller-role",
			"AWS refuses the controller, though the policies of %s that could be read allow its calls", role.Name).with(evidence...)
	case len(j.unsure) > 0:
		return unknown("not all policies of %s could be read, and those that were do not allow all that it calls", role.Name).with(evidence...)
	case len(j.minor) > 0:
		return warning(fix, "%s may start and end instances, but not make all calls that it makes", role.Name).with(evidence...)
	}
	return ok("%s may make the %d calls that it makes, by its policies", role.Name, j.calls).with(evidence...)
}

// needs are the calls that the controller makes with the classes that there are; left says what is not judged.
func (in *Input) needs() (needs []stack.Need, left []string) {
	o := stack.Defaults(stack.Latest)
	o.CapacityReservations, o.PlacementGroups, o.ZonalShift = false, false, false // only what is used is needed
	roles, profiles := in.nodeRoles()
	endpoint, isolated := false, false
	if in.Kube != nil {
		for i := range in.Kube.Classes {
			spec := &in.Kube.Classes[i].Spec
			o.CapacityReservations = o.CapacityReservations || len(spec.CapacityReservationSelectorTerms) > 0
			o.PlacementGroups = o.PlacementGroups || spec.PlacementGroupSelector != nil
			o.LaunchTemplates = o.LaunchTemplates || spec.LaunchTemplate != nil
			o.Parameters = append(o.Parameters, in.parameters(spec)...)
		}
		for _, c := range in.controllers() {
			endpoint, isolated = endpoint || c.Endpoint, isolated || c.Isolated
			o.ZonalShift = o.ZonalShift || c.ZonalShift
		}
	}
	own := len(roles) == 0 || in.Kube != nil && len(profiles) > 0 && len(profiles) == len(in.Kube.Classes)
	if own {
		left = append(left, "not judged, as no EC2NodeClass names a role: passing it, and making instance profiles")
	}
	for _, n := range stack.Needs() {
		_, asked := n.Statement(&o)
		service, _, _ := strings.Cut(n.Action, ":")
		switch {
		case !asked, service == "sqs", service == "kms":
		case n.Action == "eks:DescribeCluster" && endpoint:
		case isolated && (service == "pricing" || service == "iam" && n.Action != "iam:PassRole"):
		case own && service == "iam":
		default:
			needs = append(needs, n)
		}
	}
	return needs, left
}

// parameters are the ARNs of the SSM parameters that a class takes images from.
func (in *Input) parameters(spec *awsv1.EC2NodeClassSpec) []string {
	var out []string
	for _, t := range spec.AMISelectorTerms {
		switch {
		case t.SSMParameter == "":
		case strings.HasPrefix(t.SSMParameter, "arn:"):
			out = append(out, t.SSMParameter)
		case strings.HasPrefix(t.SSMParameter, "/aws/service/"): // public ones are asked about anyway
		default:
			out = append(out, fmt.Sprintf("arn:%s:ssm:%s:%s:parameter/%s", in.AWS.Partition, in.AWS.Region, in.AWS.AccountID, strings.TrimPrefix(t.SSMParameter, "/")))
		}
	}
	return out
}

// judgement collects what a role may not do.
type judgement struct {
	in       *Input
	role     *awssetup.Role
	policies iampolicy.Policies
	whole    bool

	calls                int
	grave, minor, unsure []string
}

// need tries the calls of a need. What no policy that could be read allows or comes near to may be allowed by one that
// could not.
func (j *judgement) need(n stack.Need) {
	var kinds []string
	var first iampolicy.Decision
	for _, call := range j.in.calls(n, j.role) {
		j.calls++
		d := iampolicy.Evaluate(call.Call, j.policies)
		if d.OK() {
			continue
		}
		if len(kinds) == 0 || len(first.Near()) == 0 {
			first = d
		}
		if !slices.Contains(kinds, call.kind) {
			kinds = append(kinds, call.kind)
		}
	}
	if len(kinds) == 0 {
		return
	}
	line := n.Action
	if kinds[0] != "*" {
		line += " on " + strings.Join(kinds, ", ")
	}
	list, seen := &j.grave, n.Without
	latest, older, two := strings.Cut(n.Without, stack.UntaggedSpot)
	bearable := j.bearable(n)
	switch {
	case two && bearable:
		seen = "only " + older
	case two:
		seen = latest
	}
	switch {
	case !j.whole && first.Outcome == iampolicy.ImplicitDeny && len(first.Near()) == 0:
		list = &j.unsure
	case bearable:
		list = &j.minor
	}
	line += ": " + told(first) + ". Without it: " + seen
	if !slices.Contains(*list, line) {
		*list = append(*list, line)
	}
}

// bearable tells whether instances start, join and end without a call.
func (j *judgement) bearable(n stack.Need) bool {
	switch {
	case strings.Contains(n.Without, stack.UntaggedSpot):
		// With policies that don't ask for tags on spot requests the controller leaves these off.
		ec2 := fmt.Sprintf("arn:%s:ec2:%s:%s:", j.in.AWS.Partition, j.in.AWS.Region, j.in.AWS.AccountID)
		call := iampolicy.Call{Caller: j.in.session(j.role), Action: "ec2:RunInstances", Context: j.in.roleContext(j.role), Resource: ec2 + "spot-instances-request/*"}
		call.Context.Set("ec2:LaunchTemplate", ec2+"launch-template/lt-0123456789abcdef0") // all launches are made from one
		return iampolicy.Evaluate(call, j.policies).OK()
	case strings.Contains(n.Without, "condition Launched"):
		return false
	case n.Action == "eks:DescribeCluster":
		return j.in.Kube == nil // it may be told the endpoint
	}
	return strings.HasPrefix(n.Without, `log "`) || strings.Contains(n.Without, awsv1.ConditionTypeInstanceStatusReady)
}

// aimed is a call with the kind of thing that it is made on, as people name it.
type aimed struct {
	iampolicy.Call
	kind string
}

// calls are those of a need as the controller makes them here. A role is passed for every role that a class names.
func (in *Input) calls(n stack.Need, role *awssetup.Role) []aimed {
	w := stack.Where{Account: in.AWS.AccountID, Region: in.AWS.Region, Cluster: in.ClusterName, ControllerRole: cmp.Or(role.ARN, in.session(role).ARN)}
	if in.Kube != nil {
		for i := range in.Kube.Classes {
			w.Parameters = append(w.Parameters, in.parameters(&in.Kube.Classes[i].Spec)...)
		}
		w.PublicParameters = in.publicParameters()
	}
	nodes, _ := in.nodeRoles()
	for _, absent := range in.absentRoles() { // nobody can pass it; check 17 says so
		nodes = slices.DeleteFunc(nodes, func(name string) bool { return name == absent.role })
	}
	if n.Action != "iam:PassRole" {
		nodes = nodes[:min(len(nodes), 1)]
	}
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	var out []aimed
	for _, name := range nodes {
		if w.NodeRole = ""; name != "" {
			w.NodeRole = in.roleARN(name)
		}
		list := n.Calls(w)
		for i, call := range list {
			a := aimed{call, strings.Join(n.Kinds, ", ")}
			switch {
			case n.Action == "iam:PassRole":
				a.kind += " " + name
			case readsPublic(&n) && len(w.PublicParameters) > 0:
				a.kind += " " + family(w.PublicParameters[i]) + " (kerf stack --public-parameter)"
			case len(n.Kinds) == len(list):
				a.kind = n.Kinds[i]
			}
			for k, v := range role.Tags {
				a.Context.Set("aws:PrincipalTag/"+k, v)
			}
			out = append(out, a)
		}
	}
	return out
}

// roleARN is the ARN of a role, which has its path if it could be read.
func (in *Input) roleARN(name string) string {
	if r := account.RoleOf(&in.AWS.Setup, name); r != nil && r.ARN != "" {
		return r.ARN
	}
	return "arn:" + in.AWS.Partition + ":iam::" + in.AWS.AccountID + ":role/" + name
}

// unauthorized is what EC2NodeClasses and NodeClaims say of calls that AWS refused; the queue's condition is for checks 3
// and 5.
func (in *Input) unauthorized() []string {
	if in.Kube == nil {
		return nil
	}
	var out []string
	add := func(kind, name string, conditions []status.Condition) {
		for _, c := range conditions {
			if c.Status == "True" || c.Type == status.Ready || c.Type == awsv1.ConditionTypeInterruptionQueueReady || !refused(c) {
				continue
			}
			out = append(out, fmt.Sprintf("%s %s says, in condition %s: %s", kind, name, c.Type, c.Message))
		}
	}
	for i := range in.Kube.Classes {
		add("EC2NodeClass", in.Kube.Classes[i].Name, in.Kube.Classes[i].Status.Conditions)
	}
	for i := range in.Kube.Claims {
		add("NodeClaim", in.Kube.Claims[i].Name, in.Kube.Claims[i].Status.Conditions)
	}
	const enough = 6
	if len(out) > enough {
		out = append(out[:enough], fmt.Sprintf("and %d conditions more", len(out)-enough))
	}
	return out
}

// refused tells whether a condition is about a call that was refused. A trial may fail for other reasons as well.
func refused(c status.Condition) bool {
	switch c.Reason {
	case awserr.ReasonUnauthorized, awsv1.ReasonLaunchTemplateReadDenied:
		return true
	case awsv1.ReasonCreateLaunchTemplateAuthCheckFailed, awsv1.ReasonCreateFleetAuthCheckFailed, awsv1.ReasonRunInstancesAuthCheckFailed:
		text := strings.ToLower(c.Message)
		return slices.ContainsFunc([]string{"not authorized", "unauthorized", "accessdenied", "missing permission"}, func(s string) bool { return strings.Contains(text, s) })
	}
	return false
}
