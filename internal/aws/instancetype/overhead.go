package instancetype

import (
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// overhead is what pods can't have of capacity: kube-reserved, system-reserved and the hard eviction threshold.
func (c *Config) overhead(t *ec2facts.Type, capacity res.List) res.List {
	out := c.kubeReserved(t, capacity[res.Pods])
	out.Add(c.SystemReserved)
	out[res.Memory] += c.EvictMemory.of(capacity[res.Memory])
	out[res.EphemeralStorage] += c.EvictStorage.of(capacity[res.EphemeralStorage])
	return out
}

// kubeReserved follows what the EKS images reserve at boot. Those of Amazon Linux count the pods that the interfaces could
// carry, whatever maxPods says; Bottlerocket and Windows count the pods that the kubelet is told. Custom images are taken
// for Amazon Linux.
func (c *Config) kubeReserved(t *ec2facts.Type, pods int64) res.List {
	if c.Family != awsv1.AMIFamilyBottlerocket && !c.Family.IsWindows() {
		pods = eniPods(t, t.Network.DefaultENIs())
	}
	out := res.List{
		res.CPU:              reservedCPU(t.VCPUs),
		res.Memory:           (11*pods + 255) * mib,
		res.EphemeralStorage: gib,
	}
	for key, amount := range c.KubeReserved {
		out[key] = amount
	}
	return out
}

// reservedCPU in millicores: 6 % of the first core, 1 % of the second, half a percent of the third and fourth, a quarter of
// a percent of the rest, each step cut to whole millicores.
func reservedCPU(vcpus int) int64 {
	var sum int64
	left := int64(vcpus)
	for _, step := range []struct{ cores, perTenThousand int64 }{{1, 600}, {1, 100}, {2, 50}, {1 << 32, 25}} {
		n := min(left, step.cores)
		sum += n * 1000 * step.perTenThousand / 10_000
		left -= n
	}
	return sum
}
