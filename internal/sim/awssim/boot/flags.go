package boot

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// kubeletFlags are the names of all flags a kubelet has; another one stops it from starting.
var kubeletFlags = func() map[string]bool {
	const names = `address allowed-unsafe-sysctls anonymous-auth authentication-token-webhook
		authentication-token-webhook-cache-ttl authorization-mode authorization-webhook-cache-authorized-ttl
		authorization-webhook-cache-unauthorized-ttl bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root
		cgroups-per-qos client-ca-file cloud-config cloud-provider cluster-dns cluster-domain config config-dir
		container-log-max-files container-log-max-size container-runtime-endpoint contention-profiling cpu-cfs-quota
		cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period
		enable-controller-attach-detach enable-debugging-handlers enable-server enforce-node-allocatable event-burst
		event-qps eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim
		eviction-pressure-transition-period eviction-soft eviction-soft-grace-period exit-on-lock-contention
		experimental-allocatable-ignore-eviction experimental-mounter-path fail-cgroupv1 fail-swap-on feature-gates
		file-check-frequency hairpin-mode healthz-bind-address healthz-port hostname-override http-check-frequency
		image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
		image-gc-low-threshold image-service-endpoint kernel-memcg-notification kube-api-burst kube-api-content-type
		kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups local-storage-capacity-isolation
		lock-file logging-format make-iptables-util-chains manifest-url manifest-url-header max-open-files max-pods
		maximum-dead-containers maximum-dead-containers-per-container memory-manager-policy
		minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels node-status-max-images
		node-status-update-frequency oom-score-adj pod-cidr pod-infra-container-image pod-manifest-path pod-max-pids
		pods-per-core port protect-kernel-defaults provider-id qos-reserved read-only-port register-node
		register-schedulable register-with-taints registry-burst registry-qps reserved-cpus reserved-memory
		resolv-conf root-dir rotate-certificates rotate-server-certificates runonce runtime-cgroups
		runtime-request-timeout seccomp-default serialize-image-pulls streaming-connection-idle-timeout
		sync-frequency system-cgroups system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites
		tls-min-version tls-private-key-file topology-manager-policy topology-manager-policy-options
		topology-manager-scope v vmodule volume-plugin-dir volume-stats-agg-period`
	set := map[string]bool{}
	for _, n := range strings.Fields(names) {
		set[n] = true
	}
	return set
}()

// applyFlags sets what command line flags say. They win over what a configuration file said before.
func (k *Kubelet) applyFlags(words []string) error {
	for i := 0; i < len(words); i++ {
		name, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			if name, ok = strings.CutPrefix(words[i], "-"); !ok || name == "" {
				return fmt.Errorf("the kubelet does not start: it takes no argument %q", words[i])
			}
		}
		name, value, given := strings.Cut(name, "=")
		if !kubeletFlags[name] {
			return fmt.Errorf("the kubelet does not start: unknown flag: --%s", name)
		}
		if !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value = words[i]
		}
		if err := k.applyFlag(name, value); err != nil {
			return fmt.Errorf("the kubelet does not start: --%s: %w", name, err)
		}
	}
	return nil
}

func (k *Kubelet) applyFlag(name, value string) error {
	switch name {
	case "node-labels":
		labels, err := pairs(value, "=")
		for key, v := range labels {
			k.Labels[key] = v
		}
		return err
	case "register-with-taints":
		k.Taints = nil
		for text := range strings.SplitSeq(value, ",") {
			if text == "" {
				continue
			}
			t, err := parseTaint(text)
			if err != nil {
				return err
			}
			k.Taints = append(k.Taints, t)
		}
		return nil
	case "max-pods":
		return number(value, &k.MaxPods)
	case "pods-per-core":
		return number(value, &k.PodsPerCore)
	case "kube-reserved":
		k.ReservedReplaced = true
		return replace(&k.KubeReserved, value, "=")
	case "system-reserved":
		return replace(&k.SystemReserved, value, "=")
	case "eviction-hard":
		k.EvictionReplaced = true
		return replace(&k.EvictionHard, value, "<")
	case "eviction-soft":
		return replace(&k.EvictionSoft, value, "<")
	case "eviction-soft-grace-period":
		return replace(&k.EvictionGrace, value, "=")
	case "eviction-max-pod-grace-period":
		return number(value, &k.EvictionMaxPodGrace)
	case "image-gc-high-threshold":
		k.ImageGCHigh = new(int)
		return number(value, k.ImageGCHigh)
	case "image-gc-low-threshold":
		k.ImageGCLow = new(int)
		return number(value, k.ImageGCLow)
	case "cpu-cfs-quota":
		quota, err := strconv.ParseBool(cmp.Or(value, "true"))
		k.CPUCFSQuota = &quota
		return err
	case "cluster-dns":
		k.ClusterDNS = strings.Split(value, ",")
	}
	return nil
}

func number(value string, into *int) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	*into = n
	return nil
}

func replace(into *map[string]string, value, separator string) error {
	m, err := pairs(value, separator)
	*into = m
	return err
}

// pairs reads a=b,c=d.
func pairs(text, separator string) (map[string]string, error) {
	out := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		k, v, ok := strings.Cut(item, separator)
		if !ok {
			return out, fmt.Errorf("%q is not of the form key%svalue", item, separator)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}
