package account

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// IAMAPI is what is asked of IAM.
type IAMAPI interface {
	GetRole(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error)
	ListRoles(context.Context, *iam.ListRolesInput, ...func(*iam.Options)) (*iam.ListRolesOutput, error)
	ListAttachedRolePolicies(context.Context, *iam.ListAttachedRolePoliciesInput, ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error)
	ListRolePolicies(context.Context, *iam.ListRolePoliciesInput, ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error)
	GetRolePolicy(context.Context, *iam.GetRolePolicyInput, ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error)
	GetPolicy(context.Context, *iam.GetPolicyInput, ...func(*iam.Options)) (*iam.GetPolicyOutput, error)
	GetPolicyVersion(context.Context, *iam.GetPolicyVersionInput, ...func(*iam.Options)) (*iam.GetPolicyVersionOutput, error)
}

// SpotRole is the role by which EC2 manages spot instances, made once per account.
const SpotRole = "AWSServiceRoleForEC2Spot"

// roles reads the node roles, the controller's role with all that its policies say, and the role for spot instances.
func (r *reader) roles(ctx context.Context) {
	r.a.NodeRole = lastSegment(cmp.Or(r.o.NodeRole, "KarpenterNodeRole-"+r.o.ClusterName))
	for _, name := range append([]string{r.a.NodeRole}, r.o.ClassRoles...) {
		r.role(ctx, lastSegment(name), false)
	}
	if r.known(r.a.NodeRole) == nil {
		r.a.NodeRole = ""
	}
	r.role(ctx, SpotRole, false)
	r.controllerRole(ctx)
}

// controllerRole finds the controller's role: as given; else that of the service account, by pod identity, which the cluster
// puts before an annotation, or by annotation; else the caller's, if it runs in a pod and its role's name says that it is a
// controller's; else by the names that guides and modules give it.
//
// A role that a service account names is the controller's even if it can't be read. It is a gap then, and no other role is
// taken in its place.
func (r *reader) controllerRole(ctx context.Context) {
	take := func(name, from string) bool {
		if name == "" {
			return false
		}
		if r.role(ctx, lastSegment(name), true); r.known(lastSegment(name)) == nil {
			return false
		}
		r.a.ControllerRole, r.a.ControllerRoleFrom = lastSegment(name), from
		return true
	}
	if r.o.ControllerRole != "" {
		take(r.o.ControllerRole, "given")
		return
	}
	if arn, from, found := r.roleOfServiceAccount(); found {
		if arn != "" && !take(arn, from) {
			r.gap(GapRole+" of the controller", fmt.Errorf("the %s names %s, which does not exist or can't be read", from, lastSegment(arn)))
		}
		return
	}
	if own := lastSegment(iampolicy.RoleOf(r.a.Caller)); inPod() && looksLikeController(own) && take(own, "the caller's own role, in a pod") {
		return
	}
	c := r.o.ClusterName
	for _, name := range []string{c + "-karpenter", "KarpenterControllerRole-" + c, "KarpenterController-" + c} {
		if take(name, "its name") {
			return
		}
	}
	names, err := r.controllerLikeRoles(ctx)
	switch {
	case err != nil:
		r.gap(GapRole+" of the controller", err)
	case len(names) == 1:
		take(names[0], "its name")
	case len(names) > 1:
		r.gap(GapRole+" of the controller", fmt.Errorf("several roles may be it: %s; name one", strings.Join(names, ", ")))
	}
}

// roleOfServiceAccount is the role that the controller's service account has, and how. found is true as well when several
// service accounts may be the controller's and have different roles; arn is empty then.
func (r *reader) roleOfServiceAccount() (arn, from string, found bool) {
	var names []string
	roles := map[string]bool{}
	for _, p := range r.a.PodIdentities {
		if !r.isController(p) || p.RoleARN == "" {
			continue
		}
		if arn == "" {
			arn, from = p.RoleARN, "pod identity of "+p.Namespace+"/"+p.ServiceAccount
		}
		names, roles[p.RoleARN] = append(names, p.Namespace+"/"+p.ServiceAccount+" with "+lastSegment(p.RoleARN)), true
	}
	switch {
	case len(roles) > 1:
		r.gap(GapRole+" of the controller", fmt.Errorf("the service accounts %s may be the controller's; name the role", strings.Join(names, " and ")))
		return "", "", true
	case len(roles) == 0 && r.o.ServiceAccountRole != "":
		return r.o.ServiceAccountRole, "annotation of service account " + r.o.Namespace + "/" + r.o.ServiceAccount, true
	}
	return arn, from, len(roles) == 1
}

