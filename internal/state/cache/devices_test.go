package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

const gpu = "example.com/gpu"

// A driver for Dynamic Resource Allocation serves what no kubelet reports: it is on the node as soon as a pod there has some of it.
func TestWhatADriverServesIsOnTheNode(t *testing.T) {
	r := newRig()
	claim := r.claim("c0", launch, func(c *karpv1.NodeClaim) { c.Status.Allocatable[gpu] = resource.MustParse("8") })
	r.SetClaim(claim)
	node := newNode("n0", "uid-n0", "id-1")
	node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
	r.version(node)
	r.SetNode(node)
	if r.HasDevice("n0", gpu) || r.instance("n0").Allocatable[gpu] != 0 {
		t.Errorf("%d devices are on the node, and no pod has one", r.instance("n0").Allocatable[gpu])
	}
	asks := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
	}
	r.pod("p", asks)
	r.pod("p", asks, bound("n0"), func(p *corev1.Pod) {
		p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
			RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "a", ResourceName: gpu, RequestName: "container-0-request-0"}}}
	})
	if n := r.instance("n0"); !r.HasDevice("n0", gpu) || n.Allocatable[gpu] != 8 || n.Used[gpu] != 1 {
		t.Errorf("of %d devices on the node %d are used, want 1 of 8", n.Allocatable[gpu], n.Used[gpu])
	}
	if r.HasDevice("n0", "example.com/other") || r.HasDevice("n1", gpu) {
		t.Error("a device is where none is")
	}
	if r.told[DevicesBound] != 1 {
		t.Errorf("told %d times that a pod has a device", r.told[DevicesBound])
	}
	held := r.entries[podKey{Namespace: "ns", Name: "p"}].obj
	api := fake.NewClientBuilder().WithScheme(kinds(t)).WithObjects(node, claim, held).Build()
	for _, o := range []client.Object{node, claim, held} {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := r.Compare(t.Context(), api); err != nil || len(found) > 0 {
		t.Errorf("the cache is said to differ from the API: %v, %v", found, err)
	}
}

// A node keeps what its claim was launched for when the last pod that had some of it has ended: the scheduler binds the next one there.
func TestWhatADriverServesStaysOnTheNodeThatWasLaunchedForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		initialized string
		asked       string // by the claim
		reported    string // by the kubelet
		want        int64
	}{
		"it was launched for it":             {"true", "1", "", 8},
		"it is not initialized":              {"", "1", "", 8}, // as all that the claim says
		"it was launched for something else": {"true", "", "", 0},
		"it was launched for none of it":     {"true", "0", "", 0},
		"a device plug-in that has failed":   {"true", "1", "0", 0},
		"a device plug-in that serves some":  {"true", "1", "4", 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			r.SetClaim(r.claim("c0", launch, func(c *karpv1.NodeClaim) {
				c.Status.Allocatable[gpu] = resource.MustParse("8")
				if tc.asked != "" {
					c.Spec.Resources.Requests[gpu] = resource.MustParse(tc.asked)
				}
			}))
			node := newNode("n0", "uid-n0", "id-1")
			node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: tc.initialized}
			if tc.reported != "" {
				node.Status.Allocatable[gpu] = resource.MustParse(tc.reported)
			}
			r.version(node)
			r.SetNode(node)
			if got := r.instance("n0").Allocatable[gpu]; got != tc.want {
				t.Errorf("%d devices are on the node, want %d", got, tc.want)
			}
		})
	}
}
