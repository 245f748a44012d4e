package aws_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestALoneClaimGetsTheCheapestInstanceThatFits(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	if err := p.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	m, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", m)
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: m.InstanceType, corev1.LabelTopologyZone: m.Zone, corev1.LabelArchStable: "amd64",
		karpv1.CapacityTypeLabelKey: "on-demand", awsv1.LabelInstanceCategory: "m", awsv1.LabelInstanceTenancy: "default",
		corev1.LabelTopologyRegion: "us-east-1",
	} {
		if m.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, m.Labels[key], want)
		}
	}
	if m.Annotations[awsv1.AnnotationEC2NodeClassHash] != "123" || m.Annotations[awsv1.AnnotationInstanceProfile] == "" {
		t.Errorf("annotations are %v", m.Annotations)
	}
	if m.Allocatable["cpu"] < 1500 || m.ZoneID == "" || m.ImageID == "" {
		t.Errorf("instance is %+v", m)
	}
	got := alive(s)
	if len(got) != 1 || "aws:///"+m.Zone+"/"+got[0].ID != m.ProviderID {
		t.Fatalf("%d instances, provider ID %s", len(got), m.ProviderID)
	}
	for key, want := range map[string]string{
		"karpenter.sh/nodepool": "pool", "karpenter.sh/nodeclaim": "pool-001", "kubernetes.io/cluster/kerf": "owned",
		"eks:eks-cluster-name": "kerf", "karpenter.k8s.aws/ec2nodeclass": "default", "team": "blue",
	} {
		if got[0].Tags[key] != want {
			t.Errorf("tag %s is %q, want %q", key, got[0].Tags[key], want)
		}
	}
	again, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil || again.ProviderID != m.ProviderID || len(alive(s)) != 1 {
		t.Errorf("a second Launch gave %v, %v and %d instances", again, err, len(alive(s)))
	}
}

// launchAll launches claims at once and returns what each got.
func launchAll(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass, claims []*karpv1.NodeClaim) (map[string]*cloud.Instance, map[string]error) {
	t.Helper()
	var mu sync.Mutex
	instances, errs := map[string]*cloud.Instance{}, map[string]error{}
	var wg sync.WaitGroup
	for _, c := range claims {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			m, err := p.Launch(ctx, c, class)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[c.Name] = err
			} else {
				instances[c.Name] = m
			}
		})
	}
	wg.Wait()
	return instances, errs
}

func newClaims(n int) []*karpv1.NodeClaim {
	out := make([]*karpv1.NodeClaim, n)
	for i := range out {
		out[i] = newClaim(i)
	}
	return out
}

// oneEach fails the test unless every claim has an instance of its own and the simulator has no other.
func oneEach(t *testing.T, s *awssim.Server, instances map[string]*cloud.Instance, claims int) {
	t.Helper()
	seen := map[string]string{}
	for name, m := range instances {
		if other, dup := seen[m.ProviderID]; dup {
			t.Errorf("%s and %s share %s", name, other, m.ProviderID)
		}
		seen[m.ProviderID] = name
	}
	if len(instances) != claims || len(alive(s)) != claims {
		t.Errorf("%d claims have %d instances, and there are %d instances", claims, len(instances), len(alive(s)))
	}
}

func TestIdenticalClaimsShareAFleet(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	instances, errs := launchAll(t, p, class, newClaims(12))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, instances, 12)
	if n := len(s.World.Fleets()); n != 1 {
		t.Errorf("%d fleets, want 1", n)
	}
}

