package boot

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pelletier/go-toml/v2"
)

// bottlerocketKeys are the settings that the image knows below settings.kubernetes; it refuses the whole document for
// any other.
var bottlerocketKeys = strings.Fields(`allowed-unsafe-sysctls api-server authentication-mode bootstrap-token cloud-provider
	cluster-certificate cluster-dns-ip cluster-domain cluster-name container-log-max-files container-log-max-size
	cpu-cfs-quota-enforced cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period credential-providers
	device-ownership-from-security-context event-burst event-qps eviction-hard eviction-max-pod-grace-period eviction-soft
	eviction-soft-grace-period hostname-override hostname-override-source ids-per-pod image-gc-high-threshold-percent
	image-gc-low-threshold-percent kube-api-burst kube-api-qps kube-reserved log-level max-pods memory-manager-policy
	memory-manager-reserved-memory node-ip node-labels node-taints pod-infra-container-image pod-pids-limit provider-id
	registry-burst registry-qps reserved-cpus seccomp-default server-certificate server-key server-tls-bootstrap
	shutdown-grace-period shutdown-grace-period-for-critical-pods single-process-oom-kill standalone-mode static-pods
	system-reserved topology-manager-policy topology-manager-scope verbosity`)

// readBottlerocket reads user data as Bottlerocket does: one TOML document of settings.
func readBottlerocket(userData []byte, release string) (*Kubelet, error) {
	userData, err := unpack(userData)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := toml.Unmarshal(userData, &doc); err != nil {
		return nil, fmt.Errorf("the user data is not TOML: %w", err)
	}
	for key := range doc {
		if key != "settings" {
			return nil, fmt.Errorf("the user data has the table %q; only settings is known", key)
		}
	}
	settings, _ := doc["settings"].(map[string]any)
	kube, ok := settings["kubernetes"].(map[string]any)
	if !ok {
		return nil, errors.New("the user data has no settings.kubernetes, so no kubelet is configured")
	}
	for _, key := range slices.Sorted(maps.Keys(kube)) {
		if !slices.Contains(bottlerocketKeys, key) {
			return nil, fmt.Errorf("unknown setting settings.kubernetes.%s; all settings are refused for it", key)
		}
	}
	t := &tomlReader{table: kube, path: "settings.kubernetes"}
	k := newKubelet()
	k.ClusterName, k.Endpoint, k.CA = t.text("cluster-name"), t.text("api-server"), t.text("cluster-certificate")
	k.ClusterDNS = t.list("cluster-dns-ip")
	k.MaxPods = t.whole("max-pods")
	k.Labels = t.texts("node-labels")
	k.KubeReserved, k.SystemReserved = t.reserved("kube-reserved"), t.reserved("system-reserved")
	k.EvictionHard, k.EvictionSoft = t.thresholds("eviction-hard"), t.thresholds("eviction-soft")
	k.EvictionGrace = t.texts("eviction-soft-grace-period")
	k.EvictionMaxPodGrace = t.whole("eviction-max-pod-grace-period")
	k.ImageGCHigh, k.ImageGCLow = t.given("image-gc-high-threshold-percent"), t.given("image-gc-low-threshold-percent")
	k.CPUCFSQuota = t.yesNo("cpu-cfs-quota-enforced")
	taints := &tomlReader{table: t.sub("node-taints"), path: t.path + ".node-taints"}
	for _, key := range slices.Sorted(maps.Keys(taints.table)) {
		for _, text := range taints.list(key) {
			value, effect, ok := strings.Cut(text, ":")
			if !ok {
				t.fail("node-taints."+key, "value:Effect", text)
			}
			k.Taints = append(k.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	if err := errors.Join(t.err, taints.err); err != nil {
		return nil, err
	}
	if err := k.bootstrapCommands(settings, release); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"cluster-name": k.ClusterName, "api-server": k.Endpoint, "cluster-certificate": k.CA} {
		if value == "" {
			return nil, fmt.Errorf("settings.kubernetes.%s is missing", name)
		}
	}
	return k, nil
}

// tomlReader takes typed values out of a table and remembers the first that has the wrong type.
type tomlReader struct {
	table map[string]any
	path  string
	err   error
}

func (t *tomlReader) fail(key, want string, got any) {
	if t.err == nil {
		t.err = fmt.Errorf("%s.%s must be %s, got %v", t.path, key, want, got)
	}
}

func (t *tomlReader) text(key string) string {
	switch v := t.table[key].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		t.fail(key, "a string", v)
		return ""
	}
}

func (t *tomlReader) whole(key string) int {
	switch v := t.table[key].(type) {
	case nil:
		return 0
	case int64:
		if v >= 0 && v <= 1<<31 {
			return int(v)
		}
	}
	t.fail(key, "a whole number", t.table[key])
	return 0
}

// given is nil for a number that is not there.
func (t *tomlReader) given(key string) *int {
	if t.table[key] == nil {
		return nil
	}
	return new(t.whole(key))
}

// yesNo is nil for a setting that is not there.
func (t *tomlReader) yesNo(key string) *bool {
	switch v := t.table[key].(type) {
	case nil:
		return nil
	case bool:
		return &v
	default:
		t.fail(key, "true or false", v)
		return nil
	}
}

func (t *tomlReader) list(key string) []string {
	switch v := t.table[key].(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				t.fail(key, "a list of strings", v)
				return nil
			}
			out = append(out, s)
		}
		return out
	default:
		t.fail(key, "a string or a list of strings", v)
		return nil
	}
}

func (t *tomlReader) sub(key string) map[string]any {
	switch v := t.table[key].(type) {
	case nil:
		return nil
	case map[string]any:
		return v
	default:
		t.fail(key, "a table", v)
		return nil
	}
}

func (t *tomlReader) texts(key string) map[string]string {
	out := map[string]string{}
	for k, v := range t.sub(key) {
		s, ok := v.(string)
		if !ok {
			t.fail(key+"."+k, "a string", v)
		}
		out[k] = s
	}
	return out
}

// reserved are amounts of those resources that can be reserved.
// Source: bottlerocket-os/bottlerocket-settings-sdk, KubernetesReservedResourceKey.
func (t *tomlReader) reserved(key string) map[string]string {
	out := t.texts(key)
	for name, text := range out {
		if name != "cpu" && name != "memory" && name != "ephemeral-storage" {
			t.fail(key+"."+name, "one of cpu, memory and ephemeral-storage", text)
		}
	}
	return out
}

// thresholds are amounts, or percentages from 0 to below 100.
// Source: bottlerocket-os/bottlerocket-settings-sdk, KubernetesThresholdValue.
func (t *tomlReader) thresholds(key string) map[string]string {
	out := t.texts(key)
	for signal, text := range out {
		share, ok := strings.CutSuffix(text, "%")
		if p, err := strconv.ParseFloat(share, 32); ok && (err != nil || !(p >= 0 && p < 100)) {
			t.fail(key+"."+signal, "a percentage from 0 to below 100", text)
		}
	}
	return out
}
