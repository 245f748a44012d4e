package simulate

import (
	"slices"
	"strings"
	"testing"
)

// Types that no NodePool allows are left out of the account, and none that one allows: a requirement that an EC2NodeClass or an offering
// decides on rules nothing out.
func TestTypesThatNoPoolAllowsAreLeftOut(t *testing.T) {
	pool := func(requirements string) Manifest {
		return Manifest{JSON: `{"kind":"NodePool","spec":{"template":{"spec":{"requirements":[` + requirements + `]}}}}`}
	}
	const (
		compute = `{"key":"karpenter.k8s.aws/instance-category","operator":"In","values":["c"]}`
		small   = `{"key":"karpenter.k8s.aws/instance-cpu","operator":"Lt","values":["5"]}`
		others  = `{"key":"topology.kubernetes.io/zone","operator":"In","values":["us-east-1a"]},{"key":"kubernetes.io/os","operator":"In","values":["windows"]},{"key":"team","operator":"In","values":["web"]}`
		large   = `{"key":"node.kubernetes.io/instance-type","operator":"In","values":["m6i.large"]}`
		gpus    = `{"key":"karpenter.k8s.aws/instance-gpu-count","operator":"Exists"}`
	)
	exist := []string{"c6i.large", "c6i.2xlarge", "c6g.large", "m6i.large", "g5.xlarge"}
	for name, tt := range map[string]struct {
		pools []Manifest
		want  string
	}{
		"no requirement":            {[]Manifest{pool("")}, "c6g.large c6i.2xlarge c6i.large g5.xlarge m6i.large"},
		"what the type decides":     {[]Manifest{pool(compute + "," + small)}, "c6g.large c6i.large"},
		"what something else does":  {[]Manifest{pool(others)}, "c6g.large c6i.2xlarge c6i.large g5.xlarge m6i.large"},
		"two pools":                 {[]Manifest{pool(compute + "," + small), pool(large)}, "c6g.large c6i.large m6i.large"},
		"a label that few have":     {[]Manifest{pool(gpus)}, "g5.xlarge"},
		"none: the API says so":     {[]Manifest{pool(compute + "," + large)}, strings.Join(exist, " ")},
		"no NodePool":               {[]Manifest{{JSON: `{"kind":"EC2NodeClass"}`}}, strings.Join(exist, " ")},
		"what can't be a condition": {[]Manifest{pool(`{"key":"team","operator":"Near","values":["web"]}`)}, strings.Join(exist, " ")},
	} {
		s := &Spec{Region: "us-east-1", Types: exist, Manifests: tt.pools}
		got, err := s.launchable()
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, tt.want)
		}
	}
	all, err := (&Spec{Region: "us-east-1", Manifests: []Manifest{pool(compute)}}).launchable()
	if err != nil || len(all) < 50 || !slices.Contains(all, "c7g.large") || slices.Contains(all, "m6i.large") {
		t.Errorf("%d of all types of the region are allowed: %v", len(all), err)
	}
}
