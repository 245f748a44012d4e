package oddclass

import (
	"maps"
	"slices"
	"strings"
)

// fields are the optional fields of a spec, with what may stand in them.
var fields = []struct {
	name  string
	value func(maker) any
}{
	{"amiFamily", func(g maker) any {
		return pick(g, "AL2", "AL2023", "Bottlerocket", "Custom", "Custom", "Windows2019", "Windows2022", "Windows2025", "Ubuntu", "")
	}},
	{"associatePublicIPAddress", func(g maker) any { return g.chance(2) }},
	{"ipPrefixCount", func(g maker) any { return pick(g, -1, 0, 1, 2, 9, 15, 49, 4000, 1<<31-1) }},
	{"userData", func(g maker) any { return g.userData() }},
	{"tags", func(g maker) any { return g.tags() }},
	{"kubelet", func(g maker) any { return g.kubelet() }},
	{"blockDeviceMappings", func(g maker) any { return g.disks() }},
	{"instanceStorePolicy", func(g maker) any { return pick(g, "RAID0", "RAID0", "RAID10", "") }},
	{"networkInterfaces", func(g maker) any { return g.interfaces() }},
	{"detailedMonitoring", func(g maker) any { return g.chance(2) }},
	{"metadataOptions", func(g maker) any {
		return g.some(map[string]func() any{
			"httpEndpoint": func() any { return pick(g, "enabled", "disabled", "on") }, "httpProtocolIPv6": func() any { return pick(g, "enabled", "disabled") },
			"httpPutResponseHopLimit": func() any { return g.number() }, "httpTokens": func() any { return pick(g, "required", "optional", "") },
		})
	}},
	{"connectionTracking", func(g maker) any {
		return g.some(map[string]func() any{
			"tcpEstablishedTimeout": func() any { return g.number() }, "udpStreamTimeout": func() any { return g.number() }, "udpTimeout": func() any { return g.number() },
		})
	}},
	{"cpuOptions", func(g maker) any {
		return g.some(map[string]func() any{"nestedVirtualization": func() any { return pick(g, "enabled", "disabled", "maybe") }})
	}},
	{"enclaveOptions", func(g maker) any {
		return g.some(map[string]func() any{"enabled": func() any { return pick(g, "true", "yes") }})
	}},
	{"context", func(g maker) any { return g.text() }},
	{"placementGroupSelector", func(g maker) any {
		return g.some(map[string]func() any{"name": func() any { return g.text() }, "id": func() any { return pick(g, "pg-0a", "pg-", "x") }})
	}},
	{"capacityReservationSelectorTerms", func(g maker) any {
		out := []any{}
		for range g.IntN(3) {
			out = append(out, g.some(map[string]func() any{
				"id": func() any { return pick(g, "cr-0a1b", "cr-", "x") }, "ownerID": func() any { return pick(g, "123456789012", "1") },
				"instanceMatchCriteria": func() any { return pick(g, "open", "targeted", "both") }, "tags": func() any { return g.tags() },
			}))
		}
		return out
	}},
}

// some is an object with about half of the members.
func (g maker) some(members map[string]func() any) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if v := members[name](); g.chance(2) {
			out[name] = v
		}
	}
	return out
}

func (g maker) userData() string {
	return pick(g, "#!/bin/sh\necho hi", "", " ", "settings = 1", "[settings.kubernetes]\nmax-pods = 5", "[settings", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n",
		"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: text/x-shellscript\n\necho\n--b--\n", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: 3",
		"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: x}}}", "<powershell>\nWrite-Host 1\n</powershell>", "<powershell>", strings.Repeat("x", 17000), "\xff\xfe", g.text())
}

func (g maker) kubelet() map[string]any {
	reserved := func() any {
		out := map[string]any{}
		for range g.IntN(3) {
			out[pick(g, "cpu", "memory", "ephemeral-storage", "pid", "gpu")] = pick(g, "100m", "1Gi", "0", "-1", "many", "", "1e30", "1E", "9223372036854775807Ei")
		}
		return out
	}
	signals := func() any {
		out := map[string]any{}
		for range g.IntN(3) {
			out[pick(g, "memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available", "cpu.available")] =
				pick(g, "100Mi", "5%", "100%", "101%", "-5%", "-1Gi", "%", "", "NaN%", "1e400%", "lots", "1Ei", "5 %")
		}
		return out
	}
	return g.some(map[string]func() any{
		"clusterDNS": func() any { return pick(g, []any{"10.0.0.10"}, []any{}, []any{"x"}, []any{"fd00::a", "10.0.0.10"}) }, "maxPods": func() any { return g.number() },
		"podsPerCore": func() any { return g.number() }, "systemReserved": reserved, "kubeReserved": reserved, "evictionHard": signals, "evictionSoft": signals,
		"evictionSoftGracePeriod": func() any {
			return pick(g, map[string]any{}, map[string]any{"memory.available": "1m"}, map[string]any{"memory.available": "-1m"}, map[string]any{"memory.available": "1 m"})
		},
		"evictionMaxPodGracePeriod": func() any { return g.number() }, "imageGCHighThresholdPercent": func() any { return g.number() }, "imageGCLowThresholdPercent": func() any { return g.number() },
		"cpuCFSQuota": func() any { return g.chance(2) },
	})
}

func (g maker) disks() []any {
	out := []any{}
	for range g.IntN(4) {
		d := g.some(map[string]func() any{
			"deviceName": func() any { return pick(g, "/dev/xvda", "/dev/xvdb", "/dev/sda1", "", "x") }, "rootVolume": func() any { return g.chance(2) },
			"ebs": func() any {
				return g.some(map[string]func() any{
					"deleteOnTermination": func() any { return g.chance(2) }, "encrypted": func() any { return g.chance(2) }, "iops": func() any { return pick(g, g.number(), 3000, 1<<62) },
					"kmsKeyID": func() any { return g.text() }, "snapshotID": func() any { return pick(g, "snap-0a", "", "x") }, "throughput": func() any { return g.number() },
					"volumeInitializationRate": func() any { return g.number() },
					"volumeSize": func() any {
						return pick[any](g, "20Gi", "1Gi", "59000Gi", "59001Gi", "64T", "65T", "0Gi", "1.5Gi", "20", 20, "", "-1Gi", "58Ti")
					},
					"volumeType": func() any { return pick(g, "gp3", "gp2", "io1", "io2", "st1", "sc1", "standard", "gp4") },
				})
			},
		})
		out = append(out, d)
	}
	return out
}

func (g maker) interfaces() []any {
	out := []any{}
	if g.chance(2) {
		out = append(out, map[string]any{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"})
	}
	for range g.IntN(4) {
		out = append(out, g.some(map[string]func() any{
			"networkCardIndex": func() any { return g.IntN(4) - 1 }, "deviceIndex": func() any { return pick(g, 0, 1, 2, 1<<31-1) },
			"interfaceType": func() any { return pick(g, "interface", "efa-only", "efa") },
		}))
	}
	return out
}
