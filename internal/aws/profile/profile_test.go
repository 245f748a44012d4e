package profile_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/profile"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const role = "KarpenterNodeRole-kerf"

type fixture struct {
	*awssim.Server
	api   *iam.Client
	calls *sessiontest.Calls
	now   time.Time
}

func start(t *testing.T) *fixture {
	t.Helper()
	s, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	calls := &sessiontest.Calls{}
	clients, err := session.New(t.Context(), session.Options{Middleware: calls.Middleware()})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{s, clients.IAM, calls, time.Now()}
}

func (f *fixture) manager() *profile.Manager {
	return profile.NewManager(f.api, "us-east-1", "kerf", func() time.Time { return f.now })
}

func class(uid, role string) *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "c-" + uid, UID: types.UID(uid)},
		Spec:       awsv1.EC2NodeClassSpec{Role: role, Tags: map[string]string{"team": "blue"}},
	}
}

func TestAProfileIsMadeOnceForAClassAndItsRole(t *testing.T) {
	f := start(t)
	m := f.manager()
	name, err := m.Ensure(t.Context(), class("u1", role))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.World.InstanceProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	if p.Path != "/karpenter/us-east-1/kerf/u1/" || !strings.HasPrefix(name, "kerf_") || p.Role != role {
		t.Errorf("got %+v", p)
	}
	for k, want := range map[string]string{
		"team": "blue", "kubernetes.io/cluster/kerf": "owned", "eks:eks-cluster-name": "kerf", "karpenter.k8s.aws/ec2nodeclass": "c-u1", "topology.kubernetes.io/region": "us-east-1",
	} {
		if p.Tags[k] != want {
			t.Errorf("tag %s is %q, want %q", k, p.Tags[k], want)
		}
	}
	f.calls.Reset()
	if again, err := m.Ensure(t.Context(), class("u1", role)); again != name || err != nil || len(f.calls.All()) != 0 {
		t.Errorf("a second look gave %s, %v after %v", again, err, f.calls.All())
	}
	// A restart finds it, and a path in front of the role changes nothing.
	next, err := f.manager().Ensure(t.Context(), class("u1", "/some/path/"+role))
	if next != name || err != nil || f.calls.Of("CreateInstanceProfile") != 0 {
		t.Errorf("another process gave %s, %v after %v", next, err, f.calls.All())
	}
	if other, err := m.Ensure(t.Context(), class("u2", role)); other == name || err != nil {
		t.Errorf("another class shares %s, %v", other, err)
	}
}

func TestAnotherRoleGetsAnotherProfileAndTheOldOneIsCollected(t *testing.T) {
	f := start(t)
	m := f.manager()
	if _, err := f.World.CreateRole("Other", "/", "", nil); err != nil {
		t.Fatal(err)
	}
	old, err := m.Ensure(t.Context(), class("u1", role))
	if err != nil {
		t.Fatal(err)
	}
	name, err := m.Ensure(t.Context(), class("u1", "Other"))
	if err != nil || name == old {
		t.Fatalf("got %s, %v", name, err)
	}
	inUse := func(n string) bool { return n == name }
	if gone, err := m.Collect(t.Context(), inUse); len(gone) != 0 || err != nil {
		t.Errorf("a profile that was just asked for was collected: %v, %v", gone, err)
	}
	f.now = f.now.Add(2 * time.Hour)
	gone, err := m.Collect(t.Context(), inUse)
	if err != nil || len(gone) != 1 || gone[0] != old {
		t.Fatalf("collected %v, %v, want %s", gone, err, old)
	}
	if left := f.World.InstanceProfiles("/karpenter/"); len(left) != 1 || left[0].Name != name {
		t.Errorf("left are %v", left)
	}
}

func TestAProfileWithAStrangeRoleIsPutRight(t *testing.T) {
	f := start(t)
	if _, err := f.World.CreateRole("Other", "/", "", nil); err != nil {
		t.Fatal(err)
	}
	name, err := f.manager().Ensure(t.Context(), class("u1", role))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.World.RemoveRoleFromInstanceProfile(name, role), f.World.AddRoleToInstanceProfile(name, "Other")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.manager().Ensure(t.Context(), class("u1", role)); err != nil {
		t.Fatal(err)
	}
	if p, _ := f.World.InstanceProfile(name); p.Role != role {
		t.Errorf("the role is %s", p.Role)
	}
}

func TestARoleThatDoesNotExistIsNotTriedAgainAtOnce(t *testing.T) {
	f := start(t)
	m := f.manager()
	for range 2 {
		_, err := m.Ensure(t.Context(), class("u1", "Nobody"))
		e, ok := errors.AsType[*cloud.Error](err)
		if !ok || e.Class != cloud.Invalid || e.Reason != profile.ReasonRoleNotFound || !strings.Contains(err.Error(), "spec.role") || !strings.Contains(err.Error(), `"Nobody"`) || strings.Count(err.Error(), "adding the role") != 1 {
			t.Fatalf("got %v", err)
		}
	}
	if n := f.calls.Of("AddRoleToInstanceProfile"); n != 1 {
		t.Errorf("IAM was asked %d times", n)
	}
	if _, err := f.World.CreateRole("Nobody", "/", "", nil); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(2 * time.Minute)
	if _, err := m.Ensure(t.Context(), class("u1", "Nobody")); err != nil {
		t.Errorf("now that the role exists: %v", err)
	}
}

