package convert

import (
	"slices"
	"testing"
)

// What the API server refuses or drops is reported, also of objects that are of v1 already.
func TestWhatV1RefusesIsReported(t *testing.T) {
	const class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n  role: r\n"
	const whole = "  subnetSelectorTerms: [{id: subnet-1}]\n  securityGroupSelectorTerms: [{id: sg-1}]\n"
	for name, c := range map[string]struct{ text, path string }{
		"a malformed image":        {class + whole + "  amiSelectorTerms: [{id: AMI_1}]\n", "spec.amiSelectorTerms[0].id"},
		"no images":                {class + whole, "spec.amiSelectorTerms"},
		"no subnets":               {class + "  amiSelectorTerms: [{alias: al2023@latest}]\n  securityGroupSelectorTerms: [{id: sg-1}]\n", "spec.subnetSelectorTerms"},
		"a pool's kubelet":         {"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {kubelet: {maxPods: 20}}}}\n", "spec.template.spec.kubelet"},
		"nothing, a class in form": {class + whole + "  amiSelectorTerms: [{id: ami-1}]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Convert([]File{{Name: "in", Data: []byte(c.text), Named: true}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, f := range r.Report.Objects[0].Fields {
				if f.Do != "" {
					paths = append(paths, f.Path)
				}
			}
			if c.path == "" && len(paths) > 0 || c.path != "" && !slices.Contains(paths, c.path) {
				t.Errorf("want %q to be reported, got %q", c.path, paths)
			}
		})
	}
}
