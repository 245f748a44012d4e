package iam

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type keys struct{ w *world.World }

func (k keys) Identity(id string) (wire.Identity, bool) {
	a, ok := k.w.AccessKey(id)
	return wire.Identity{AccessKeyID: a.ID, Secret: a.Secret, SessionToken: a.SessionToken, Account: k.w.Account(), PrincipalARN: a.PrincipalARN}, ok
}

func refusal(err error) *wire.Error {
	if e, ok := errors.AsType[*world.Error](err); ok {
		return &wire.Error{Code: e.Code, Message: e.Message, Status: e.Status}
	}
	return nil
}

// start makes an account and a client of its administrator.
func start(t *testing.T, o world.Options) (*world.World, *awsiam.Client) {
	t.Helper()
	o.Types = []string{"m5.large"}
	o.Clock = world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	w, err := world.NewDefault(o)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(wire.Options{Keys: keys{w}, Errors: refusal, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	Register(server, w)
	hs := httptest.NewServer(server)
	t.Cleanup(func() { hs.Close(); w.Close() })
	return w, awsiam.New(awsiam.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(hs.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, ""),
	})
}

func wantCode(t *testing.T, what string, err error, code, words string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), words) {
		t.Errorf("%s: got %v, want %s with %q", what, err, code, words)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

const (
	trust      = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	allowS3    = `{"Version":"2012-10-17","Statement":[{"Sid":"S3","Effect":"Allow","Action":"s3:*","Resource":"*"}]}`
	allowEC2   = `{ "Version": "2012-10-17", "Statement": [ { "Sid": "EC2", "Effect": "Allow", "Action": "ec2:*", "Resource": "*" } ] }`
	worker     = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	ownAccount = "arn:aws:iam::123456789012:"
)

func makeRole(t *testing.T, c *awsiam.Client, name string) *types.Role {
	t.Helper()
	return must[*awsiam.CreateRoleOutput](t)(c.CreateRole(t.Context(), &awsiam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust)})).Role
}

