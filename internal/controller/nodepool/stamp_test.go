package nodepool

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestANewWayOfHashingIsTakenOverByAllThatHaveNotDrifted(t *testing.T) {
	const now = karpv1.NodePoolHashVersion
	stamped := func(hash, version string) map[string]string {
		return map[string]string{karpv1.NodePoolHashAnnotationKey: hash, karpv1.NodePoolHashVersionAnnotationKey: version}
	}
	for name, tc := range map[string]struct {
		pool    map[string]string
		claim   map[string]string
		drifted bool
		// hash and version that the claim has afterwards; "new" stands for the pool's.
		hash, version string
	}{
		"a claim of the old way":                     {stamped("1", "v2"), stamped("1", "v2"), false, "new", now},
		"a claim of the old way that drifted":        {stamped("2", "v2"), stamped("1", "v2"), true, "1", now},
		"a claim that was made since":                {stamped("1", "v2"), stamped("5", now), false, "5", now},
		"a pool of the present way changes no claim": {stamped("1", now), stamped("1", "v2"), false, "1", "v2"},
		"a pool that was never stamped":              {nil, stamped("1", "v2"), false, "1", "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := karpv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: tc.pool}}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{karpv1.NodePoolLabelKey: "p"}, Annotations: tc.claim}}
			if tc.drifted {
				claim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, karpv1.ReasonNodePoolDrifted, "")
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pool, claim).WithStatusSubresource(pool, claim).Build()
			if err := api.Status().Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			c := &Controller{Client: api}
			for range 2 { // the second time there is nothing to do
				if err := c.stamp(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
			}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
				t.Fatal(err)
			}
			hash := tc.hash
			if hash == "new" {
				hash = pool.Hash()
			}
			if a := claim.Annotations; a[karpv1.NodePoolHashAnnotationKey] != hash || a[karpv1.NodePoolHashVersionAnnotationKey] != tc.version {
				t.Errorf("the claim is stamped %v, want %s of %s", a, hash, tc.version)
			}
			if a := pool.Annotations; a[karpv1.NodePoolHashAnnotationKey] != pool.Hash() || a[karpv1.NodePoolHashVersionAnnotationKey] != now {
				t.Errorf("the pool is stamped %v", a)
			}
		})
	}
}
