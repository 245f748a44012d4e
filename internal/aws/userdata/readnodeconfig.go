package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// readNodeConfig reads nodeadm's document of the family AL2023.
func readNodeConfig(text string) (*Found, string) {
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, "the NodeConfig can't be read: " + err.Error()
	}
	f := &Found{Family: awsv1.AMIFamilyAL2023}
	spec, _ := doc["spec"].(map[string]any)
	if cluster, ok := spec["cluster"].(map[string]any); ok {
		f.ClusterName, _ = cluster["name"].(string)
		f.generated("spec.cluster", "the controller knows the cluster it works for")
		delete(spec, "cluster")
	}
	if kubelet, ok := spec["kubelet"].(map[string]any); ok {
		if err := f.nodeConfigKubelet(kubelet); err != nil {
			return nil, "the NodeConfig can't be read: " + err.Error()
		}
		dropEmpty(spec, "kubelet")
	}
	if instance, ok := spec["instance"].(map[string]any); ok {
		if storage, ok := instance["localStorage"].(map[string]any); ok && storage["strategy"] == "RAID0" {
			f.InstanceStore = new(awsv1.InstanceStorePolicyRAID0)
			f.moved("spec.instance.localStorage.strategy", "spec.instanceStorePolicy")
			delete(storage, "strategy")
			dropEmpty(instance, "localStorage")
			dropEmpty(spec, "instance")
		}
	}
	if len(spec) == 0 {
		return f, ""
	}
	rest, err := yaml.Marshal(doc)
	if err != nil {
		return nil, "the NodeConfig can't be written back: " + err.Error()
	}
	f.Rest = string(rest)
	return f, ""
}

func dropEmpty(parent map[string]any, key string) {
	if m, ok := parent[key].(map[string]any); ok && len(m) == 0 {
		delete(parent, key)
	}
}

// nodeConfigKubelet takes away what has a field of its own; the rest, nodeadm merges with what is written for the family.
func (f *Found) nodeConfigKubelet(kubelet map[string]any) error {
	if config, ok := kubelet["config"].(map[string]any); ok {
		if err := f.kubeletConfigFields(config); err != nil {
			return err
		}
		dropEmpty(kubelet, "config")
	}
	flags, _ := kubelet["flags"].([]any)
	var rest []any
	for _, v := range flags {
		text, _ := v.(string)
		name, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		before := len(f.Settings)
		if err := f.kubeletFlag(name, unquote(value)); err != nil {
			return err
		}
		// nodeadm takes flags from all its documents, so one without a field stays where it is.
		if len(f.Settings) > before && f.Settings[before].Fate == Dropped {
			f.Settings = f.Settings[:before]
			rest = append(rest, v)
		}
	}
	if delete(kubelet, "flags"); len(rest) > 0 {
		kubelet["flags"] = rest
	}
	return nil
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// kubeletConfigFields takes those fields out of a configuration of the kubelet that the API has as well.
func (f *Found) kubeletConfigFields(config map[string]any) error {
	const at = "spec.kubelet.config."
	known := map[string]any{}
	for _, key := range []string{
		"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft",
		"evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota",
	} {
		if v, ok := config[key]; ok {
			known[key] = texts(v)
			delete(config, key)
			f.moved(at+key, "spec.kubelet."+key)
		}
	}
	raw, err := yaml.Marshal(known)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(raw, &f.Kubelet); err != nil {
		return err
	}
	taints, ok := config["registerWithTaints"]
	if !ok {
		return nil
	}
	delete(config, "registerWithTaints")
	if raw, err = yaml.Marshal(taints); err != nil {
		return err
	}
	var list []corev1.Taint
	if err := yaml.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%sregisterWithTaints: %w", at, err)
	}
	for _, t := range list {
		f.taint(at+"registerWithTaints", t)
	}
	return nil
}

// texts makes texts of the numbers in a map, as quantities may be written as numbers.
func texts(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(m)
	for _, k := range slices.Sorted(maps.Keys(out)) {
		if _, isText := out[k].(string); !isText {
			out[k] = fmt.Sprint(out[k])
		}
	}
	return out
}