func TestRoleLivesAndDies(t *testing.T) {
	w, c := start(t, world.Options{NoIdentities: true})
	ctx := t.Context()
	if _, ok := w.AccessKey(world.DefaultAccessKey); ok {
		t.Error("the controller's key is there without its role")
	}
	bounds := must[*awsiam.CreatePolicyOutput](t)(c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: aws.String("Bounds"), PolicyDocument: aws.String(allowEC2)})).Policy.Arn
	made := must[*awsiam.CreateRoleOutput](t)(c.CreateRole(ctx, &awsiam.CreateRoleInput{
		RoleName: aws.String("Node"), Path: aws.String("/kerf/"), AssumeRolePolicyDocument: aws.String(trust), Description: aws.String("of nodes"),
		MaxSessionDuration: aws.Int32(7200), PermissionsBoundary: bounds, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	})).Role
	got := must[*awsiam.GetRoleOutput](t)(c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String("Node")})).Role
	document, err := url.PathUnescape(*got.AssumeRolePolicyDocument)
	if err != nil || document != trust {
		t.Errorf("trust policy %s, %v", document, err)
	}
	have := fmt.Sprintln(*got.Arn, *got.RoleId == *made.RoleId, *got.Description, *got.MaxSessionDuration, *got.PermissionsBoundary.PermissionsBoundaryArn, *got.Tags[0].Key, got.CreateDate.UTC())
	want := fmt.Sprintln(ownAccount+"role/kerf/Node", true, "of nodes", 7200, ownAccount+"policy/Bounds", "a", "2026-11-01 12:00:00 +0000 UTC")
	if have != want {
		t.Errorf("role:\n%s\nwant\n%s", have, want)
	}

	attach := &awsiam.AttachRolePolicyInput{RoleName: aws.String("Node"), PolicyArn: aws.String(worker)}
	must[*awsiam.AttachRolePolicyOutput](t)(c.AttachRolePolicy(ctx, attach))
	must[*awsiam.AttachRolePolicyOutput](t)(c.AttachRolePolicy(ctx, attach)) // again changes nothing
	must[*awsiam.PutRolePolicyOutput](t)(c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: aws.String("Node"), PolicyName: aws.String("Inline"), PolicyDocument: aws.String(allowS3)}))
	attached := must[*awsiam.ListAttachedRolePoliciesOutput](t)(c.ListAttachedRolePolicies(ctx, &awsiam.ListAttachedRolePoliciesInput{RoleName: aws.String("Node")})).AttachedPolicies
	if len(attached) != 1 || *attached[0].PolicyName != "AmazonEKSWorkerNodePolicy" || *attached[0].PolicyArn != worker {
		t.Errorf("attached: %+v", attached)
	}
	inline := must[*awsiam.GetRolePolicyOutput](t)(c.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: aws.String("Node"), PolicyName: aws.String("Inline")}))
	if text, _ := url.PathUnescape(*inline.PolicyDocument); text != allowS3 {
		t.Errorf("inline policy: %s", text)
	}

	remove := func() error {
		_, err := c.DeleteRole(ctx, &awsiam.DeleteRoleInput{RoleName: aws.String("Node")})
		return err
	}
	must[*awsiam.CreateInstanceProfileOutput](t)(c.CreateInstanceProfile(ctx, &awsiam.CreateInstanceProfileInput{InstanceProfileName: aws.String("P")}))
	must[*awsiam.AddRoleToInstanceProfileOutput](t)(c.AddRoleToInstanceProfile(ctx, &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("P"), RoleName: aws.String("Node")}))
	wantCode(t, "deleting it in a profile", remove(), "DeleteConflict", "instance profile")
	holding := must[*awsiam.ListInstanceProfilesForRoleOutput](t)(c.ListInstanceProfilesForRole(ctx, &awsiam.ListInstanceProfilesForRoleInput{RoleName: aws.String("Node")})).InstanceProfiles
	if len(holding) != 1 || *holding[0].InstanceProfileName != "P" {
		t.Errorf("profiles that hold the role: %+v", holding)
	}
	must[*awsiam.RemoveRoleFromInstanceProfileOutput](t)(c.RemoveRoleFromInstanceProfile(ctx, &awsiam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String("P"), RoleName: aws.String("Node")}))
	wantCode(t, "deleting it with a policy attached", remove(), "DeleteConflict", "detach all policies")
	must[*awsiam.DetachRolePolicyOutput](t)(c.DetachRolePolicy(ctx, &awsiam.DetachRolePolicyInput{RoleName: aws.String("Node"), PolicyArn: aws.String(worker)}))
	wantCode(t, "deleting it with an inline policy", remove(), "DeleteConflict", "delete policies")
	must[*awsiam.DeleteRolePolicyOutput](t)(c.DeleteRolePolicy(ctx, &awsiam.DeleteRolePolicyInput{RoleName: aws.String("Node"), PolicyName: aws.String("Inline")}))
	_, err = c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: bounds})
	wantCode(t, "deleting a boundary in use", err, "DeleteConflict", "attached to entities")
	if err := remove(); err != nil {
		t.Error(err)
	}
	wantCode(t, "deleting it twice", remove(), "NoSuchEntity", "Node")
	must[*awsiam.DeletePolicyOutput](t)(c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: bounds}))
}

