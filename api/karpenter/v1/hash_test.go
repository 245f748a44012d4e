package v1_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// The golden values were measured on a controller of version 1.14.1. A cluster that moves over
// carries them in annotations, so another value here would replace all its nodes.
func TestNodePoolHashMatchesValuesInLiveClusters(t *testing.T) {
	base := func() *v1.NodePool {
		p := &v1.NodePool{}
		p.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
		p.Spec.Template.Spec.ExpireAfter = v1.MustParseNillableDuration("720h")
		return p
	}
	kv := corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	k2 := corev1.Taint{Key: "k2", Effect: corev1.TaintEffectNoExecute}
	for name, tc := range map[string]struct {
		change func(*v1.NodePool)
		want   string
	}{
		"an empty pool":          {func(p *v1.NodePool) { *p = v1.NodePool{} }, "17307646073972311821"},
		"expireAfter in hours":   {func(p *v1.NodePool) {}, "6821555240594823858"},
		"expireAfter in minutes": {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.MustParseNillableDuration("43200m") }, "6821555240594823858"},
		"expireAfter made in Go": {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(720 * time.Hour) }, "6821555240594823858"},
		"expireAfter Never":      {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NeverDuration() }, "17369979337536258260"},
		"a label":                {func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{"team": "a"} }, "1617844334411263980"},
		"an annotation":          {func(p *v1.NodePool) { p.Spec.Template.Annotations = map[string]string{"team": "a"} }, "13079033683462012220"},
		"two taints":             {func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{kv, k2} }, "16991269586951879974"},
		"two taints turned":      {func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{k2, kv} }, "16991269586951879974"},
		"a startup taint":        {func(p *v1.NodePool) { p.Spec.Template.Spec.StartupTaints = []corev1.Taint{kv} }, "15284629203317741040"},
		"a grace period": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.TerminationGracePeriod = new(v1.NewDuration(30 * time.Second))
		}, "15207872929294825797"},
		"requirements, limits, weight and disruption do not count": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{{Key: "a", Operator: corev1.NodeSelectorOpExists}}
			p.Spec.Limits = v1.Limits{}
			p.Spec.Weight = new(int32(7))
			p.Spec.Disruption.ConsolidateAfter = v1.NeverDuration()
		}, "6821555240594823858"},
	} {
		t.Run(name, func(t *testing.T) {
			p := base()
			tc.change(p)
			if got := p.Hash(); got != tc.want {
				t.Errorf("hash %s, want %s", got, tc.want)
			}
		})
	}
}
