package kubeletfields

import (
	"encoding/json"
	"strings"
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		alias, family, kubelet string
		reason, says           string
	}{
		"listed fields":                {kubelet: `{"maxPods": 20, "kubeReserved": {"cpu": "1"}, "evictionHard": {"memory.available": "5%"}}`},
		"further ones":                 {kubelet: `{"registryPullQPS": 10, "singleProcessOOMKill": true, "shutdownGracePeriod": "30s", "featureGates": {"x": true}, "allowedUnsafeSysctls": ["net.*"]}`},
		"of the user's own image":      {family: "Custom", kubelet: `{"registryPullQPS": 10}`},
		"of a family that has no way":  {alias: "bottlerocket@latest", kubelet: `{"registryPullQPS": 10, "podPidsLimit": 5}`, reason: Unsupported, says: "Bottlerocket have no way to get podPidsLimit, registryPullQPS"},
		"what Bottlerocket reserves":   {alias: "bottlerocket@latest", kubelet: `{"kubeReserved": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}, "evictionHard": {"memory.available": "0%", "nodefs.available": "99.5%"}}`},
		"what it does not":             {alias: "bottlerocket@latest", kubelet: `{"kubeReserved": {"cpu": "1", "pid": "500"}}`, reason: Unsupported, says: "spec.kubelet.kubeReserved[pid]: Bottlerocket reserves cpu, memory and ephemeral-storage only"},
		"nor for the system":           {alias: "bottlerocket@latest", kubelet: `{"systemReserved": {"pid": "500"}}`, reason: Unsupported, says: "spec.kubelet.systemReserved[pid]"},
		"a threshold of all":           {alias: "bottlerocket@latest", kubelet: `{"evictionHard": {"memory.available": "100%"}}`, reason: Unsupported, says: "spec.kubelet.evictionHard[memory.available]: Bottlerocket takes percentages below 100%"},
		"a soft one":                   {alias: "bottlerocket@latest", kubelet: `{"evictionSoft": {"nodefs.available": "100.0%"}}`, reason: Unsupported, says: "spec.kubelet.evictionSoft[nodefs.available]"},
		"AL2023 has both":              {kubelet: `{"kubeReserved": {"pid": "500"}, "evictionHard": {"memory.available": "100%"}}`},
		"misspelt":                     {kubelet: `{"registryPullQps": 10}`, reason: "SpecInvalid", says: "spec.kubelet.registryPullQps: the kubelet's configuration"},
		"of another kind":              {kubelet: `{"registryPullQPS": "10"}`, reason: "SpecInvalid", says: `registryPullQPS: "10": want a value of the kind integer`},
		"no duration":                  {kubelet: `{"shutdownGracePeriod": "soon"}`, reason: "SpecInvalid", says: "want a duration"},
		"a listed one of another kind": {kubelet: `{"podsPerCore": "2"}`, reason: "SpecInvalid", says: "podsPerCore"},
		"taints":                       {kubelet: `{"registerWithTaints": []}`, reason: "SpecInvalid", says: "those of their NodePool"},
		"an expression":                {kubelet: `{"maxPods": "min(110, vcpus * 20)"}`, reason: ExpressionsDisabled, says: `maxPods "min(110, vcpus * 20)"`},
		"expressions of amounts":       {kubelet: `{"kubeReserved": {"cpu": "max(60, vcpus * 30)"}, "systemReserved": {"memory": "max_pods * 11"}}`, reason: ExpressionsDisabled, says: `kubeReserved[cpu] "max(60, vcpus * 30)", systemReserved[memory] "max_pods * 11"`},
		"an amount that is none":       {kubelet: `{"kubeReserved": {"cpu": "some"}}`}, // EC2NodeClass.Validate says so
	} {
		t.Run(name, func(t *testing.T) {
			class := &awsv1.EC2NodeClass{}
			class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
			if tc.alias != "" {
				class.Spec.AMISelectorTerms[0].Alias = tc.alias
			}
			if tc.family != "" {
				class.Spec.AMIFamily, class.Spec.AMISelectorTerms = new(awsv1.AMIFamily(tc.family)), []awsv1.AMISelectorTerm{{ID: "ami-1"}}
			}
			if err := json.Unmarshal([]byte(tc.kubelet), &class.Spec.Kubelet); err != nil {
				t.Fatal(err)
			}
			got := Check(class)
			if tc.reason == "" {
				if got != nil {
					t.Errorf("refused: %+v", got)
				}
				return
			}
			if got == nil || got.Reason != tc.reason || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %+v, want %s: …%s…", got, tc.reason, tc.says)
			}
		})
	}
}