func TestRoleChangesInPlace(t *testing.T) {
	w, c := start(t, world.Options{})
	ctx := t.Context()
	makeRole(t, c, "R")
	must[*awsiam.UpdateRoleOutput](t)(c.UpdateRole(ctx, &awsiam.UpdateRoleInput{RoleName: aws.String("R"), Description: aws.String("new"), MaxSessionDuration: aws.Int32(43200)}))
	other := strings.ReplaceAll(trust, "ec2", "pods.eks")
	must[*awsiam.UpdateAssumeRolePolicyOutput](t)(c.UpdateAssumeRolePolicy(ctx, &awsiam.UpdateAssumeRolePolicyInput{RoleName: aws.String("R"), PolicyDocument: &other}))
	must[*awsiam.TagRoleOutput](t)(c.TagRole(ctx, &awsiam.TagRoleInput{RoleName: aws.String("R"), Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))
	must[*awsiam.UntagRoleOutput](t)(c.UntagRole(ctx, &awsiam.UntagRoleInput{RoleName: aws.String("R"), TagKeys: []string{"a"}}))
	admin := aws.String("arn:aws:iam::aws:policy/AdministratorAccess")
	must[*awsiam.PutRolePermissionsBoundaryOutput](t)(c.PutRolePermissionsBoundary(ctx, &awsiam.PutRolePermissionsBoundaryInput{RoleName: aws.String("R"), PermissionsBoundary: admin}))
	got, err := w.Role("R")
	want := world.Role{Name: "R", ID: got.ID, Path: "/", ARN: ownAccount + "role/R", Description: "new", TrustPolicy: other,
		MaxSession: 12 * time.Hour, Boundary: *admin, Created: w.Now(), Tags: map[string]string{"b": "2"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("role (-want +got):\n%s%v", diff, err)
	}
	must[*awsiam.DeleteRolePermissionsBoundaryOutput](t)(c.DeleteRolePermissionsBoundary(ctx, &awsiam.DeleteRolePermissionsBoundaryInput{RoleName: aws.String("R")}))
	if got, _ := w.Role("R"); got.Boundary != "" {
		t.Errorf("boundary %s is left", got.Boundary)
	}
	tags := must[*awsiam.ListRoleTagsOutput](t)(c.ListRoleTags(ctx, &awsiam.ListRoleTagsInput{RoleName: aws.String("R")})).Tags
	if len(tags) != 1 || *tags[0].Value != "2" {
		t.Errorf("tags: %+v", tags)
	}
}

func TestRolesAreRefusedForAReason(t *testing.T) {
	_, c := start(t, world.Options{})
	makeRole(t, c, "Taken")
	statement := func(members string) string {
		return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` + members + `}]}`
	}
	for what, r := range map[string]struct {
		in          awsiam.CreateRoleInput
		code, words string
	}{
		"a name that is taken, in other case":    {awsiam.CreateRoleInput{RoleName: aws.String("taken")}, "EntityAlreadyExists", "taken"},
		"a name of 65 characters":                {awsiam.CreateRoleInput{RoleName: aws.String(strings.Repeat("x", 65))}, "ValidationError", "less than or equal to 64"},
		"a name with a space":                    {awsiam.CreateRoleInput{RoleName: aws.String("a b")}, "ValidationError", "roleName"},
		"a path without end":                     {awsiam.CreateRoleInput{Path: aws.String("/x")}, "ValidationError", "path"},
		"the path of services":                   {awsiam.CreateRoleInput{Path: aws.String("/aws-service-role/x/")}, "ValidationError", "linked"},
		"a session of half an hour":              {awsiam.CreateRoleInput{MaxSessionDuration: aws.Int32(1800)}, "ValidationError", "maxSessionDuration"},
		"a boundary that does not exist":         {awsiam.CreateRoleInput{PermissionsBoundary: aws.String(ownAccount + "policy/none")}, "NoSuchEntity", "policy/none"},
		"a reserved tag":                         {awsiam.CreateRoleInput{Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("1")}}}, "InvalidInput", "aws:x"},
		"trust that is no JSON":                  {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String("{")}, "MalformedPolicyDocument", "not JSON"},
		"trust with a resource":                  {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String(statement(`"Principal":"*","Action":"sts:AssumeRole","Resource":"*"`))}, "MalformedPolicyDocument", "Resource"},
		"trust in nobody":                        {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String(statement(`"Action":"sts:AssumeRole"`))}, "MalformedPolicyDocument", "Principal"},
		"trust in a role that does not exist":    {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String(statement(`"Principal":{"AWS":"` + ownAccount + `role/nobody"},"Action":"sts:AssumeRole"`))}, "MalformedPolicyDocument", "role/nobody"},
		"trust that is longer than IAM allows":   {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String(statement(`"Sid":"` + strings.Repeat("x", 2048) + `","Principal":"*","Action":"sts:AssumeRole"`))}, "LimitExceeded", "2048"},
		"trust for an action of another service": {awsiam.CreateRoleInput{AssumeRolePolicyDocument: aws.String(statement(`"Principal":"*","Action":"s3:GetObject"`))}, "MalformedPolicyDocument", "s3:GetObject"},
	} {
		if r.in.RoleName == nil {
			r.in.RoleName = aws.String("New")
		}
		if r.in.AssumeRolePolicyDocument == nil {
			r.in.AssumeRolePolicyDocument = aws.String(trust)
		}
		_, err := c.CreateRole(t.Context(), &r.in)
		wantCode(t, what, err, r.code, r.words)
	}
}

func TestPolicyHasVersions(t *testing.T) {
	w, c := start(t, world.Options{})
	ctx := t.Context()
	p := must[*awsiam.CreatePolicyOutput](t)(c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: aws.String("P"), Description: aws.String("d"), PolicyDocument: aws.String(allowS3)})).Policy
	makeRole(t, c, "R")
	must[*awsiam.AttachRolePolicyOutput](t)(c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: aws.String("R"), PolicyArn: p.Arn}))
	may := func(action string) bool {
		return iampolicy.Evaluate(iampolicy.Call{Caller: iampolicy.Caller{ARN: ownAccount + "role/R", Account: "123456789012"}, Action: action, Resource: "*"}, w.PoliciesOf(ownAccount+"role/R")).OK()
	}
	if !may("s3:GetObject") || may("ec2:RunInstances") {
		t.Error("the first version is not in force")
	}
	create := func(inForce bool) error {
		_, err := c.CreatePolicyVersion(ctx, &awsiam.CreatePolicyVersionInput{PolicyArn: p.Arn, PolicyDocument: aws.String(allowEC2), SetAsDefault: inForce})
		return err
	}
	if err := create(false); err != nil {
		t.Fatal(err)
	}
	if !may("s3:GetObject") {
		t.Error("a version that is not in force counts")
	}
	must[*awsiam.SetDefaultPolicyVersionOutput](t)(c.SetDefaultPolicyVersion(ctx, &awsiam.SetDefaultPolicyVersionInput{PolicyArn: p.Arn, VersionId: aws.String("v2")}))
	if may("s3:GetObject") || !may("ec2:RunInstances") {
		t.Error("the second version is not in force")
	}
	for range 3 {
		if err := create(true); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "a sixth version", create(true), "LimitExceeded", "up to 5 versions")
	var ids []string
	for pages := awsiam.NewListPolicyVersionsPaginator(c, &awsiam.ListPolicyVersionsInput{PolicyArn: p.Arn, MaxItems: aws.Int32(2)}); pages.HasMorePages(); {
		for _, v := range must[*awsiam.ListPolicyVersionsOutput](t)(pages.NextPage(ctx)).Versions {
			ids = append(ids, fmt.Sprint(*v.VersionId, v.IsDefaultVersion))
		}
	}
	if diff := cmp.Diff([]string{"v5true", "v4false", "v3false", "v2false", "v1false"}, ids); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	v := must[*awsiam.GetPolicyVersionOutput](t)(c.GetPolicyVersion(ctx, &awsiam.GetPolicyVersionInput{PolicyArn: p.Arn, VersionId: aws.String("v2")})).PolicyVersion
	if text, _ := url.PathUnescape(*v.Document); text != allowEC2 {
		t.Errorf("version 2: %s", text)
	}
	_, err := c.DeletePolicyVersion(ctx, &awsiam.DeletePolicyVersionInput{PolicyArn: p.Arn, VersionId: aws.String("v5")})
	wantCode(t, "deleting the version in force", err, "DeleteConflict", "default version")
	must[*awsiam.DeletePolicyVersionOutput](t)(c.DeletePolicyVersion(ctx, &awsiam.DeletePolicyVersionInput{PolicyArn: p.Arn, VersionId: aws.String("v1")}))
	_, err = c.GetPolicyVersion(ctx, &awsiam.GetPolicyVersionInput{PolicyArn: p.Arn, VersionId: aws.String("v1")})
	wantCode(t, "a version that is gone", err, "NoSuchEntity", "v1")
	got := must[*awsiam.GetPolicyOutput](t)(c.GetPolicy(ctx, &awsiam.GetPolicyInput{PolicyArn: p.Arn})).Policy
	if *got.DefaultVersionId != "v5" || *got.AttachmentCount != 1 || *got.Description != "d" || !got.IsAttachable {
		t.Errorf("policy: %+v", got)
	}
	users := must[*awsiam.ListEntitiesForPolicyOutput](t)(c.ListEntitiesForPolicy(ctx, &awsiam.ListEntitiesForPolicyInput{PolicyArn: p.Arn})).PolicyRoles
	if len(users) != 1 || *users[0].RoleName != "R" {
		t.Errorf("roles with the policy: %+v", users)
	}
	remove := func() error {
		_, err := c.DeletePolicy(ctx, &awsiam.DeletePolicyInput{PolicyArn: p.Arn})
		return err
	}
	wantCode(t, "deleting it while attached", remove(), "DeleteConflict", "attached")
	must[*awsiam.DetachRolePolicyOutput](t)(c.DetachRolePolicy(ctx, &awsiam.DetachRolePolicyInput{RoleName: aws.String("R"), PolicyArn: p.Arn}))
	wantCode(t, "deleting it with versions", remove(), "DeleteConflict", "more than one version")
	if may("ec2:RunInstances") {
		t.Error("a policy that is detached counts")
	}
}

func TestPoliciesAreRefusedForAReason(t *testing.T) {
	_, c := start(t, world.Options{})
	ctx := t.Context()
	makeRole(t, c, "R")
	create := func(name, document string) error {
		_, err := c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: &name, PolicyDocument: &document})
		return err
	}
	long := func(size int) string { // of exactly that many characters without white space
		const head, tail = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*",   "Resource":"arn:aws:s3:::`, `"}]}`
		return head + strings.Repeat("x", size-len(head)-len(tail)+3) + tail
	}
	if err := create("Just", long(iampolicy.ManagedPolicyLimit)); err != nil {
		t.Errorf("a policy of just the size that is allowed: %v", err)
	}
	wantCode(t, "one character more", create("Long", long(iampolicy.ManagedPolicyLimit+1)), "LimitExceeded", "6144")
	wantCode(t, "a name that is taken", create("just", allowS3), "EntityAlreadyExists", "just")
	wantCode(t, "an operator that does not exist", create("Bad", strings.Replace(allowS3, `"Resource"`, `"Condition":{"StringIs":{"a":"b"}},"Resource"`, 1)), "MalformedPolicyDocument", "StringIs")
	wantCode(t, "a principal", create("Bad", strings.Replace(allowS3, `"Resource"`, `"Principal":"*","Resource"`, 1)), "MalformedPolicyDocument", "Principal")
	for n := range 11 {
		name := fmt.Sprint("P", n)
		if err := create(name, allowS3); err != nil {
			t.Fatal(err)
		}
		_, err := c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: aws.String("R"), PolicyArn: aws.String(ownAccount + "policy/" + name)})
		if n < 10 && err != nil {
			t.Fatal(err)
		}
		if n == 10 {
			wantCode(t, "an eleventh policy", err, "LimitExceeded", "PoliciesPerRole: 10")
		}
	}
	_, err := c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: aws.String("R"), PolicyArn: aws.String("arn:aws:iam::aws:policy/NoSuch")})
	wantCode(t, "attaching what AWS does not have", err, "NoSuchEntity", "not attachable")
	put := func(name, document string) error {
		_, err := c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: aws.String("R"), PolicyName: &name, PolicyDocument: &document})
		return err
	}
	if err := put("one", long(6000)); err != nil {
		t.Error(err)
	}
	wantCode(t, "inline policies of more than 10,240 together", put("two", long(5000)), "LimitExceeded", "10240")
	if err := put("one", long(10240)); err != nil {
		t.Errorf("a larger one in the place of the first: %v", err)
	}
	_, err = c.CreatePolicyVersion(ctx, &awsiam.CreatePolicyVersionInput{PolicyArn: aws.String(worker), PolicyDocument: aws.String(allowS3)})
	wantCode(t, "a version of a policy of AWS", err, "AccessDenied", "AWS's own")
	_, err = c.GetRolePolicy(ctx, &awsiam.GetRolePolicyInput{RoleName: aws.String("R"), PolicyName: aws.String("none")})
	wantCode(t, "an inline policy that does not exist", err, "NoSuchEntity", "none")
}

