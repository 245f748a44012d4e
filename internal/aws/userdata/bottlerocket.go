package userdata

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/pelletier/go-toml/v2"
)

// bottlerocket writes the settings that the node needs over those of the user's document; everything else of it stays.
// Source: bottlerocket.dev settings reference, settings.kubernetes and settings.bootstrap-commands.
func bottlerocket(in Input) (string, error) {
	doc := map[string]any{}
	if err := toml.Unmarshal([]byte(in.UserData), &doc); err != nil {
		return "", fmt.Errorf("spec.userData must be TOML for the family Bottlerocket: %w", err)
	}
	settings, err := table(doc, "settings", "settings")
	if err != nil {
		return "", err
	}
	k, err := table(settings, "kubernetes", "settings.kubernetes")
	if err != nil {
		return "", err
	}
	if err := bottlerocketKubernetes(in, k); err != nil {
		return "", err
	}
	if raid0(in) {
		commands, err := table(settings, "bootstrap-commands", "settings.bootstrap-commands")
		if err != nil {
			return "", err
		}
		commands["000-mount-instance-storage"] = map[string]any{
			"commands":  [][]string{{"apiclient", "ephemeral-storage", "init"}, bindCommand(in.ImageName)},
			"essential": true,
			"mode":      "always",
		}
	}
	out, err := toml.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("spec.userData can't be written back as TOML: %w", err)
	}
	return string(out), nil
}

// bindCommand moves onto the array what pods write. From release 1.46.0 on the image knows itself what that is; older
// ones, and images that do not say their release, have to be told.
func bindCommand(image string) []string {
	bind := []string{"apiclient", "ephemeral-storage", "bind"}
	if m := bottlerocketRelease.FindStringSubmatch(image); m != nil {
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major > 1 || major == 1 && minor >= 46 {
			return bind
		}
	}
	return append(bind, "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
}

// bottlerocketRelease finds the release in the name of a published image:
// bottlerocket-aws-k8s-1.35-x86_64-v1.50.0-1a2b3c4d.
var bottlerocketRelease = regexp.MustCompile(`^bottlerocket-aws-k8s-.+-v([0-9]{1,4})\.([0-9]{1,4})\.[0-9]+-`)

// table returns the table under a key, made when it is not there.
func table(parent map[string]any, key, path string) (map[string]any, error) {
	switch v := parent[key].(type) {
	case nil:
		t := map[string]any{}
		parent[key] = t
		return t, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("spec.userData: %s must be a table", path)
}

func bottlerocketKubernetes(in Input, k map[string]any) error {
	k["cluster-name"] = in.Cluster.Name
	k["api-server"] = in.Cluster.Endpoint
	if in.Cluster.CABundle != "" {
		k["cluster-certificate"] = in.Cluster.CABundle
	}
	if ip := dnsIP(in); ip != "" {
		k["cluster-dns-ip"] = ip
	}
	if in.MaxPods > 0 {
		k["max-pods"] = in.MaxPods
	}
	labels, err := table(k, "node-labels", "settings.kubernetes.node-labels")
	if err != nil {
		return err
	}
	for key, v := range in.Labels {
		labels[key] = v
	}
	taints := map[string][]string{}
	for _, t := range in.Taints {
		taints[t.Key] = append(taints[t.Key], t.Value+":"+string(t.Effect))
	}
	k["node-taints"] = taints
	bottlerocketReservations(in, k)
	return nil
}

func bottlerocketReservations(in Input, k map[string]any) {
	c := in.Kubelet
	if c == nil {
		return
	}
	putMap(k, "kube-reserved", c.KubeReserved)
	putMap(k, "system-reserved", c.SystemReserved)
	putMap(k, "eviction-hard", maps.Clone(c.EvictionHard))
	putMap(k, "eviction-soft", c.EvictionSoft)
	putMap(k, "eviction-soft-grace-period", c.EvictionSoftGracePeriod)
	putInt(k, "eviction-max-pod-grace-period", c.EvictionMaxPodGracePeriod)
	putInt(k, "image-gc-high-threshold-percent", c.ImageGCHighThresholdPercent)
	putInt(k, "image-gc-low-threshold-percent", c.ImageGCLowThresholdPercent)
	if c.CPUCFSQuota != nil {
		k["cpu-cfs-quota-enforced"] = *c.CPUCFSQuota
	}
}