func TestANewProcessFindsWhatTheOldOneLaunched(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	old := newProvider(t, s, nil)
	ready(t, old)
	resolve(t, old, class)
	claims := newClaims(20)
	before, errs := launchAll(t, old, class, claims[:12])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	lone, errs := launchAll(t, old, class, claims[12:13])
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	// The old process dies before it has written anything down; what it launched can't be seen at once.
	s.World.AddFault(world.Fault{Kind: world.FaultLateInstances, Delay: settle / 2})
	s.World.AddFault(world.Fault{Kind: world.FaultLateTags, Delay: settle / 2})
	next := newProvider(t, s, nil)
	if err := next.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Begin(t.Context(), uids(claims))
	instances, errs := launchAll(t, next, class, claims)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, instances, 20)
	for name, m := range before {
		if instances[name].ProviderID != m.ProviderID {
			t.Errorf("%s had %s and has now %s", name, m.ProviderID, instances[name].ProviderID)
		}
	}
	for name, m := range lone {
		if instances[name].ProviderID != m.ProviderID {
			t.Errorf("%s had %s and has now %s", name, m.ProviderID, instances[name].ProviderID)
		}
	}
}

func TestALostReplyIsAskedForAgainAndLaunchesNothingTwice(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	s.World.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 1})
	claims, before := newClaims(5), s.World.CallCounts()["CreateFleet"]
	_, errs := launchAll(t, p, class, claims)
	if sent := s.World.CallCounts()["CreateFleet"] - before; sent != 1 {
		t.Errorf("the request was sent %d times: after a lost reply a refusal would say nothing of the first", sent)
	}
	if len(errs) != 5 {
		t.Fatalf("%d launches failed, want 5", len(errs))
	}
	for _, err := range errs {
		if cloud.ClassOf(err) != cloud.Unavailable {
			t.Errorf("an unknown outcome has class %s: %v", cloud.ClassOf(err), err)
		}
	}
	instances, errs := launchAll(t, p, class, claims)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, instances, 5)
}

func TestALostReplyBeforeACrashLaunchesNothingTwice(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	old := newProvider(t, s, nil)
	ready(t, old)
	resolve(t, old, class)
	s.World.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 1})
	claims := newClaims(7)
	if _, errs := launchAll(t, old, class, claims[:4]); len(errs) != 4 {
		t.Fatalf("%d launches failed, want 4", len(errs))
	}
	next := newProvider(t, s, nil)
	if err := next.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.Begin(t.Context(), uids(claims))
	instances, errs := launchAll(t, next, class, claims)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, instances, 7)
}

func TestAPartialFleetServesSomeAndTellsTheOthersWhy(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	s.World.AddFault(world.Fault{Kind: world.FaultPartialFleet, Limit: 3, Count: 1})
	claims := newClaims(8)
	instances, errs := launchAll(t, p, class, claims)
	if len(instances) != 3 || len(errs) != 5 {
		t.Fatalf("%d instances and %d errors", len(instances), len(errs))
	}
	for name, err := range errs {
		if cloud.ClassOf(err) != cloud.Exhausted || !strings.Contains(err.Error(), "InsufficientInstanceCapacity") {
			t.Errorf("%s: %s: %v", name, cloud.ClassOf(err), err)
		}
	}
	more, errs := launchAll(t, p, class, claims)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, more, 8)
	for name, m := range instances {
		if more[name].ProviderID != m.ProviderID {
			t.Errorf("%s changed its instance", name)
		}
	}
}

