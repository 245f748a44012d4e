package world

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

func newIAMWorld(t testing.TB, o Options) *World {
	t.Helper()
	o.Types = []string{"m5.large"}
	w, err := NewDefault(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func allowing(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"` + action + `","Resource":"*"}]}`
}

// may asks what the policies that the world knows of a principal decide.
func may(w *World, principal, action string) bool {
	c := iampolicy.Call{Caller: iampolicy.Caller{ARN: principal, Account: w.Account()}, Action: action, Resource: "*"}
	return iampolicy.Evaluate(c, w.PoliciesOf(principal)).OK()
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPermissionsFollowEveryChange(t *testing.T) {
	w := newIAMWorld(t, Options{})
	role, err := w.CreateRole("R", "/path/", "", nil)
	ok(t, err)
	session := "arn:aws:sts::123456789012:assumed-role/R/s"
	want := func(when string, allowed bool, action string) {
		t.Helper()
		for _, principal := range []string{role.ARN, session} {
			if may(w, principal, action) != allowed {
				t.Errorf("%s, %s on behalf of %s: allowed is %v", when, action, principal, !allowed)
			}
		}
	}
	want("without policies", false, "s3:Get")
	ok(t, w.PutRolePolicy("R", "I", allowing("s3:*")))
	want("with an inline policy", true, "s3:Get")
	ok(t, w.PutRolePolicy("R", "I", allowing("sqs:*")))
	want("with another in its place", false, "s3:Get")
	ok(t, w.DeleteRolePolicy("R", "I"))
	want("without it", false, "sqs:Get")
	p, err := w.CreatePolicy(PolicySpec{Name: "P", Document: allowing("s3:*")})
	ok(t, err, w.AttachRolePolicy("R", p.ARN))
	want("with a managed policy", true, "s3:Get")
	_, err = w.CreatePolicyVersion(p.ARN, allowing("sqs:*"), true)
	ok(t, err)
	want("with a new version", false, "s3:Get")
	ok(t, w.SetDefaultPolicyVersion(p.ARN, "v1"))
	want("with the old one again", true, "s3:Get")
	b, err := w.CreatePolicy(PolicySpec{Name: "B", Document: allowing("ec2:*")})
	ok(t, err, w.SetRoleBoundary("R", b.ARN))
	want("out of bounds", false, "s3:Get")
	_, err = w.CreatePolicyVersion(b.ARN, allowing("*"), true)
	ok(t, err)
	want("within wider bounds", true, "s3:Get")
	ok(t, w.DetachRolePolicy("R", p.ARN))
	want("after detachment", false, "s3:Get")
	ok(t, w.SetRoleBoundary("R", ""), w.AttachRolePolicy("R", "arn:aws:iam::aws:policy/AdministratorAccess"))
	want("as administrator", true, "iam:CreateRole")
	ok(t, w.DeleteRole("R"))
	want("when it is gone", false, "iam:CreateRole")
}

func TestPermissionsOfPrincipals(t *testing.T) {
	w := newIAMWorld(t, Options{})
	for principal, allowed := range map[string]bool{
		"arn:aws:iam::123456789012:root":                          true,
		"arn:aws:iam::123456789012:role/Administrator":            true,
		"arn:aws:sts::123456789012:assumed-role/Administrator/x":  true,
		"arn:aws:iam::999999999999:role/Administrator":            false,
		"arn:aws:sts::999999999999:assumed-role/Administrator/x":  false,
		"arn:aws:iam::123456789012:role/other/Administrator":      false,
		"arn:aws:iam::123456789012:user/Administrator":            false,
		"arn:aws:iam::123456789012:user/admin":                    true,
		"arn:aws:iam::999999999999:user/admin":                    false,
		"arn:aws:iam::123456789012:role/KarpenterNodeRole-kerf":   false,
		"arn:aws:iam::123456789012:role/KarpenterController-kerf": false,
		"": false,
	} {
		if may(w, principal, "ec2:RunInstances") != allowed {
			t.Errorf("%q: allowed is %v", principal, !allowed)
		}
	}
	if r, found := w.RoleOf("arn:aws:sts::123456789012:assumed-role/Administrator/x"); !found || r.Name != "Administrator" {
		t.Errorf("the role of a session: %+v, %v", r, found)
	}
	read := "arn:aws:iam::aws:policy/ReadOnlyAccess"
	ok(t, w.AttachRolePolicy("KarpenterController-kerf", read))
	if c := "arn:aws:iam::123456789012:role/KarpenterController-kerf"; !may(w, c, "sqs:GetQueueAttributes") || may(w, c, "sqs:ReceiveMessage") {
		t.Error("ReadOnlyAccess reads messages, or does not read attributes")
	}
}

func TestIdentitiesOfANewAccount(t *testing.T) {
	names := func(w *World) (out []string) {
		for _, r := range w.Roles() {
			out = append(out, r.ARN)
		}
		return out
	}
	w := newIAMWorld(t, Options{Region: "cn-north-1", ClusterName: "demo"})
	if diff := cmp.Diff([]string{
		"arn:aws-cn:iam::123456789012:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
		"arn:aws-cn:iam::123456789012:role/Administrator", "arn:aws-cn:iam::123456789012:role/KarpenterController-demo",
		"arn:aws-cn:iam::123456789012:role/KarpenterNodeRole-demo",
	}, names(w)); diff != "" {
		t.Errorf("roles in China (-want +got):\n%s", diff)
	}
	if r, _ := w.Role("KarpenterNodeRole-demo"); !strings.Contains(r.TrustPolicy, "ec2.amazonaws.com.cn") {
		t.Errorf("nodes in China are trusted by %s", r.TrustPolicy)
	}
	if !may(w, "arn:aws-cn:iam::123456789012:role/Administrator", "iam:CreateRole") {
		t.Error("the administrator in China is none")
	}
	bare := newIAMWorld(t, Options{NoIdentities: true})
	if diff := cmp.Diff([]string{"arn:aws:iam::123456789012:role/Administrator"}, names(bare)); diff != "" {
		t.Errorf("roles before a stack (-want +got):\n%s", diff)
	}
	if _, found := bare.AccessKey(DefaultAccessKey); found {
		t.Error("the controller has a key before there is a stack")
	}
	if k, found := bare.AccessKey(DefaultAdminAccessKey); !found || k.Secret != DefaultAdminSecretKey || k.PrincipalARN != "arn:aws:iam::123456789012:user/admin" {
		t.Errorf("the administrator's key: %+v", k)
	}
}

func TestPermissionsMayBeAskedWhileTheyChange(t *testing.T) {
	w := newIAMWorld(t, Options{})
	_, err := w.CreateRole("R", "", "", nil)
	ok(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				may(w, "arn:aws:iam::123456789012:role/R", "s3:Get")
			}
		})
	}
	for n := range 200 {
		if err := w.PutRolePolicy("R", fmt.Sprint("P", n%7), allowing("s3:*")); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if !may(w, "arn:aws:iam::123456789012:role/R", "s3:Get") {
		t.Error("what was written last does not count")
	}
}

func BenchmarkPoliciesOf(b *testing.B) {
	w := newIAMWorld(b, Options{})
	const session = "arn:aws:sts::123456789012:assumed-role/Administrator/x"
	b.ReportAllocs()
	for b.Loop() {
		w.PoliciesOf(session)
	}
}