// inPod tells whether this process runs in a pod, by the variable that every container gets.
func inPod() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

func (r *reader) isController(p awssetup.PodIdentity) bool {
	ours := p.ServiceAccount == r.o.ServiceAccount || r.o.ServiceAccount == "" && (p.ServiceAccount == "karpenter" || p.ServiceAccount == "kerf")
	return ours && (r.o.Namespace == "" || p.Namespace == r.o.Namespace)
}

func looksLikeController(role string) bool {
	role = strings.ToLower(role)
	return (strings.Contains(role, "karpenter") || strings.Contains(role, "kerf")) && !strings.Contains(role, "node")
}

// controllerLikeRoles are roles that are named as controllers' are and that a pod may take on. Modules put random ends to
// such names, so they can't be asked for.
func (r *reader) controllerLikeRoles(ctx context.Context) ([]string, error) {
	var all, ours []string
	pages := iam.NewListRolesPaginator(r.iam, &iam.ListRolesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, role := range page.Roles {
			trust := unescape(deref(role.AssumeRolePolicyDocument))
			name := deref(role.RoleName)
			if !looksLikeController(name) || !strings.Contains(trust, "pods.eks.amazonaws.com") && !strings.Contains(trust, "oidc-provider/") {
				continue
			}
			all = append(all, name)
			if strings.Contains(strings.ToLower(name), strings.ToLower(r.o.ClusterName)) {
				ours = append(ours, name)
			}
		}
	}
	if len(ours) > 0 {
		return ours, nil
	}
	return all, nil
}

// known finds a role that was read.
func (r *reader) known(name string) *awssetup.Role { return RoleOf(&r.a.Setup, name) }

// RoleOf finds a role by its name or ARN.
func RoleOf(s *awssetup.Setup, name string) *awssetup.Role {
	for i := range s.Roles {
		if s.Roles[i].Name == lastSegment(name) {
			return &s.Roles[i]
		}
	}
	return nil
}

// role reads a role with its policies; whole means with the documents of AWS's own policies as well, so that calls can be
// decided. A role that does not exist is left out.
func (r *reader) role(ctx context.Context, name string, whole bool) {
	if name == "" {
		return
	}
	known := r.known(name)
	if known == nil {
		out, err := r.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
		switch {
		case isNotFound(err):
			return
		case err != nil:
			r.gap(GapRole+" "+name, err)
			return
		}
		r.a.Roles = append(r.a.Roles, *r.roleOf(out.Role))
		known = r.known(name)
		r.attached(ctx, known)
		r.inline(ctx, known)
	}
	for _, arn := range append(slices.Clone(known.ManagedPolicyARNs), known.Boundary) {
		if arn != "" && (whole || !isAWSOwn(arn)) {
			r.policy(ctx, arn, name, slices.Contains(known.ManagedPolicyARNs, arn))
		}
	}
}

// isAWSOwn tells AWS's own managed policies from those of an account.
func isAWSOwn(arn string) bool {
	parts := strings.SplitN(arn, ":", 6)
	return len(parts) == 6 && parts[4] == "aws"
}

func (r *reader) roleOf(in *types.Role) *awssetup.Role {
	if in == nil {
		in = &types.Role{}
	}
	out := &awssetup.Role{Name: deref(in.RoleName), Path: deref(in.Path), ARN: deref(in.Arn), Tags: map[string]string{}}
	for _, t := range in.Tags {
		out.Tags[deref(t.Key)] = deref(t.Value)
	}
	if in.PermissionsBoundary != nil {
		out.Boundary = deref(in.PermissionsBoundary.PermissionsBoundaryArn)
	}
	if text := unescape(deref(in.AssumeRolePolicyDocument)); text != "" {
		var err error
		if out.Trust, err = iampolicy.Parse([]byte(text)); err != nil {
			r.gap(GapRole+" "+out.Name+" (its trust policy)", err)
		}
	}
	return out
}

