package garbagecollection

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestMayBelong(t *testing.T) {
	launched := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	claim := func(change func(*karpv1.NodeClaim)) karpv1.NodeClaim {
		c := karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-1", CreationTimestamp: metav1.Time{Time: launched.Add(-time.Second)}, Labels: map[string]string{karpv1.NodePoolLabelKey: "p"}}}
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		instance cloud.Instance
		claim    karpv1.NodeClaim
		want     bool
	}{
		"a claim that was waiting when the instance came":  {cloud.Instance{Pool: "p"}, claim(func(*karpv1.NodeClaim) {}), true},
		"a claim of another pool":                          {cloud.Instance{Pool: "q"}, claim(func(*karpv1.NodeClaim) {}), false},
		"a claim that knows its instance":                  {cloud.Instance{Pool: "p"}, claim(func(c *karpv1.NodeClaim) { c.Status.ProviderID = "aws:///z/i-2" }), false},
		"a claim made long after the instance":             {cloud.Instance{Pool: "p"}, claim(func(c *karpv1.NodeClaim) { c.CreationTimestamp.Time = launched.Add(time.Minute) }), false},
		"a claim that is going":                            {cloud.Instance{Pool: "p"}, claim(func(c *karpv1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: launched} }), false},
		"the tag names the claim":                          {cloud.Instance{Pool: "p", Claim: "p-1"}, claim(func(*karpv1.NodeClaim) {}), true},
		"the tag names another claim that no longer waits": {cloud.Instance{Pool: "p", Claim: "p-0"}, claim(func(*karpv1.NodeClaim) {}), false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.instance.LaunchedAt = launched
			if got := mayBelong(&tc.instance, []karpv1.NodeClaim{tc.claim}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
