package v1_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1/apitest"
)

func rules() v1.LabelRules {
	return v1.CoreLabelRules().With([]string{"cloud.example/size"}, []string{"cloud.example"}, map[string]string{"disk.example/zone": corev1.LabelTopologyZone})
}

func TestNodePoolValidation(t *testing.T) {
	requirement := func(key string, op corev1.NodeSelectorOperator, values ...string) func(*v1.NodePool) {
		return apitest.WithRequirements(apitest.Requirement(key, op, values...))
	}
	label := func(key, value string) func(*v1.NodePool) {
		return func(p *v1.NodePool) { p.Spec.Template.Labels = map[string]string{key: value} }
	}
	taints := func(t ...corev1.Taint) func(*v1.NodePool) {
		return func(p *v1.NodePool) { p.Spec.Template.Spec.Taints = t }
	}
	minValues := func(n int, values ...string) func(*v1.NodePool) {
		r := apitest.Requirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, values...)
		r.MinValues = &n
		return apitest.WithRequirements(r)
	}
	const tmpl = "spec.template.spec."
	for name, tc := range map[string]struct {
		change func(*v1.NodePool)
		// want lists parts of the one error; empty wants none.
		want []string
	}{
		"the defaults": {change: func(*v1.NodePool) {}},
		"a well-known key of a restricted domain":       {change: requirement("cloud.example/size", corev1.NodeSelectorOpExists)},
		"an unknown key of a restricted domain":         {requirement("cloud.example/other", corev1.NodeSelectorOpExists), []string{tmpl + "requirements[0].key", "cloud.example/size"}},
		"an unknown key of its sub-domain":              {requirement("a.cloud.example/other", corev1.NodeSelectorOpExists), []string{tmpl + "requirements[0].key", "domain of your own"}},
		"a domain that merely ends like it":             {change: requirement("notcloud.example/other", corev1.NodeSelectorOpExists)},
		"a key of the core domain":                      {requirement("karpenter.sh/initialized", corev1.NodeSelectorOpExists), []string{tmpl + "requirements[0].key", v1.CapacityTypeLabelKey}},
		"the host name":                                 {requirement(corev1.LabelHostname, corev1.NodeSelectorOpExists), []string{"requirements[0].key", "host name"}},
		"the NodePool's own label as a requirement":     {requirement(v1.NodePoolLabelKey, corev1.NodeSelectorOpIn, "x"), []string{"requirements[0].key", "remove the requirement"}},
		"an alias of a key":                             {change: requirement("beta.kubernetes.io/arch", corev1.NodeSelectorOpIn, "amd64")},
		"a domain of Kubernetes":                        {change: requirement("node.kubernetes.io/mine", corev1.NodeSelectorOpExists)},
		"a value with a space":                          {requirement("a", corev1.NodeSelectorOpIn, "b c"), []string{"requirements[0].values[0]"}},
		"In without values":                             {requirement("a", corev1.NodeSelectorOpIn), []string{"requirements[0].values", "at least one value"}},
		"NotIn without values":                          {change: requirement("a", corev1.NodeSelectorOpNotIn)},
		"a bound":                                       {change: requirement("a", v1.NodeSelectorOpGte, "4")},
		"a bound of two values":                         {requirement("a", corev1.NodeSelectorOpGt, "4", "5"), []string{"requirements[0].values", "exactly one value"}},
		"a negative bound":                              {requirement("a", corev1.NodeSelectorOpLt, "-4"), []string{"requirements[0].values"}},
		"a bound that is a word":                        {requirement("a", v1.NodeSelectorOpLte, "few"), []string{"requirements[0].values"}},
		"an unknown operator":                           {requirement("a", "Like", "x"), []string{"requirements[0].operator", "DoesNotExist"}},
		"only unknown capacity types":                   {requirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "free"), []string{"requirements[0].values", "spot"}},
		"minValues that known capacity types reach":     {change: minValues(2, "spot", "on-demand")},
		"minValues that only unknown ones would reach":  {minValues(2, "spot", "free"), []string{"requirements[0].minValues", "list more"}},
		"minValues that a repeated value does not help": {minValues(2, "spot", "spot"), []string{"requirements[0].minValues"}},
		"a free label":                                  {change: label("team", "a")},
		"the NodePool's own label":                      {label(v1.NodePoolLabelKey, "x"), []string{"spec.template.metadata.labels[karpenter.sh/nodepool]", "remove it"}},
		"the label of the host name":                    {label(corev1.LabelHostname, "x"), []string{"labels[kubernetes.io/hostname]", "remove it"}},
		"a label of a restricted domain":                {label("cloud.example/other", "x"), []string{"labels[cloud.example/other]", "domain of your own"}},
		"a label key with a space":                      {label("a b", "x"), []string{"labels[a b]"}},
		"a label value with a space":                    {label("a", "b c"), []string{"labels[a]"}},
		"taints of one key with two effects":            {change: taints(corev1.Taint{Key: "a", Effect: "NoSchedule"}, corev1.Taint{Key: "a", Effect: "NoExecute"})},
		"a taint twice":                                 {taints(corev1.Taint{Key: "a", Effect: "NoSchedule"}, corev1.Taint{Key: "a", Value: "v", Effect: "NoSchedule"}), []string{tmpl + "taints[1]", tmpl + "taints[0]", "remove one"}},
		"a taint that is also a startup taint": {func(p *v1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}
			p.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}
		}, []string{tmpl + "startupTaints[0]", tmpl + "taints[0]"}},
		"a taint without a key":     {taints(corev1.Taint{Effect: "NoSchedule"}), []string{"taints[0].key"}},
		"a taint with a long key":   {taints(corev1.Taint{Key: strings.Repeat("a", 64), Effect: "NoSchedule"}), []string{"taints[0].key", "63"}},
		"a taint value with slash":  {taints(corev1.Taint{Key: "a", Value: "b/c", Effect: "NoSchedule"}), []string{"taints[0].value"}},
		"a taint without an effect": {taints(corev1.Taint{Key: "a"}), []string{"taints[0].effect", "NoExecute"}},
		"an age of nothing":         {func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(0) }, []string{tmpl + "expireAfter", "Never"}},
		"an age of a second":        {change: func(p *v1.NodePool) { p.Spec.Template.Spec.ExpireAfter = v1.NewNillableDuration(time.Second) }},
		"no node class":             {func(p *v1.NodePool) { p.Spec.Template.Spec.NodeClassRef = nil }, []string{tmpl + "nodeClassRef", "group, kind and name"}},
	} {
		t.Run(name, func(t *testing.T) {
			errs, warnings := apitest.NodePool("p", tc.change).Validate(rules())
			if len(warnings) > 0 && len(tc.want) == 0 {
				t.Errorf("warnings %q", warnings)
			}
			if len(tc.want) == 0 {
				if len(errs) > 0 {
					t.Errorf("errors %v, want none", errs)
				}
				return
			}
			if len(errs) != 1 {
				t.Fatalf("%d errors %v, want one", len(errs), errs)
			}
			for _, part := range tc.want {
				if !strings.Contains(errs[0].Error(), part) {
					t.Errorf("error %q lacks %q", errs[0], part)
				}
			}
		})
	}
}