func TestPoolsWithoutCapacityAreClosedAndOthersTaken(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p, calls := newCountedProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	s.World.AddFault(world.Fault{Kind: world.FaultNoCapacity, CapacityType: "on-demand", InstanceType: "m5.large"})
	only := func(n int, types ...string) *karpv1.NodeClaim {
		return newClaim(n, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, types...),
			need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "on-demand"))
	}
	_, err := p.Launch(t.Context(), only(1, "m5.large"), class)
	if cloud.ClassOf(err) != cloud.Exhausted {
		t.Fatalf("got %v", err)
	}
	types, err := p.Types(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	for _, ty := range types {
		for _, o := range ty.Offerings {
			if ty.Name == "m5.large" && o.CapacityType == "on-demand" && o.Available {
				t.Errorf("m5.large in %s is still offered", o.Zone)
			}
		}
	}
	before := calls.Of("CreateFleet")
	if _, err := p.Launch(t.Context(), only(2, "m5.large"), class); cloud.ClassOf(err) != cloud.Exhausted || calls.Of("CreateFleet") != before {
		t.Errorf("a closed pool was asked for again: %v", err)
	}
	if m, err := p.Launch(t.Context(), only(3, "m5.large", "m5.xlarge"), class); err != nil || m.InstanceType != "m5.xlarge" {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestALaunchTemplateDeletedBySomebodyElseIsMadeAgain(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(0), class); err != nil {
		t.Fatal(err)
	}
	for _, lt := range s.World.Templates() {
		if _, err := s.World.DeleteTemplate(world.TemplateRef{ID: lt.ID}); err != nil {
			t.Fatal(err)
		}
	}
	instances, errs := launchAll(t, p, class, newClaims(3))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	oneEach(t, s, instances, 3)
}

func TestTemplatesThatAreThereLeaveOneCallForTheLaunch(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p, calls := newCountedProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(0), class); err != nil {
		t.Fatal(err)
	}
	calls.Reset()
	start := time.Now()
	if _, err := p.Launch(t.Context(), newClaim(1), class); err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(start))
	if got := calls.All(); len(got) != 1 || got["CreateFleet"] != 1 {
		t.Errorf("calls were %v, want one CreateFleet", got)
	}
	// A process that starts later knows the templates from the account.
	next, calls := newCountedProvider(t, s, nil)
	ready(t, next)
	calls.Reset()
	if _, err := next.Launch(t.Context(), newClaim(2), class); err != nil {
		t.Fatal(err)
	}
	if got := calls.All(); got["CreateLaunchTemplate"] != 0 {
		t.Errorf("calls were %v, want no CreateLaunchTemplate", got)
	}
}

func TestSpotIsTakenWhenItIsAllowedAndCheaper(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	claim := newClaim(1, need(awsv1.LabelInstanceCategory, corev1.NodeSelectorOpIn, "m", "c"),
		need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot", "on-demand"))
	m, err := p.Launch(t.Context(), claim, class)
	if err != nil {
		t.Fatal(err)
	}
	if m.CapacityType != "spot" || m.Labels[karpv1.CapacityTypeLabelKey] != "spot" {
		t.Errorf("got %s", m.CapacityType)
	}
	got, err := p.Get(t.Context(), m.ProviderID)
	if err != nil || got.CapacityType != "spot" {
		t.Errorf("EC2 says %+v, %v", got, err)
	}
}

func TestAClassThatIsNotReadyIsNotLaunchedFrom(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	good := newClass(s)
	resolve(t, p, good)
	tests := []struct {
		name  string
		edit  func(*awsv1.EC2NodeClass)
		class cloud.ErrorClass
	}{
		{"a class that says no", func(c *awsv1.EC2NodeClass) { c.Status.Conditions[0].Status = "False" }, cloud.ClassNotReady},
		{"a class that was changed since", func(c *awsv1.EC2NodeClass) { c.Generation++ }, cloud.Unavailable},
		{"a class that does not know", func(c *awsv1.EC2NodeClass) { c.Status.Conditions[0].Status = "Unknown" }, cloud.Unavailable},
		{"a class that nobody has looked at", func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }, cloud.Unavailable},
		{"a class that sets the controller's tags", func(c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x"} }, cloud.ClassNotReady},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := good.DeepCopy()
			tt.edit(class)
			_, err := p.Launch(t.Context(), newClaim(100+i), class)
			if err == nil || cloud.ClassOf(err) != tt.class || !strings.Contains(err.Error(), fmt.Sprintf("%q", class.Name)) {
				t.Errorf("got %v of class %s, want %s", err, cloud.ClassOf(err), tt.class)
			}
		})
	}
}