func TestListsComeInPages(t *testing.T) {
	_, c := start(t, world.Options{NoIdentities: true})
	ctx := t.Context()
	for n := range 7 {
		makeRole(t, c, fmt.Sprint("R", n))
		must[*awsiam.PutRolePolicyOutput](t)(c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: aws.String("R0"), PolicyName: aws.String(fmt.Sprint("I", n)), PolicyDocument: aws.String(allowS3)}))
	}
	var roles, inline []string
	for pages := awsiam.NewListRolesPaginator(c, &awsiam.ListRolesInput{MaxItems: aws.Int32(3)}); pages.HasMorePages(); {
		for _, r := range must[*awsiam.ListRolesOutput](t)(pages.NextPage(ctx)).Roles {
			roles = append(roles, *r.RoleName)
		}
	}
	for pages := awsiam.NewListRolePoliciesPaginator(c, &awsiam.ListRolePoliciesInput{RoleName: aws.String("R0"), MaxItems: aws.Int32(3)}); pages.HasMorePages(); {
		inline = append(inline, must[*awsiam.ListRolePoliciesOutput](t)(pages.NextPage(ctx)).PolicyNames...)
	}
	if diff := cmp.Diff([]string{"Administrator", "R0", "R1", "R2", "R3", "R4", "R5", "R6"}, roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"I0", "I1", "I2", "I3", "I4", "I5", "I6"}, inline); diff != "" {
		t.Errorf("inline policies (-want +got):\n%s", diff)
	}
	must[*awsiam.CreatePolicyOutput](t)(c.CreatePolicy(ctx, &awsiam.CreatePolicyInput{PolicyName: aws.String("Mine"), PolicyDocument: aws.String(allowS3)}))
	count := func(in awsiam.ListPoliciesInput) (n int) {
		for pages := awsiam.NewListPoliciesPaginator(c, &in); pages.HasMorePages(); {
			n += len(must[*awsiam.ListPoliciesOutput](t)(pages.NextPage(ctx)).Policies)
		}
		return n
	}
	if n := count(awsiam.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal}); n != 1 {
		t.Errorf("%d policies of the account, want 1", n)
	}
	if n := count(awsiam.ListPoliciesInput{OnlyAttached: true, MaxItems: aws.Int32(5)}); n != 1 {
		t.Errorf("%d policies that are attached, want that of the administrator", n)
	}
	if all, own := count(awsiam.ListPoliciesInput{MaxItems: aws.Int32(4)}), count(awsiam.ListPoliciesInput{Scope: types.PolicyScopeTypeAws}); all != own+1 {
		t.Errorf("%d policies of which %d are of AWS", all, own)
	}
	_, err := c.ListRoles(ctx, &awsiam.ListRolesInput{MaxItems: aws.Int32(2000)})
	wantCode(t, "a page of 2000", err, "ValidationError", "maxItems")
}

