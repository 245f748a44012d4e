package changeplan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func told(fields []Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprintf("%s: %s -> %s (%s)", f.Path, f.Old, f.New, f.Effect))
	}
	return strings.Join(out, "; ")
}

func TestWhatFieldsOfAPoolDo(t *testing.T) {
	base := func() *karpv1.NodePool {
		p := &karpv1.NodePool{}
		p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: KindClass, Name: "default"}
		p.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Effect: corev1.TaintEffectNoSchedule}}
		p.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "10%"}}
		return p
	}
	for sentence, tt := range map[string]struct {
		change func(*karpv1.NodePool)
		want   string
	}{
		"nothing":          {func(*karpv1.NodePool) {}, ""},
		"the age of nodes": {func(p *karpv1.NodePool) { p.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("336h") }, "spec.template.spec.expireAfter: 720h -> 336h (rolls)"},
		"the same age, in words": {func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("43200m")
		}, "spec.template.spec.expireAfter: 720h -> 43200m (no drift)"},
		"the order of taints": {func(p *karpv1.NodePool) {
			taints := p.Spec.Template.Spec.Taints
			p.Spec.Template.Spec.Taints = []corev1.Taint{taints[1], taints[0]}
		}, ""},
		"a label":  {func(p *karpv1.NodePool) { p.Spec.Template.Labels = map[string]string{"example.com/team": "a"} }, "spec.template.metadata.labels[example.com/team]:  -> a (rolls)"},
		"a budget": {func(p *karpv1.NodePool) { p.Spec.Disruption.Budgets[0].Nodes = "1" }, "spec.disruption.budgets[0].nodes: 10% -> 1 (no drift)"},
		"limits":   {func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("10")} }, "spec.limits.cpu:  -> 10 (no drift)"},
		"requirements": {func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}}}
		}, `spec.template.spec.requirements[kubernetes.io/arch]:  -> In [arm64] (may roll)`},
		"one that rolls and one that does not": {func(p *karpv1.NodePool) {
			p.Spec.Weight = new(int32(3))
			p.Spec.Template.Spec.TerminationGracePeriod = new(karpv1.NewDuration(time.Minute))
		}, "spec.template.spec.terminationGracePeriod:  -> 1m0s (rolls); spec.weight:  -> 3 (no drift)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := base()
			tt.change(now)
			fields := poolFields(base(), now)
			if got := told(fields); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			rolls := strings.Contains(tt.want, "(rolls)")
			if changed := base().Hash() != now.Hash(); changed != rolls {
				t.Errorf("the hash changed: %v, and a field rolls: %v", changed, rolls)
			}
		})
	}
}

func TestWhatFieldsOfAClassDo(t *testing.T) {
	base := func() *awsv1.EC2NodeClass {
		c := &awsv1.EC2NodeClass{}
		c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@v20250101"}}
		c.Spec.Tags = map[string]string{"team": "a"}
		c.Spec.UserData = new("#!/bin/sh\necho a")
		return c
	}
	for sentence, tt := range map[string]struct {
		change func(*awsv1.EC2NodeClass)
		want   string
	}{
		"a newer image":          {func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2023@latest" }, "spec.amiSelectorTerms[0].alias: al2023@v20250101 -> al2023@latest (may roll)"},
		"a tag":                  {func(c *awsv1.EC2NodeClass) { c.Spec.Tags["team"] = "b" }, "spec.tags.team: a -> b (rolls)"},
		"user data":              {func(c *awsv1.EC2NodeClass) { c.Spec.UserData = new("#!/bin/sh\necho b") }, `spec.userData: 2 lines beginning with "#!/bin/sh" -> 2 lines beginning with "#!/bin/sh" (rolls)`},
		"what follows is spelt":  {func(c *awsv1.EC2NodeClass) { c.Spec.AMIFamily = new(awsv1.AMIFamilyAL2023) }, "spec.amiFamily:  -> AL2023 (no drift)"},
		"subnets":                {func(c *awsv1.EC2NodeClass) { c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}} }, "spec.subnetSelectorTerms[0].id:  -> subnet-1 (may roll)"},
		"it is as it was before": {func(*awsv1.EC2NodeClass) {}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			now := base()
			tt.change(now)
			if got := told(classFields(base(), now)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
