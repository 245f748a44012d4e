package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// hostile is a provider in a world with an unfriendly behaviour switched on.
type hostile struct {
	t     *testing.T
	sim   *awssim.Server
	p     *aws.Provider
	class *awsv1.EC2NodeClass
	name  string
}

// on switches the behaviour on; what takes seconds in it takes less than the provider thinks that EC2 may take.
func (h *hostile) on() {
	h.t.Helper()
	i := slices.IndexFunc(world.Switches(), func(s world.Switch) bool { return s.Name == h.name })
	if i < 0 {
		h.t.Fatalf("there is no switch %s", h.name)
	}
	for _, f := range world.Switches()[i].Faults {
		if f.Delay > 0 {
			f.Delay = settle / 2
		}
		h.sim.World.AddFault(f)
	}
}

// over switches it off, and lets what was under way settle.
func (h *hostile) over() { h.sim.World.ClearFaults(); time.Sleep(settle) }

func (h *hostile) launch(claims []*karpv1.NodeClaim) (map[string]*cloud.Instance, map[string]error) {
	h.t.Helper()
	return launchAll(h.t, h.p, h.class, claims)
}

// launched fails the test unless all claims get an instance each, and there is no other.
func (h *hostile) launched(claims []*karpv1.NodeClaim) map[string]*cloud.Instance {
	h.t.Helper()
	instances, errs := h.launch(claims)
	for name, err := range errs {
		h.t.Errorf("%s: %v", name, err)
	}
	oneEach(h.t, h.sim, instances, len(claims))
	return instances
}

// refused fails the test unless no claim gets an instance, for the given reason.
func (h *hostile) refused(claims []*karpv1.NodeClaim, class cloud.ErrorClass, says string) {
	h.t.Helper()
	instances, errs := h.launch(claims)
	if len(instances) > 0 {
		h.t.Errorf("%d claims have an instance", len(instances))
	}
	for name, err := range errs {
		if cloud.ClassOf(err) != class || !strings.Contains(err.Error(), says) {
			h.t.Errorf("%s: %s: %v; want class %s and %q", name, cloud.ClassOf(err), err, class, says)
		}
	}
}

// known fails the test unless the class selects the images that it selected before, and no condition of it is False.
func (h *hostile) known() {
	h.t.Helper()
	r, err := h.p.Resolve(h.t.Context(), h.class)
	if err != nil {
		h.t.Fatal(err)
	}
	images := slices.IndexFunc(r.Findings, func(f cloud.Finding) bool { return f.Condition == awsv1.ConditionTypeAMIsReady })
	kept := len(r.AMIs) == 0 && r.Findings[images].Unknown // the controller leaves those that the status names
	for _, was := range h.class.Status.AMIs {
		if !kept && !slices.ContainsFunc(r.AMIs, func(a awsv1.AMI) bool { return a.ID == was.ID }) {
			h.t.Errorf("image %s is not selected any more: its instances would be drifted", was.ID)
		}
	}
	for _, f := range r.Findings {
		if !f.OK && !f.Unknown {
			h.t.Errorf("%s is False: %s", f.Condition, f.Message)
		}
	}
}

func zoned(zone, capacityType string) []karpv1.NodeSelectorRequirementWithMinValues {
	return []karpv1.NodeSelectorRequirementWithMinValues{
		need(awsv1.LabelInstanceCategory, corev1.NodeSelectorOpIn, "m"), need(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zone),
		need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType),
	}
}