func TestServiceLinkedRoleBelongsToTheService(t *testing.T) {
	_, c := start(t, world.Options{NoIdentities: true})
	ctx := t.Context()
	in := &awsiam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")}
	made := must[*awsiam.CreateServiceLinkedRoleOutput](t)(c.CreateServiceLinkedRole(ctx, in)).Role
	if *made.Arn != ownAccount+"role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot" {
		t.Errorf("role %s", *made.Arn)
	}
	_, err := c.CreateServiceLinkedRole(ctx, in)
	wantCode(t, "making it twice", err, "InvalidInput", "AWSServiceRoleForEC2Spot has been taken")
	_, err = c.CreateServiceLinkedRole(ctx, &awsiam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("kerf.example.com")})
	wantCode(t, "a service that has none", err, "InvalidInput", "kerf.example.com")
	_, err = c.AttachRolePolicy(ctx, &awsiam.AttachRolePolicyInput{RoleName: made.RoleName, PolicyArn: aws.String(worker)})
	wantCode(t, "giving it a policy", err, "UnmodifiableEntity", "protected role")
	_, err = c.DeleteRole(ctx, &awsiam.DeleteRoleInput{RoleName: made.RoleName})
	wantCode(t, "deleting it as any role", err, "UnmodifiableEntity", "protected role")
	task := must[*awsiam.DeleteServiceLinkedRoleOutput](t)(c.DeleteServiceLinkedRole(ctx, &awsiam.DeleteServiceLinkedRoleInput{RoleName: made.RoleName})).DeletionTaskId
	status := must[*awsiam.GetServiceLinkedRoleDeletionStatusOutput](t)(c.GetServiceLinkedRoleDeletionStatus(ctx, &awsiam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task}))
	if status.Status != types.DeletionTaskStatusTypeSucceeded {
		t.Errorf("deletion is %s", status.Status)
	}
	_, err = c.GetRole(ctx, &awsiam.GetRoleInput{RoleName: made.RoleName})
	wantCode(t, "the role afterwards", err, "NoSuchEntity", "")
}