func TestAnUnknownCapacityTypeBesideAKnownOneIsIgnoredWithAWarning(t *testing.T) {
	pool := apitest.NodePool("p", apitest.WithRequirements(apitest.Requirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot", "free")))
	errs, warnings := pool.Validate(rules())
	if len(errs) > 0 {
		t.Errorf("errors %v, want none", errs)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "free") || !strings.Contains(warnings[0], "requirements[0].values") {
		t.Errorf("warnings %q, want one about free", warnings)
	}
}

func TestNodeClaimsMayRequireTheirNodePool(t *testing.T) {
	claim := apitest.NodeClaim("c", func(c *v1.NodeClaim) {
		c.Spec.Requirements = append(c.Spec.Requirements, apitest.Requirement(v1.NodePoolLabelKey, corev1.NodeSelectorOpIn, "default"))
	})
	if errs, _ := claim.Validate(rules()); len(errs) > 0 {
		t.Errorf("errors %v, want none", errs)
	}
	claim.Spec.NodeClassRef = nil
	if errs, _ := claim.Validate(rules()); len(errs) != 1 {
		t.Errorf("errors %v, want one about the node class", errs)
	}
}

func TestLabelRulesOfACloudLeaveTheCoreAlone(t *testing.T) {
	core := v1.CoreLabelRules()
	cloud := core.With([]string{"cloud.example/size"}, []string{"cloud.example"}, map[string]string{"disk.example/zone": corev1.LabelTopologyZone})
	if core.IsWellKnown("cloud.example/size") || core.Restricted("cloud.example/x") != "" || core.Normalize("disk.example/zone") != "disk.example/zone" {
		t.Error("adding a cloud's rules changed the core's")
	}
	if !cloud.IsWellKnown("cloud.example/size") || !cloud.IsWellKnown(corev1.LabelOSStable) || cloud.Restricted("cloud.example/x") == "" {
		t.Error("the cloud's rules lack some of its own or of the core's")
	}
	for alias, want := range map[string]string{
		"disk.example/zone":                      corev1.LabelTopologyZone,
		"failure-domain.beta.kubernetes.io/zone": corev1.LabelTopologyZone,
		"beta.kubernetes.io/instance-type":       corev1.LabelInstanceTypeStable,
		"beta.kubernetes.io/os":                  corev1.LabelOSStable,
		"team":                                   "team",
	} {
		if got := cloud.Normalize(alias); got != want {
			t.Errorf("%s means %s, want %s", alias, got, want)
		}
	}
}