// unfriendly is what each behaviour comes to. Messages that are untidy, and instances that have no role, are the matter of
// packages controller/interrupt and awssim/boot.
var unfriendly = map[string]func(*hostile){
	"partial-fleet": func(h *hostile) {
		claims := newClaims(4)
		h.on()
		instances, errs := h.launch(claims)
		if len(instances) != 1 || len(errs) != 3 {
			h.t.Errorf("%d instances and %d errors, want 1 and 3", len(instances), len(errs))
		}
		h.over()
		h.launched(claims)
	},
	"lost-reply": func(h *hostile) {
		claims := newClaims(3)
		h.on()
		_, errs := h.launch(claims)
		for name, err := range errs {
			if cloud.ClassOf(err) != cloud.Unavailable || !strings.Contains(err.Error(), "EC2 has not said what became of the request") {
				h.t.Errorf("%s: an outcome that is not known gave %v", name, err)
			}
		}
		h.over()
		h.launched(claims)
	},
	"late-instances": func(h *hostile) {
		h.sim.World.AddFault(world.Fault{Kind: world.FaultLateInstances, Delay: 4 * time.Second})
		for _, m := range h.launched(newClaims(3)) {
			if _, err := h.p.Get(h.t.Context(), m.ProviderID); !cloud.IsNotFound(err) || strings.Contains(err.Error(), "is terminated") {
				h.t.Errorf("an instance that can't be seen yet gave %v", err)
			}
		}
		var list []*cloud.Instance
		for end := time.Now().Add(20 * time.Second); len(list) < 3 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			list, _ = h.p.List(h.t.Context(), 0)
		}
		if len(list) != 3 {
			h.t.Errorf("%d instances are listed, want 3", len(list))
		}
	},
	"late-tags": func(h *hostile) {
		h.on()
		instances := h.launched(newClaims(3))
		h.over()
		list, err := h.p.List(h.t.Context(), 0)
		if err != nil || len(list) != 3 {
			h.t.Errorf("%d instances are listed, %v; want 3", len(list), err)
		}
		for name, m := range instances {
			if m.Tags["karpenter.sh/nodepool"] != "pool" {
				h.t.Errorf("%s does not know its own tags: %v", name, m.Tags)
			}
		}
	},
	"late-profiles": func(h *hostile) {
		h.on()
		h.class.Spec.Role, h.class.UID, h.class.Name = "", "another", "another"
		h.class.Spec.InstanceProfile = new("fresh")
		if _, err := h.sim.World.CreateInstanceProfile("fresh", "/", nil); err != nil {
			h.t.Fatal(err)
		}
		if err := h.sim.World.AddRoleToInstanceProfile("fresh", "KarpenterNodeRole-"+h.sim.World.ClusterName()); err != nil {
			h.t.Fatal(err)
		}
		h.class.Status.InstanceProfile = "fresh"
		claims := newClaims(2)
		h.refused(claims, cloud.Invalid, "Invalid IAM Instance Profile")
		h.over()
		h.launched(claims)
	},
	"throttled-parameter": func(h *hostile) {
		h.on()
		h.known()
		h.launched(newClaims(2))
		h.over()
		h.known()
	},
	"missing-images": func(h *hostile) {
		h.on()
		h.known()
		h.over()
		h.known()
		h.launched(newClaims(2))
	},
	"missing-spot-prices": func(h *hostile) {
		h.on()
		h.p = newProvider(h.t, h.sim, func(o *aws.Options) { o.DisableDryRun = true })
		ready(h.t, h.p)
		h.refused([]*karpv1.NodeClaim{newClaim(1, zoned("us-east-1a", catalog.Spot)...)}, cloud.Exhausted, "no price")
		h.launched([]*karpv1.NodeClaim{newClaim(2, zoned("us-east-1b", catalog.Spot)...)})
		h.over()
		h.p = newProvider(h.t, h.sim, func(o *aws.Options) { o.DisableDryRun = true })
		ready(h.t, h.p)
		if m, err := h.p.Launch(h.t.Context(), newClaim(3, zoned("us-east-1a", catalog.Spot)...), h.class); err != nil || m.CapacityType != catalog.Spot {
			h.t.Errorf("with its prices the zone gave %v, %v", m, err)
		}
	},
	"no-addresses": func(h *hostile) {
		h.on()
		h.refused([]*karpv1.NodeClaim{newClaim(1, zoned("us-east-1a", catalog.OnDemand)...)}, cloud.Exhausted, "InsufficientFreeAddressesInSubnet")
		claims := newClaims(4)[2:]
		for name, m := range h.launched(claims) {
			if m.Zone == "us-east-1a" {
				h.t.Errorf("%s is in the zone without addresses", name)
			}
		}
		h.over()
		h.launched(claims)
	},
	"lost-templates": func(h *hostile) {
		h.on()
		h.launched(newClaims(3))
	},
	"failed-launch": func(h *hostile) {
		h.on()
		m, err := h.p.Launch(h.t.Context(), newClaim(1), h.class)
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := h.p.Get(h.t.Context(), m.ProviderID); !cloud.IsNotFound(err) || !strings.Contains(err.Error(), "Client.InternalError") {
			h.t.Errorf("an instance that died gave %v", err)
		}
		h.over()
		h.launched(newClaims(3)[2:])
	},
	"account-rates": func(h *hostile) {
		h.on()
		h.launched(newClaims(300))
	},
}

// What AWS does on bad days: nothing is launched twice, leaked, ended or taken for drifted, and all is well once it is over.
func TestUnfriendlyBehavioursOfAWS(t *testing.T) {
	for _, s := range world.Switches() {
		tell := unfriendly[s.Name]
		if tell == nil {
			if s.Name != "untidy-messages" && s.Name != "stale-role" {
				t.Errorf("nobody has tried what comes of %s", s.Name)
			}
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			h := &hostile{t: t, sim: startSim(t, awssim.Options{}), name: s.Name}
			h.p = newProvider(t, h.sim, func(o *aws.Options) { o.DisableDryRun = true })
			ready(t, h.p)
			h.class = newClass(h.sim)
			resolve(t, h.p, h.class)
			tell(h)
			if n := h.sim.World.CallCount("TerminateInstances"); n > 0 {
				t.Errorf("%d calls ended instances", n)
			}
		})
	}
}