func TestSimulationSaysWhatPoliciesWouldDecide(t *testing.T) {
	w, c := start(t, world.Options{})
	ctx := t.Context()
	makeRole(t, c, "R")
	must[*awsiam.PutRolePolicyOutput](t)(c.PutRolePolicy(ctx, &awsiam.PutRolePolicyInput{RoleName: aws.String("R"), PolicyName: aws.String("Mine"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[
			{"Sid":"Receive","Effect":"Allow","Action":"sqs:*","Resource":"arn:aws:sqs:*:*:mine"},
			{"Sid":"NoPurge","Effect":"Deny","Action":"sqs:PurgeQueue","Resource":"*"},
			{"Sid":"Tagged","Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/owner":"me"}}}]}`)}))
	ask := func(change func(*awsiam.SimulatePrincipalPolicyInput), actions ...string) []string {
		in := &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(ownAccount + "role/R"), ActionNames: actions, MaxItems: aws.Int32(2)}
		if change != nil {
			change(in)
		}
		var out []string
		for pages := awsiam.NewSimulatePrincipalPolicyPaginator(c, in); pages.HasMorePages(); {
			for _, r := range must[*awsiam.SimulatePrincipalPolicyOutput](t)(pages.NextPage(ctx)).EvaluationResults {
				line := fmt.Sprint(*r.EvalActionName, " ", *r.EvalResourceName, " ", r.EvalDecision)
				for _, m := range r.MatchedStatements {
					line += " by " + *m.SourcePolicyId
				}
				for _, k := range r.MissingContextValues {
					line += " without " + k
				}
				if b := r.PermissionsBoundaryDecisionDetail; b != nil {
					line += fmt.Sprint(" in bounds ", b.AllowedByPermissionsBoundary)
				}
				if len(r.ResourceSpecificResults) != 1 || string(r.ResourceSpecificResults[0].EvalResourceDecision) != string(r.EvalDecision) {
					t.Errorf("for the resource: %+v", r.ResourceSpecificResults)
				}
				out = append(out, line)
			}
		}
		return out
	}
	got := ask(func(in *awsiam.SimulatePrincipalPolicyInput) {
		in.ResourceArns = []string{"arn:aws:sqs:us-east-1:1:mine", "arn:aws:sqs:us-east-1:1:yours"}
	}, "sqs:ReceiveMessage", "sqs:PurgeQueue")
	if diff := cmp.Diff([]string{
		"sqs:ReceiveMessage arn:aws:sqs:us-east-1:1:mine allowed by Mine", "sqs:ReceiveMessage arn:aws:sqs:us-east-1:1:yours implicitDeny",
		"sqs:PurgeQueue arn:aws:sqs:us-east-1:1:mine explicitDeny by Mine", "sqs:PurgeQueue arn:aws:sqs:us-east-1:1:yours explicitDeny by Mine",
	}, got); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	got = append(ask(nil, "ec2:TerminateInstances"), ask(func(in *awsiam.SimulatePrincipalPolicyInput) {
		in.ContextEntries = []types.ContextEntry{{ContextKeyName: aws.String("aws:ResourceTag/owner"), ContextKeyValues: []string{"me"}, ContextKeyType: types.ContextKeyTypeEnumString}}
	}, "ec2:TerminateInstances")...)
	if diff := cmp.Diff([]string{"ec2:TerminateInstances * implicitDeny without aws:ResourceTag/owner", "ec2:TerminateInstances * allowed by Mine"}, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if err := w.SetRoleBoundary("R", "arn:aws:iam::aws:policy/AmazonEC2FullAccess"); err != nil {
		t.Fatal(err)
	}
	got = ask(func(in *awsiam.SimulatePrincipalPolicyInput) { in.PolicyInputList = []string{allowS3} }, "s3:GetObject")
	if diff := cmp.Diff([]string{"s3:GetObject * implicitDeny in bounds false"}, got); diff != "" {
		t.Errorf("out of bounds (-want +got):\n%s", diff)
	}
	_, err := c.SimulatePrincipalPolicy(ctx, &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(ownAccount + "role/none"), ActionNames: []string{"s3:GetObject"}})
	wantCode(t, "a role that does not exist", err, "NoSuchEntity", "role/none")
	_, err = c.SimulatePrincipalPolicy(ctx, &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(ownAccount + "role/R"), ActionNames: []string{"s3:*"}})
	wantCode(t, "an action with a wildcard", err, "InvalidInput", "s3:*")
}

func TestIdentityProvidersAreListedByARN(t *testing.T) {
	_, c := start(t, world.Options{})
	ctx := t.Context()
	in := &awsiam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.eks.us-east-1.amazonaws.com/id/A"), ClientIDList: []string{"sts.amazonaws.com"}}
	arn := must[*awsiam.CreateOpenIDConnectProviderOutput](t)(c.CreateOpenIDConnectProvider(ctx, in)).OpenIDConnectProviderArn
	if *arn != ownAccount+"oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/A" {
		t.Errorf("provider %s", *arn)
	}
	_, err := c.CreateOpenIDConnectProvider(ctx, in)
	wantCode(t, "making it twice", err, "EntityAlreadyExists", "https://oidc.eks")
	got := must[*awsiam.GetOpenIDConnectProviderOutput](t)(c.GetOpenIDConnectProvider(ctx, &awsiam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))
	if *got.Url != "oidc.eks.us-east-1.amazonaws.com/id/A" || len(got.ClientIDList) != 1 {
		t.Errorf("provider: %+v", got)
	}
	must[*awsiam.DeleteOpenIDConnectProviderOutput](t)(c.DeleteOpenIDConnectProvider(ctx, &awsiam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))
	if all := must[*awsiam.ListOpenIDConnectProvidersOutput](t)(c.ListOpenIDConnectProviders(ctx, &awsiam.ListOpenIDConnectProvidersInput{})).OpenIDConnectProviderList; len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

// TestPoliciesThatNeedNotExistAreSimulated: those of the request alone decide.
func TestPoliciesThatNeedNotExistAreSimulated(t *testing.T) {
	_, c := start(t, world.Options{})
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"arn:aws:sqs:*:*:mine"}]}`
	in := &awsiam.SimulateCustomPolicyInput{
		PolicyInputList: []string{policy}, ActionNames: []string{"sqs:ReceiveMessage", "sqs:PurgeQueue"}, ResourceArns: []string{"arn:aws:sqs:us-east-1:1:mine"},
	}
	var got []string
	for _, r := range must[*awsiam.SimulateCustomPolicyOutput](t)(c.SimulateCustomPolicy(t.Context(), in)).EvaluationResults {
		line := fmt.Sprint(*r.EvalActionName, " ", r.EvalDecision)
		for _, m := range r.MatchedStatements {
			line += " by " + *m.SourcePolicyId
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"sqs:ReceiveMessage allowed by PolicyInputList.1", "sqs:PurgeQueue implicitDeny"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in.PolicyInputList = []string{"nonsense"}
	_, err := c.SimulateCustomPolicy(t.Context(), in)
	wantCode(t, "no policy", err, "InvalidInput", "PolicyInputList")
	in.PolicyInputList, in.ResourcePolicy = []string{policy}, aws.String(policy)
	_, err = c.SimulateCustomPolicy(t.Context(), in)
	wantCode(t, "a resource's policy and no caller", err, "InvalidInput", "CallerArn")
}
