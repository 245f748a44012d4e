package manifests

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestRefusedAreTheValuesThatHelmRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "[]",
		"settings: {kerf: {}}":           "[]",
		"webhook: {enabled: no}":         "[]",
		"enabled: false\nglobal: {a: b}": "[]",
		"webhooks: null":                 "[webhooks]",
		"replicas: null":                 "[]",
		"controller: {env: {}}":          "[]",
		`replicas: "2"`:                  "[]",
		`replicas: two`:                  "[replicas]",
		`hostNetwork: "true"`:            "[hostNetwork=true]",
		"a.b: 1":                         `[a\.b]`,
		"tolerations: {key: any}":        "[tolerations]",
		"serviceAccount: {enabled: true}\nsettings: {featureGates: {nodeReadiness: true, drift: true}, vmMemoryOverheadPercent: '0.1'}": "[serviceAccount.enabled]",
	} {
		over := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &over); err != nil {
			t.Fatal(err)
		}
		refused, err := Refused(over)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, r := range refused {
			if r.Why == "" {
				t.Errorf("%s: no reason for %s", text, r.Path)
			}
			if r.Correct != "" {
				r.Path += "=" + r.Correct
			}
			got = append(got, r.Path)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", text, refused, want)
		}
	}
}
