package oddclass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/coverage/oddclass"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// odd is how many classes the test shows to the provider.
const odd = 300

// region is a provider in a simulated region, and a class that is as it should be.
type region struct {
	*aws.Provider
	cluster string
	good    *awsv1.EC2NodeClass
	types   []*catalog.Type // that the good class has
	claims  atomic.Int64
}

func newRegion(t testing.TB) *region {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{
		PendingTime: -1, ShutdownTime: -1, Types: []string{"m5.large", "m6g.large", "g4dn.xlarge", "p3.2xlarge", "m5.metal", "i3.large", "c5n.18xlarge"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	id, secret := sim.Credentials()
	s, err := session.New(t.Context(), session.Options{Version: "test", Explicit: &session.Explicit{
		Region: sim.World.Region(), Endpoint: sim.URL(), AccessKeyID: id, SecretAccessKey: secret,
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &region{cluster: sim.World.ClusterName()}
	r.Provider, err = aws.New(s, aws.Options{
		ClusterName: r.cluster, ClusterDNSIP: func(context.Context) (string, error) { return "10.100.0.10", nil }, ClusterCABundle: func() string { return "Q0E=" }, ReservedCapacity: true,
		BatchIdle: time.Millisecond, Settle: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Begin(t.Context(), nil)
	discovery := map[string]string{"karpenter.sh/discovery": r.cluster}
	r.good = &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "good", UID: "uid-good", Generation: 1},
		Spec: awsv1.EC2NodeClassSpec{
			SubnetSelectorTerms: []awsv1.SubnetSelectorTerm{{Tags: discovery}}, SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: discovery}},
			AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}, Role: "KarpenterNodeRole-" + r.cluster,
		},
	}
	if notOK := r.resolve(t, r.good); notOK != "" {
		t.Fatal(notOK)
	}
	if r.types, err = r.Types(t.Context(), r.good); err != nil {
		t.Fatal(err)
	}
	return r
}

// resolve writes what a class resolves to into its status, calls it ready whatever came out, and returns what is amiss.
// A class that was ready and was then edited still says so for a moment.
func (r *region) resolve(t testing.TB, class *awsv1.EC2NodeClass) string {
	t.Helper()
	found, err := r.Resolve(t.Context(), class)
	if err != nil {
		return err.Error()
	}
	class.Status.Subnets, class.Status.SecurityGroups, class.Status.AMIs = found.Subnets, found.SecurityGroups, found.AMIs
	class.Status.InstanceProfile, class.Status.LaunchTemplate = found.InstanceProfile, found.LaunchTemplate
	class.Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeReady, Status: metav1.ConditionTrue, ObservedGeneration: class.Generation}}
	var amiss []string
	for _, f := range found.Findings {
		if f.OK {
			continue
		}
		if f.Reason == "" || f.Message == "" {
			t.Errorf("condition %s is not met, and why is not said: %+v", f.Condition, f)
		}
		amiss = append(amiss, f.Condition+": "+f.Message)
	}
	return strings.Join(amiss, "\n")
}

func (r *region) claim(class string, requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodeClaim {
	name := fmt.Sprintf("pool-%d", r.claims.Add(1))
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now(), Labels: map[string]string{karpv1.NodePoolLabelKey: "pool"}},
		Spec: karpv1.NodeClaimSpec{
			Requirements: requirements,
			Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			NodeClassRef: &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class},
		},
	}
}

// show does with a class all that the controllers do. Nothing may panic, whatever it holds; errors must be the provider's.
func (r *region) show(t testing.TB, class *awsv1.EC2NodeClass) (usable bool) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			text, _ := json.Marshal(class.Spec)
			t.Errorf("class %s makes the provider panic: %v\n%s\n%s", class.Name, v, text, debug.Stack())
		}
	}()
	class.Validate()
	class.Hash("ca")
	amiss := r.resolve(t, class)
	ctx := t.Context()
	_, typesErr := r.Types(ctx, class)
	instance, launchErr := r.Launch(ctx, r.claim(class.Name), class)
	if launchErr == nil {
		if err := r.Terminate(ctx, instance.ProviderID); err != nil {
			t.Error(err)
		}
	}
	for name, err := range map[string]error{"types": typesErr, "launch": launchErr, "release": r.Release(ctx, class)} {
		if _, ok := errors.AsType[*cloud.Error](err); err != nil && !ok {
			t.Errorf("class %s, %s: %v, want an error with a class", class.Name, name, err)
		}
	}
	return amiss == ""
}

// unharmed checks that the good class sees what it saw before.
func (r *region) unharmed(t testing.TB) {
	t.Helper()
	now, err := r.Types(t.Context(), r.good)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.types, now); diff != "" {
		t.Fatalf("the good class sees other types than before (-before +now):\n%s", diff)
	}
}

// decode makes the class of a spec, false if its JSON is no class.
func decode(seed uint64, spec map[string]any) (*awsv1.EC2NodeClass, bool) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, false
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: oddclass.Name(seed), UID: types.UID("uid-" + oddclass.Name(seed)), Generation: 1}}
	return class, json.Unmarshal(text, &class.Spec) == nil
}

func TestNoClassBringsTheProviderDownOrTouchesAnother(t *testing.T) {
	r := newRegion(t)
	var next, good, none atomic.Int64
	var wg sync.WaitGroup
	for range 16 { // at once, as the reconciler does: they share batches and caches
		wg.Go(func() {
			for seed := uint64(next.Add(1)); seed <= odd; seed = uint64(next.Add(1)) {
				class, ok := decode(seed, oddclass.Spec(seed, r.cluster))
				switch {
				case !ok:
					none.Add(1)
				case r.show(t, class):
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	usable, refused := good.Load(), none.Load()
	r.unharmed(t)
	if m, err := r.Launch(t.Context(), r.claim("good"), r.good); err != nil || m.InstanceID == "" {
		t.Errorf("the good class is not launched from any more: %v", err)
	}
	t.Logf("%d classes: %d usable, %d no JSON of a class", odd, usable, refused)
	if usable < odd/50 || refused > odd/5 {
		t.Errorf("of %d classes %d are usable and %d are no classes: the maker shows too little", odd, usable, refused)
	}
}

func FuzzClass(f *testing.F) {
	r := newRegion(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		if class, ok := decode(seed, oddclass.Spec(seed, r.cluster)); ok {
			r.show(t, class)
			r.unharmed(t)
		}
	})
}
