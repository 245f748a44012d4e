package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	nodeConfigMedia   = "application/node.eks.aws"
	nodeConfigVersion = "node.eks.aws/v1alpha1"
)

// nodeConfig is the document that nodeadm reads, as far as it bears on the node object.
type nodeConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster struct {
			Name                 string `json:"name"`
			APIServerEndpoint    string `json:"apiServerEndpoint"`
			CertificateAuthority string `json:"certificateAuthority"`
			CIDR                 string `json:"cidr"`
			EnableOutpost        *bool  `json:"enableOutpost"`
			ID                   string `json:"id"`
		} `json:"cluster"`
		Instance struct {
			LocalStorage struct {
				Strategy string `json:"strategy"`
			} `json:"localStorage"`
		} `json:"instance"`
		Kubelet struct {
			Config map[string]json.RawMessage `json:"config"`
			Flags  []string                   `json:"flags"`
		} `json:"kubelet"`
	} `json:"spec"`
}

// readAL2023 reads user data as nodeadm of Amazon Linux 2023 does: all NodeConfig documents are merged in order, later
// values winning; scripts are for cloud-init and do not concern it.
func readAL2023(userData []byte) (*Kubelet, error) {
	parts, err := readParts(userData)
	if err != nil {
		return nil, err
	}
	k := newKubelet()
	var merged *nodeConfig
	for i, p := range parts {
		if p.mediaType != nodeConfigMedia && p.mediaType != "" {
			k.notef("part %d (%s) is ignored by nodeadm", i+1, p.mediaType)
			continue
		}
		doc, err := parseNodeConfig(p.body)
		if err != nil {
			return nil, fmt.Errorf("nodeadm: part %d: %w", i+1, err)
		}
		if merged == nil {
			merged = doc
		} else if err := merged.merge(doc); err != nil {
			return nil, fmt.Errorf("nodeadm: part %d: %w", i+1, err)
		}
	}
	if merged == nil {
		return nil, errors.New("nodeadm: there is no NodeConfig in the user data")
	}
	return k, k.nodeadm(merged)
}

func parseNodeConfig(body string) (*nodeConfig, error) {
	var doc nodeConfig
	if err := yaml.Unmarshal([]byte(body), &doc); err != nil {
		return nil, fmt.Errorf("the NodeConfig is not readable YAML: %w", err)
	}
	if doc.APIVersion != nodeConfigVersion || doc.Kind != "NodeConfig" {
		return nil, fmt.Errorf("expected %s NodeConfig, got %q %q", nodeConfigVersion, doc.APIVersion, doc.Kind)
	}
	return &doc, nil
}

// merge lays a later document over an earlier one. Flags add up; maps of the kubelet's configuration merge by key.
func (c *nodeConfig) merge(later *nodeConfig) error {
	to, from := &c.Spec.Cluster, &later.Spec.Cluster
	overlay(&to.Name, from.Name)
	overlay(&to.APIServerEndpoint, from.APIServerEndpoint)
	overlay(&to.CertificateAuthority, from.CertificateAuthority)
	overlay(&to.CIDR, from.CIDR)
	overlay(&to.ID, from.ID)
	if from.EnableOutpost != nil {
		to.EnableOutpost = from.EnableOutpost
	}
	overlay(&c.Spec.Instance.LocalStorage.Strategy, later.Spec.Instance.LocalStorage.Strategy)
	c.Spec.Kubelet.Flags = append(c.Spec.Kubelet.Flags, later.Spec.Kubelet.Flags...)
	if c.Spec.Kubelet.Config == nil {
		c.Spec.Kubelet.Config = map[string]json.RawMessage{}
	}
	for key, value := range later.Spec.Kubelet.Config {
		old, both := c.Spec.Kubelet.Config[key]
		if both {
			var err error
			if value, err = mergeJSON(old, value); err != nil {
				return fmt.Errorf("kubelet.config.%s: %w", key, err)
			}
		}
		c.Spec.Kubelet.Config[key] = value
	}
	return nil
}

func overlay(to *string, from string) {
	if from != "" {
		*to = from
	}
}

// mergeJSON merges two objects key by key; anything else is replaced.
func mergeJSON(old, later json.RawMessage) (json.RawMessage, error) {
	a, b := jsonObject(old), jsonObject(later)
	if a == nil || b == nil {
		return later, nil
	}
	maps.Copy(a, b)
	return json.Marshal(a)
}

// jsonObject is nil for anything that is not an object.
func jsonObject(text json.RawMessage) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(text, &o) != nil {
		return nil
	}
	return o
}

// nodeadm checks the merged document and makes the kubelet's settings of it.
func (k *Kubelet) nodeadm(c *nodeConfig) error {
	cluster := c.Spec.Cluster
	for _, f := range []struct{ name, value string }{
		{"name", cluster.Name}, {"apiServerEndpoint", cluster.APIServerEndpoint},
		{"certificateAuthority", cluster.CertificateAuthority}, {"cidr", cluster.CIDR},
	} {
		if f.value == "" {
			return fmt.Errorf("nodeadm: spec.cluster.%s is missing", f.name)
		}
	}
	k.ClusterName, k.Endpoint, k.CA, k.ServiceCIDR = cluster.Name, cluster.APIServerEndpoint, cluster.CertificateAuthority, cluster.CIDR
	switch s := c.Spec.Instance.LocalStorage.Strategy; s {
	case "", "Mount":
	case "RAID0", "RAID10":
		k.RAID0 = true
	default:
		return fmt.Errorf("nodeadm: spec.instance.localStorage.strategy is %q; RAID0, RAID10 and Mount exist", s)
	}
	if err := k.kubeletConfig(c.Spec.Kubelet.Config); err != nil {
		return err
	}
	return k.applyFlags(splitFlags(c.Spec.Kubelet.Flags))
}

// splitFlags makes words of the flags, which nodeadm writes into the kubelet's environment one behind the other.
func splitFlags(flags []string) []string {
	var out []string
	for _, command := range shellCommands(strings.ReplaceAll(strings.Join(flags, " "), "\n", " ")) {
		out = append(out, command...)
	}
	return out
}

// kubeletConfig reads the fields of a KubeletConfiguration that bear on the node object.
func (k *Kubelet) kubeletConfig(config map[string]json.RawMessage) error {
	for key, into := range map[string]any{
		"maxPods": &k.MaxPods, "podsPerCore": &k.PodsPerCore, "clusterDNS": &k.ClusterDNS,
		"kubeReserved": &k.KubeReserved, "systemReserved": &k.SystemReserved, "evictionHard": &k.EvictionHard,
		"evictionSoft": &k.EvictionSoft, "evictionSoftGracePeriod": &k.EvictionGrace, "evictionMaxPodGracePeriod": &k.EvictionMaxPodGrace,
		"imageGCHighThresholdPercent": &k.ImageGCHigh, "imageGCLowThresholdPercent": &k.ImageGCLow, "cpuCFSQuota": &k.CPUCFSQuota,
	} {
		if raw, ok := config[key]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("the kubelet does not start: %s in its configuration: %w", key, err)
			}
		}
	}
	raw, ok := config["registerWithTaints"]
	if !ok {
		return nil
	}
	var taints []corev1.Taint
	if err := json.Unmarshal(raw, &taints); err != nil {
		return fmt.Errorf("the kubelet does not start: registerWithTaints in its configuration: %w", err)
	}
	k.Taints = taints
	return nil
}