func (r *reader) attached(ctx context.Context, role *awssetup.Role) {
	pages := iam.NewListAttachedRolePoliciesPaginator(r.iam, &iam.ListAttachedRolePoliciesInput{RoleName: &role.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(GapRole+" "+role.Name+" (its attached policies)", err)
			return
		}
		for _, p := range page.AttachedPolicies {
			role.ManagedPolicyARNs = append(role.ManagedPolicyARNs, deref(p.PolicyArn))
		}
	}
}

func (r *reader) inline(ctx context.Context, role *awssetup.Role) {
	what := GapRole + " " + role.Name + " (its inline policies)"
	pages := iam.NewListRolePoliciesPaginator(r.iam, &iam.ListRolePoliciesInput{RoleName: &role.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(what, err)
			return
		}
		for _, name := range page.PolicyNames {
			out, err := r.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &role.Name, PolicyName: &name})
			if err != nil {
				r.gap(what, err)
				continue
			}
			d, err := iampolicy.Parse([]byte(unescape(deref(out.PolicyDocument))))
			if err != nil {
				r.gap(what, fmt.Errorf("%s: %w", name, err))
				continue
			}
			role.Inline = append(role.Inline, iampolicy.Named{Name: name, Document: d})
		}
	}
}

// policy reads the version of a managed policy that is in force.
func (r *reader) policy(ctx context.Context, arn, role string, attached bool) {
	if i := slices.IndexFunc(r.a.Policies, func(p awssetup.Policy) bool { return p.ARN == arn }); i >= 0 {
		if p := &r.a.Policies[i]; attached && !slices.Contains(p.AttachedTo, role) {
			p.AttachedTo = append(p.AttachedTo, role)
		}
		return
	}
	p := awssetup.Policy{ARN: arn, Name: lastSegment(arn)}
	if attached {
		p.AttachedTo = []string{role}
	}
	text, attachments, err := r.policyText(ctx, arn)
	p.Attachments = attachments
	if err == nil {
		p.Characters = iampolicy.Size([]byte(text))
		p.Document, err = iampolicy.Parse([]byte(text))
	}
	if err != nil {
		r.gap(GapPolicy+" "+p.Name, err)
	}
	r.a.Policies = append(r.a.Policies, p)
}

// policyText is the text of the version in force, with how many users, groups and roles have the policy.
func (r *reader) policyText(ctx context.Context, arn string) (text string, attachments int, err error) {
	out, err := r.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &arn})
	if err != nil {
		return "", 0, err
	}
	if out.Policy == nil {
		return "", 0, fmt.Errorf("the answer of IAM is empty")
	}
	attachments = int(deref(out.Policy.AttachmentCount))
	version, err := r.iam.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: &arn, VersionId: out.Policy.DefaultVersionId})
	if err != nil {
		return "", attachments, err
	}
	if version.PolicyVersion == nil {
		return "", attachments, fmt.Errorf("the answer of IAM is empty")
	}
	return unescape(deref(version.PolicyVersion.Document)), attachments, nil
}

// unescape decodes documents, which IAM sends percent-encoded (RFC 3986); one that is not encoded begins with a brace.
func unescape(document string) string {
	if strings.HasPrefix(strings.TrimSpace(document), "{") {
		return document
	}
	out, err := url.PathUnescape(document)
	if err != nil {
		return document
	}
	return out
}

// PoliciesOf collects what decides the calls of a role: its policies, and its boundary. complete is false when one of them
// could not be read, so that a call that is not allowed may be so after all.
func PoliciesOf(s *awssetup.Setup, role *awssetup.Role) (p iampolicy.Policies, complete bool) {
	document := func(arn string) *iampolicy.Document {
		for i := range s.Policies {
			if s.Policies[i].ARN == arn {
				return s.Policies[i].Document
			}
		}
		return nil
	}
	complete = !slices.ContainsFunc(s.Gaps, func(g awssetup.Gap) bool { return strings.HasPrefix(g.What, GapRole+" "+role.Name+" (its") })
	p.Identity = slices.Clone(role.Inline)
	for _, arn := range role.ManagedPolicyARNs {
		d := document(arn)
		if d == nil {
			complete = false
			continue
		}
		p.Identity = append(p.Identity, iampolicy.Named{Name: lastSegment(arn), Document: d})
	}
	if role.Boundary != "" {
		if p.Boundary = document(role.Boundary); p.Boundary == nil {
			complete = false
		}
	}
	return p, complete
}
