package userdata

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// checkNodeConfigs finds documents of the user's that nodeadm would refuse: no node of the class would ever join. It looks
// at the shape only, since nodeadm knows more fields with each release.
func checkNodeConfigs(parts []part) error {
	for i, p := range parts {
		if !strings.HasPrefix(p.header.Get("Content-Type"), typeNodeConfig) {
			continue
		}
		var doc struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Spec       struct {
				Cluster  map[string]any `json:"cluster"`
				Instance map[string]any `json:"instance"`
				Kubelet  struct {
					Config map[string]any `json:"config"`
					Flags  []string       `json:"flags"`
				} `json:"kubelet"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(p.text()), &doc); err != nil {
			return fmt.Errorf("spec.userData: part %d is a NodeConfig that nodeadm can't read, so that no node would join: %w", i+1, err)
		}
		if !strings.HasPrefix(doc.APIVersion, "node.eks.aws/") || doc.Kind != "NodeConfig" {
			return fmt.Errorf("spec.userData: part %d is of type %s, but its apiVersion is %q and its kind %q: nodeadm takes node.eks.aws/v1alpha1 and NodeConfig", i+1, typeNodeConfig, doc.APIVersion, doc.Kind)
		}
	}
	return nil
}
