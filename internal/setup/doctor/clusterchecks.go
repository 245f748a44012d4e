package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/account"
)

func terminationHandler(in *Input) Result {
	var same, rebalance, other []string
	for _, h := range in.Kube.Handlers {
		ref, err := account.ParseQueueRef(h.Queue)
		queue := ""
		if in.AWS != nil {
			queue = in.AWS.QueueName
		}
		switch {
		case h.Queue != "" && err == nil && ref.Name == queue:
			same = append(same, h.String()+" reads "+h.Queue)
		case h.Rebalance:
			rebalance = append(rebalance, h.String()+" drains on rebalance recommendations"+onNodes(h))
		case h.Spot || h.Maintenance || h.Queue != "":
			other = append(other, h.String()+" drains on interruptions"+onNodes(h))
		default:
			other = append(other, h.String()+" runs, with all that it drains for switched off"+onNodes(h))
		}
	}
	const fix = "take it away, or keep it from this cluster's NodePools' nodes with an affinity on karpenter.sh/nodepool DoesNotExist"
	switch {
	case len(same) > 0:
		return failed(fix+"; in any case give it a queue of its own", "another program takes messages out of the interruption queue").with(append(append(same, rebalance...), other...)...)
	case len(rebalance) > 0:
		return failed(fix, "another program drains nodes that EC2 may take, and the same type is launched again, in a loop").with(append(rebalance, other...)...)
	case len(other) > 0:
		return warning(fix, "two programs act on the same interruption").with(other...)
	}
	return ok("no Node Termination Handler was found")
}

func onNodes(h Handler) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(h.Selector)) {
		parts = append(parts, k+"="+h.Selector[k])
	}
	if len(parts) == 0 {
		return fmt.Sprintf(", on %s", count(h.Pods, "node"))
	}
	return fmt.Sprintf(", on %s with %s", count(h.Pods, "node"), strings.Join(parts, ","))
}

const (
	// prefixSize is how many addresses a prefix has that the CNI gives to a network interface.
	//
	// Source: Amazon EKS user guide, "Assign more IP addresses to Amazon EKS nodes with prefixes".
	prefixSize = 16
	// usualMaxPods stands for a node of which nothing is known: an instance of size large takes 29 pods, one of 4xlarge 110
	// by the limit that EKS recommends.
	usualMaxPods = 110
	// fewNodes is for how many more nodes a subnet should have room at least.
	fewNodes = 3
)

// addressesPerNode is how many addresses of its subnet a full node holds, and why.
func (in *Input) addressesPerNode(class *awsv1.EC2NodeClass) (int, string) {
	pods, source := usualMaxPods, "as many as EKS recommends at most"
	if k := class.Spec.Kubelet; k != nil && k.MaxPods != nil && *k.MaxPods > 0 {
		pods, source = int(*k.MaxPods), "spec.kubelet.maxPods"
	} else if in.Kube.MaxPods > 0 {
		pods, source = in.Kube.MaxPods, "the most of the nodes there are"
	}
	cni := in.Kube.CNI
	switch {
	case cni == nil:
		return 1, "1 for the node; pods get theirs from no VPC CNI plugin"
	case cni.IPv6:
		return 1, "1 for the node; pods have IPv6 addresses"
	case cni.CustomNetworking:
		return 1, "1 for the node; pods get theirs from the subnets of ENIConfigs, which are not judged"
	case cni.PrefixDelegation:
		prefixes := (pods+prefixSize-1)/prefixSize + 1
		return prefixes*prefixSize + 1, fmt.Sprintf("%d prefixes of %d for %d pods (%s) and one kept warm", prefixes-1, prefixSize, pods, source)
	}
	return pods + 1, fmt.Sprintf("1 for the node and 1 for each of %d pods (%s)", pods, source)
}

