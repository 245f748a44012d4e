package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// What another controller of the same API left behind is found, kept as long as something uses it, and given back with
// its class. Such a controller sets no identity of the cluster and gives profiles names of its own.
func TestWhatAnotherControllerMadeIsTakenOver(t *testing.T) {
	s := startSim(t, awssim.Options{})
	w := s.World
	class := newClass(s)
	role := class.Spec.Role
	if _, err := w.CreateInstanceProfile("kerf_4711", "/karpenter/"+w.Region()+"/"+w.ClusterName()+"/"+string(class.UID)+"/", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile("kerf_4711", role); err != nil {
		t.Fatal(err)
	}
	before := newProvider(t, s, nil)
	ready(t, before)
	class.Spec.Role, class.Spec.InstanceProfile = "", new("kerf_4711")
	resolve(t, before, class)
	theirs, err := before.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	class.Spec.Role, class.Spec.InstanceProfile = role, nil
	class.Status.InstanceProfile = "kerf_4711"

	now := time.Now()
	after := newProvider(t, s, func(o *aws.Options) {
		o.ClusterUID, o.Now = "our-cluster", func() time.Time { return now }
	})
	ready(t, after)
	instances, err := after.List(t.Context(), 0)
	if err != nil || len(instances) != 1 || instances[0].ProviderID != theirs.ProviderID {
		t.Fatalf("the instance is not found: %v, %v", instances, err)
	}
	if m, err := after.Get(t.Context(), theirs.ProviderID); err != nil || m.State != "running" {
		t.Errorf("the instance can't be read: %v, %v", m, err)
	}
	resolve(t, after, class)
	ours := class.Status.InstanceProfile
	if ours == "kerf_4711" {
		t.Error("the name of the profile says nothing of its role, and is taken all the same")
	}
	now = now.Add(2 * time.Hour)
	if gone, err := after.CollectProfiles(t.Context(), map[string]bool{ours: true, "kerf_4711": true}); err != nil || len(gone) != 0 {
		t.Errorf("collected while a NodeClaim names it: %v, %v", gone, err)
	}
	after.CollectTemplatesOnce(t.Context())
	if live := alive(s); len(live) != 1 {
		t.Errorf("after the hand-over %d instances are left", len(live))
	}
	if gone, err := after.CollectProfiles(t.Context(), map[string]bool{ours: true}); err != nil || !slices.Equal(gone, []string{"kerf_4711"}) {
		t.Errorf("collected %v, %v, want the one that nobody uses", gone, err)
	}
	if err := after.Release(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if left := w.InstanceProfiles("/karpenter/"); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// What is made here has the shape that another controller of the same API looks for.
func TestWhatIsMadeCanBeHandedBack(t *testing.T) {
	s := startSim(t, awssim.Options{})
	w, cluster := s.World, s.World.ClusterName()
	p := newProvider(t, s, func(o *aws.Options) { o.ClusterUID = "our-cluster" })
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	m, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	owned := map[string]string{"kubernetes.io/cluster/" + cluster: "owned", "eks:eks-cluster-name": cluster, "karpenter.k8s.aws/ec2nodeclass": "default"}
	check := func(what string, tags map[string]string, more map[string]string) {
		t.Helper()
		for _, want := range []map[string]string{owned, more} {
			for k, v := range want {
				if tags[k] != v {
					t.Errorf("tag %s of the %s is %q, want %q", k, what, tags[k], v)
				}
			}
		}
	}
	instance, ok := w.Instance(m.InstanceID)
	if !ok {
		t.Fatal("the instance is gone")
	}
	check("instance", instance.Tags, map[string]string{"karpenter.sh/nodepool": "pool", "team": "blue"})
	profile, err := w.InstanceProfile(class.Status.InstanceProfile)
	if err != nil {
		t.Fatal(err)
	}
	check("profile", profile.Tags, map[string]string{"topology.kubernetes.io/region": w.Region()})
	if profile.Path != "/karpenter/"+w.Region()+"/"+cluster+"/"+string(class.UID)+"/" || !strings.HasPrefix(profile.Name, cluster+"_") {
		t.Errorf("the profile is %s at %s", profile.Name, profile.Path)
	}
	for _, lt := range w.Templates() {
		check("launch template", lt.Tags, nil)
		if !strings.HasPrefix(lt.Name, "karpenter.k8s.aws/") {
			t.Errorf("the launch template is called %s", lt.Name)
		}
	}
	if m.ProviderID != "aws:///"+m.Zone+"/"+m.InstanceID {
		t.Errorf("the provider ID is %s", m.ProviderID)
	}
	for key, want := range map[string]string{
		awsv1.AnnotationInstanceProfile: profile.Name, awsv1.AnnotationEC2NodeClassHash: "123", awsv1.AnnotationEC2NodeClassHashVersion: "kerf-1",
	} {
		if m.Annotations[key] != want {
			t.Errorf("annotation %s is %q, want %q", key, m.Annotations[key], want)
		}
	}
}

// However a class comes by its role, it has one profile, and what it had before goes once nothing names it.
func TestAClassHasOneProfileThroughAllChangesOfItsRole(t *testing.T) {
	s := startSim(t, awssim.Options{})
	w := s.World
	for _, role := range []string{"Second"} {
		if _, err := w.CreateRole(role, "/", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.CreateInstanceProfile("user-made", "/", nil); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p := newProvider(t, s, func(o *aws.Options) { o.DisableDryRun, o.Now = true, func() time.Time { return now } })
	a, b := newClass(s), newClass(s)
	b.Name, b.UID = "other", "other-uid"
	role := a.Spec.Role
	resolve(t, p, b)
	for i, step := range []struct {
		role, profile string
		made          int // profiles of class a
	}{
		{role, "", 1}, {"team/" + role, "", 1}, {"Second", "", 1}, {"", "user-made", 0}, {role, "", 1}, {role, "", 1},
	} {
		a.Spec.Role, a.Spec.InstanceProfile = step.role, nil
		if step.profile != "" {
			a.Spec.InstanceProfile = &step.profile
		}
		a.Generation++
		resolve(t, p, a)
		now = now.Add(2 * time.Hour)
		if _, err := p.CollectProfiles(t.Context(), map[string]bool{a.Status.InstanceProfile: true, b.Status.InstanceProfile: true}); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, x := range w.InstanceProfiles("/karpenter/") {
			if strings.HasSuffix(x.Path, "/"+string(a.UID)+"/") {
				left = append(left, x.Name)
			}
		}
		if len(left) != step.made || step.made == 1 && left[0] != a.Status.InstanceProfile {
			t.Errorf("step %d: the class has %v and uses %s", i, left, a.Status.InstanceProfile)
		}
		if _, err := w.InstanceProfile(b.Status.InstanceProfile); err != nil {
			t.Errorf("step %d: the class with the same role lost its profile: %v", i, err)
		}
	}
	if _, err := w.InstanceProfile("user-made"); err != nil {
		t.Errorf("a profile that the user made: %v", err)
	}
	for _, c := range []*awsv1.EC2NodeClass{a, b} {
		if err := p.Release(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if left := w.InstanceProfiles("/karpenter/"); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// A leader that has just begun collects the templates that no leader has used for long: how long it leads itself says nothing.
func TestANewLeaderCollectsTemplatesThatNoLeaderUsed(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	s := startSim(t, awssim.Options{World: world.Options{Clock: clock}})
	leader := func() *aws.Provider {
		p := newProvider(t, s, func(o *aws.Options) { o.Now = clock.Now })
		ready(t, p)
		return p
	}
	first := leader()
	class := newClass(s)
	resolve(t, first, class)
	launch := func(n int) {
		if _, err := first.Launch(t.Context(), newClaim(n), class); err != nil {
			t.Fatal(err)
		}
	}
	launch(1)
	clock.Advance(7 * time.Hour)
	launch(2)
	for _, left := range []int{1, 0} {
		leader().CollectTemplatesOnce(t.Context())
		if got := s.World.Templates(); len(got) != left {
			t.Errorf("%d templates are left, want %d", len(got), left)
		}
		clock.Advance(7 * time.Hour)
	}
}
