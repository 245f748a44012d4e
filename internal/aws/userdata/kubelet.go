package userdata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// kubeletConfig is the kubelet's configuration as its own API words it, for documents that carry it as a map.
func kubeletConfig(in Input) map[string]any {
	c := map[string]any{}
	if ip := dnsIP(in); ip != "" {
		c["clusterDNS"] = []string{ip}
	}
	if in.MaxPods > 0 {
		c["maxPods"] = in.MaxPods
	}
	if len(in.Taints) > 0 {
		taints := make([]map[string]any, len(in.Taints))
		for i, t := range in.Taints {
			taints[i] = map[string]any{"key": t.Key, "effect": string(t.Effect)}
			if t.Value != "" {
				taints[i]["value"] = t.Value
			}
		}
		c["registerWithTaints"] = taints
	}
	k := in.Kubelet
	if k == nil {
		return c
	}
	putInt(c, "podsPerCore", k.PodsPerCore)
	putMap(c, "systemReserved", k.SystemReserved)
	putMap(c, "kubeReserved", k.KubeReserved)
	putMap(c, "evictionHard", k.EvictionHard)
	putMap(c, "evictionSoft", k.EvictionSoft)
	putMap(c, "evictionSoftGracePeriod", k.EvictionSoftGracePeriod)
	putInt(c, "evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod)
	putInt(c, "imageGCHighThresholdPercent", k.ImageGCHighThresholdPercent)
	putInt(c, "imageGCLowThresholdPercent", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		c["cpuCFSQuota"] = *k.CPUCFSQuota
	}
	for name, value := range k.Others {
		if _, listed := c[name]; !listed { // a listed one of another type is refused before
			c[name] = value
		}
	}
	return c
}

func putInt(c map[string]any, key string, v *int32) {
	if v != nil {
		c[key] = *v
	}
}

func putMap(c map[string]any, key string, m map[string]string) {
	if len(m) > 0 {
		c[key] = m
	}
}

// kubeletFlags are the same settings as command line flags, for images whose bootstrap takes those.
func kubeletFlags(in Input) string {
	var out []string
	add := func(flag, value string) { out = append(out, "--"+flag+"="+value) }
	if len(in.Labels) > 0 {
		add("node-labels", quoted(joinLabels(in.Labels)))
	}
	if len(in.Taints) > 0 {
		add("register-with-taints", quoted(joinTaints(in.Taints)))
	}
	if in.MaxPods > 0 {
		add("max-pods", itoa(in.MaxPods))
	}
	if in.Kubelet != nil {
		reservationFlags(in.Kubelet, add)
	}
	return strings.Join(out, " ")
}

func reservationFlags(k *awsv1.KubeletConfiguration, add func(flag, value string)) {
	ints := []struct {
		flag string
		v    *int32
	}{
		{"pods-per-core", k.PodsPerCore},
		{"eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod},
		{"image-gc-high-threshold", k.ImageGCHighThresholdPercent},
		{"image-gc-low-threshold", k.ImageGCLowThresholdPercent},
	}
	for _, i := range ints {
		if i.v != nil {
			add(i.flag, itoa(*i.v))
		}
	}
	lists := []struct {
		flag, sep string
		m         map[string]string
	}{
		{"system-reserved", "=", k.SystemReserved},
		{"kube-reserved", "=", k.KubeReserved},
		{"eviction-hard", "<", k.EvictionHard},
		{"eviction-soft", "<", k.EvictionSoft},
		{"eviction-soft-grace-period", "=", k.EvictionSoftGracePeriod},
	}
	for _, l := range lists {
		if len(l.m) > 0 {
			add(l.flag, quoted(joinPairs(l.m, l.sep)))
		}
	}
	if k.CPUCFSQuota != nil {
		add("cpu-cfs-quota", strconv.FormatBool(*k.CPUCFSQuota))
	}
}

func joinPairs(m map[string]string, sep string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+sep+m[k])
	}
	return strings.Join(parts, ",")
}

func itoa(i int32) string { return strconv.Itoa(int(i)) }

// quoted puts a value in double quotes; what a shell would act on inside them, and single quotes, which end the argument
// around all flags, can be in no valid label, taint or quantity and is dropped.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"'`$\\\n\r", r) {
			return -1
		}
		return r
	}, s) + `"`
}