func subnetAddresses(in *Input) Result {
	free := map[string]account.Subnet{}
	for _, s := range in.Subnets {
		free[s.ID] = s
	}
	var full, tight, roomy []string
	classes := 0
	for i := range in.Kube.Classes {
		c := &in.Kube.Classes[i]
		if len(c.Status.Subnets) == 0 {
			continue
		}
		classes++
		if in.NoSubnets != "" {
			return unknown("subnets could not be read: %s", in.NoSubnets)
		}
		each, because := in.addressesPerNode(c)
		wanted := max(fewNodes, in.Kube.Nodes/10/len(c.Status.Subnets))
		for _, ref := range c.Status.Subnets {
			s, ok := free[ref.ID]
			if !ok {
				full = append(full, fmt.Sprintf("EC2NodeClass %s: subnet %s does not exist any more", c.Name, ref.ID))
				continue
			}
			room := s.Free / each
			text := fmt.Sprintf("EC2NodeClass %s: subnet %s in %s has %s left, room for %s (a node takes %d: %s)",
				c.Name, s.ID, s.Zone, addresses(s.Free), count(room, "full node"), each, because)
			switch {
			case room == 0:
				full = append(full, text)
			case room < wanted:
				tight = append(tight, text)
			default:
				roomy = append(roomy, text)
			}
		}
	}
	const fix = "add a subnet with the tags that the class selects (a secondary range such as 100.64.0.0/16 will do), lower spec.kubelet.maxPods, or use IPv6"
	switch {
	case classes == 0:
		return skipped("no EC2NodeClass has found subnets yet")
	case len(full) > 0 && len(tight)+len(roomy) == 0:
		return failed(fix, "no subnet has room for another node").with(full...)
	case len(full) > 0:
		return warning(fix, "%s no room for another full node", have(len(full), "subnet")).with(append(append(full, tight...), roomy...)...)
	case len(tight) > 0:
		return warning(fix, "%s room for few nodes only", have(len(tight), "subnet")).with(append(tight, roomy...)...)
	}
	return ok("%s room", have(len(roomy), "subnet")).with(roomy...)
}

func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return fmt.Sprintf("%d %ss have", n, noun)
}

func addresses(n int) string {
	if n == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", n)
}

// maxLabel is how long a label's value may be; a node with a longer one is refused by the API server.
const maxLabel = 63

func drainBlockers(in *Input) Result {
	var broken, blocked, passing []string
	for i := range in.Kube.Pools {
		p := &in.Kube.Pools[i]
		for _, k := range slices.Sorted(maps.Keys(p.Spec.Template.Labels)) {
			if n := len(p.Spec.Template.Labels[k]); n > maxLabel {
				broken = append(broken, fmt.Sprintf("NodePool %s: the value of label %s has %d characters", p.Name, k, n))
			}
		}
		for _, r := range p.Spec.Template.Spec.Requirements {
			for _, v := range r.Values {
				if len(v) > maxLabel {
					broken = append(broken, fmt.Sprintf("NodePool %s: a value of requirement %s has %d characters", p.Name, r.Key, len(v)))
				}
			}
		}
	}
	for _, b := range in.Kube.Budgets {
		name := "PodDisruptionBudget " + b.Namespace + "/" + b.Name
		state := fmt.Sprintf("%d of %d pods healthy, %d wanted", b.Healthy, b.Current, b.Wanted)
		switch {
		case len(b.Workloads) > 0:
			blocked = append(blocked, name+" never lets the only pod go of "+strings.Join(b.Workloads, ", ")+" ("+state+")")
		case b.Always != "":
			blocked = append(blocked, name+" "+b.Always+" ("+state+")")
		default:
			passing = append(passing, name+" allows nothing at the moment ("+state+")")
		}
	}
	switch {
	case len(broken) > 0:
		return failed("shorten the values", "nodes with labels longer than %d characters are refused by the API server", maxLabel).with(append(append(broken, blocked...), passing...)...)
	case len(blocked) > 0:
		return warning("run two pods, or allow one to be away (maxUnavailable: 1); terminationGracePeriod of the NodePool bounds how long a node waits",
			"nodes can never be drained because of %s", count(len(blocked), "PodDisruptionBudget")).with(append(blocked, passing...)...)
	case len(passing) > 0:
		return warning("see why their pods are not healthy", "no disruption is allowed now by %s", count(len(passing), "PodDisruptionBudget")).with(passing...)
	}
	return ok("every PodDisruptionBudget allows a disruption, and labels are short enough")
}