func TestAClassGoesWithItsPresentProfileWhereProfilesMayNotBeListed(t *testing.T) {
	f := start(t)
	m := f.manager()
	for _, uid := range []string{"u1", "u2"} {
		if _, err := m.Ensure(t.Context(), class(uid, role)); err != nil {
			t.Fatal(err)
		}
	}
	f.World.AddFault(world.Fault{Kind: world.FaultError, Service: "iam", Operation: "ListInstanceProfiles", Code: "AccessDenied", Status: 403})
	for range 2 { // the second time there is nothing left
		unlisted, err := m.Release(t.Context(), class("u1", role))
		if err != nil || unlisted == nil || !strings.Contains(unlisted.Error(), "missing permission iam:ListInstanceProfiles") {
			t.Errorf("got %v, %v", unlisted, err)
		}
	}
	if left := f.World.InstanceProfiles("/karpenter/"); len(left) != 1 || !strings.HasSuffix(left[0].Path, "/u2/") {
		t.Errorf("left are %v", left)
	}
}

// One refusal of the credentials may come just before new ones.
func TestOneRefusalOfTheCredentialsLosesNoProfile(t *testing.T) {
	f := start(t)
	m := f.manager()
	refuse := func(operation string) {
		f.World.AddFault(world.Fault{Kind: world.FaultError, Service: "iam", Operation: operation, Code: "ExpiredToken", Status: 403, Count: 1})
	}
	was, c := "kerf_1234", class("u1", role)
	c.Status.InstanceProfile = was
	tags := map[string]string{"kubernetes.io/cluster/kerf": "owned", "karpenter.k8s.aws/ec2nodeclass": c.Name}
	if _, err := f.World.CreateInstanceProfile(was, "/karpenter/us-east-1/kerf/u1/", tags); err != nil {
		t.Fatal(err)
	}
	if err := f.World.AddRoleToInstanceProfile(was, role); err != nil {
		t.Fatal(err)
	}
	refuse("GetInstanceProfile")
	if name, err := m.Ensure(t.Context(), c); name != was || err == nil || awserr.LacksPermission(err) {
		t.Errorf("got %s, %v", name, err)
	}
	if name, err := m.Ensure(t.Context(), c); name != was || err != nil || f.calls.Of("CreateInstanceProfile") != 0 {
		t.Errorf("with new credentials: %s, %v after %v", name, err, f.calls.All())
	}
	refuse("ListInstanceProfiles")
	if unlisted, err := m.Release(t.Context(), c); unlisted != nil || err == nil {
		t.Errorf("the class goes without its profiles: %v, %v", unlisted, err)
	}
}

func TestAGivenProfileIsTakenAtItsWord(t *testing.T) {
	f := start(t)
	c := class("u1", "")
	c.Spec.InstanceProfile = new("mine")
	if name, err := f.manager().Ensure(t.Context(), c); name != "mine" || err != nil || len(f.calls.All()) != 0 {
		t.Errorf("got %s, %v after %v", name, err, f.calls.All())
	}
	if _, err := f.manager().Ensure(t.Context(), class("u1", "")); cloud.ClassOf(err) != cloud.Invalid {
		t.Errorf("a class without role and profile: %v", err)
	}
}

func TestAClassTakesItsProfilesWithIt(t *testing.T) {
	f := start(t)
	m := f.manager()
	for _, uid := range []string{"u1", "u2"} {
		if _, err := m.Ensure(t.Context(), class(uid, role)); err != nil {
			t.Fatal(err)
		}
	}
	if unlisted, err := m.Release(t.Context(), class("u1", role)); unlisted != nil || err != nil {
		t.Fatal(err)
	}
	if left := f.World.InstanceProfiles("/karpenter/"); len(left) != 1 || !strings.HasSuffix(left[0].Path, "/u2/") {
		t.Errorf("left are %v", left)
	}
}

// TestAProfileThatKarpenterMadeStaysInUse, wherever it is, until the role changes, and goes with the class; one that a user made is left
// alone.
func TestAProfileThatKarpenterMadeStaysInUse(t *testing.T) {
	for name, tt := range map[string]struct {
		path, tagged string
		kept         bool
	}{
		"by Karpenter":           {"/karpenter/us-east-1/kerf/u1/", "c-u1", true},
		"before Karpenter 1.7":   {"/", "c-u1", true},
		"for another class":      {"/", "c-u2", false},
		"by a user, without tag": {"/", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			m := f.manager()
			tags := []iamtypes.Tag{{Key: new("kubernetes.io/cluster/kerf"), Value: new("owned")}, {Key: new("karpenter.k8s.aws/ec2nodeclass"), Value: new(tt.tagged)}}
			if tt.tagged == "" {
				tags = nil
			}
			was := "kerf_1234"
			if _, err := f.api.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &was, Path: &tt.path, Tags: tags}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.api.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &was, RoleName: new(role)}); err != nil {
				t.Fatal(err)
			}
			c := class("u1", role)
			c.Status.InstanceProfile = was
			for range 2 {
				got, err := m.Ensure(t.Context(), c)
				if err != nil || (got == was) != tt.kept {
					t.Errorf("uses %s, %v", got, err)
				}
			}
			if n := f.calls.All()["GetInstanceProfile"]; tt.kept && n != 1 {
				t.Errorf("looked at %d times, want once", n)
			}
			if unlisted, err := m.Release(t.Context(), c); err != nil || unlisted != nil {
				t.Fatal(unlisted, err)
			}
			if _, err := f.World.InstanceProfile(was); (err != nil) != tt.kept {
				t.Errorf("after the class: %v", err)
			}
			if left := f.World.InstanceProfiles("/karpenter/"); len(left) > 0 && tt.path == "/" {
				t.Errorf("%d profiles of the class are left", len(left))
			}
		})
	}
}
