package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// readBottlerocket reads the TOML of the family Bottlerocket.
func readBottlerocket(text string) (*Found, string) {
	doc := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, "it is neither a script, nor a NodeConfig, nor TOML"
	}
	settings, ok := doc["settings"].(map[string]any)
	if !ok {
		return nil, "it is TOML without the table settings"
	}
	f := &Found{Family: awsv1.AMIFamilyBottlerocket}
	if k, ok := settings["kubernetes"].(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(k)) {
			taken, err := f.bottlerocketSetting(key, k[key])
			if err != nil {
				return nil, fmt.Sprintf("settings.kubernetes.%s: %v", key, err)
			}
			if taken {
				delete(k, key)
			}
		}
		dropEmpty(settings, "kubernetes")
	}
	dropEmpty(doc, "settings")
	if len(doc) == 0 {
		return f, ""
	}
	rest, err := toml.Marshal(doc)
	if err != nil {
		return nil, "the TOML can't be written back: " + err.Error()
	}
	f.Rest = string(rest)
	return f, ""
}

// bottlerocketFields are settings that have a field, with the flag of the kubelet that means the same.
var bottlerocketFields = map[string]string{
	"max-pods":                        "--max-pods",
	"eviction-max-pod-grace-period":   "--eviction-max-pod-grace-period",
	"image-gc-high-threshold-percent": "--image-gc-high-threshold",
	"image-gc-low-threshold-percent":  "--image-gc-low-threshold",
	"cpu-cfs-quota-enforced":          "--cpu-cfs-quota",
	"cluster-dns-ip":                  "--cluster-dns",
	"kube-reserved":                   "--kube-reserved",
	"system-reserved":                 "--system-reserved",
	"eviction-hard":                   "--eviction-hard",
	"eviction-soft":                   "--eviction-soft",
	"eviction-soft-grace-period":      "--eviction-soft-grace-period",
}

// bottlerocketSetting reads one setting below settings.kubernetes, and reports whether it need not stay.
func (f *Found) bottlerocketSetting(key string, v any) (taken bool, err error) {
	name := "settings.kubernetes." + key
	switch key {
	case "cluster-name":
		f.ClusterName, _ = v.(string)
		f.generated(name, "the controller knows the cluster it works for")
		return true, nil
	case "api-server", "cluster-certificate":
		f.generated(name, "the controller knows the cluster it works for")
		return true, nil
	case "node-labels":
		labels, ok := v.(map[string]any)
		if !ok {
			return false, fmt.Errorf("want a table")
		}
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			f.labels(name, k+"="+fmt.Sprint(labels[k]))
		}
		return true, nil
	case "node-taints":
		return true, f.bottlerocketTaints(name, v)
	}
	flag, ok := bottlerocketFields[key]
	if !ok {
		return false, nil
	}
	sep := "="
	if strings.HasPrefix(key, "eviction-") {
		sep = "<"
	}
	if key == "eviction-soft-grace-period" {
		sep = "="
	}
	before := len(f.Settings)
	err = f.kubeletFlag(flag, flagText(v, sep))
	for i := range f.Settings[before:] {
		s := &f.Settings[before+i]
		s.Name = name + strings.TrimPrefix(s.Name, flag)
	}
	return true, err
}

// flagText writes a value of TOML as a flag has it.
func flagText(v any, sep string) string {
	switch v := v.(type) {
	case map[string]any:
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, k+sep+fmt.Sprint(v[k]))
		}
		return strings.Join(pairs, ",")
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, fmt.Sprint(item))
		}
		return strings.Join(items, ",")
	}
	return fmt.Sprint(v)
}

// bottlerocketTaints reads taints by key: "value:effect", or several of them.
func (f *Found) bottlerocketTaints(name string, v any) error {
	byKey, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("want a table")
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		list, isList := byKey[key].([]any)
		if !isList {
			list = []any{byKey[key]}
		}
		for _, item := range list {
			value, effect, ok := cutLast(fmt.Sprint(item), ":")
			if !ok {
				return fmt.Errorf("the taint %s has no effect", key)
			}
			f.taint(name, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	return nil
}
