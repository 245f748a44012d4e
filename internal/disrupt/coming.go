package disrupt

import (
	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// comingNode is a new node as it is counted on before it is bought: with what its first type has or what all of its types
// have, the labels that are certain or those of its first type, and the room that daemons take.
func comingNode(nn *plan.NewNode, name string, pools []*cluster.Pool, first bool, daemons res.List) *cluster.Node {
	n := &cluster.Node{Name: name, Pool: nn.Pool, Used: daemons.Clone(), Labels: map[string]string{requirement.NodePool: nn.Pool}, Launched: true, Registered: true,
		Initialized: true, Ready: true}
	for _, pool := range pools {
		if pool.Name != nn.Pool {
			continue
		}
		n.Taints = pool.Taints
		for k, v := range pool.Labels {
			n.Labels[k] = v
		}
		for i, choice := range nn.Types {
			if t := typeNamed(pool, choice.Name); t != nil && (i == 0 || !first) {
				n.Allocatable = least(n.Allocatable, t.Allocatable(), i == 0)
				n.AttachLimits = lowest(n.AttachLimits, t.AttachLimits)
				if i == 0 {
					certainly(n.Labels, t.Requirements)
				}
			}
		}
	}
	certainly(n.Labels, nn.Requirements)
	if len(nn.Types) > 0 {
		own := nn.Types[0]
		for key, value := range map[string]string{requirement.Zone: own.Zone, requirement.CapacityType: own.CapacityType, requirement.InstanceType: own.Name} {
			if _, known := n.Labels[key]; !known {
				n.Labels[key] = value
			}
		}
	}
	n.Labels[requirement.Hostname] = name
	return n
}

func typeNamed(pool *cluster.Pool, name string) *catalog.Type {
	for _, t := range pool.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// least is what both have of each resource.
func least(a, b res.List, first bool) res.List {
	if first {
		return b
	}
	out := res.List{}
	for k, x := range a {
		out[k] = min(x, b[k])
	}
	return out
}

// lowest are the limits of both: what is not listed is not limited.
func lowest(a, b res.List) res.List {
	out := a.Clone()
	for k, x := range b {
		if have, limited := out[k]; limited {
			x = min(x, have)
		} else if out == nil {
			out = res.List{}
		}
		out[k] = x
	}
	return out
}

// certainly adds the labels of which the terms leave one value.
func certainly(labels map[string]string, terms []requirement.Term) {
	for _, t := range terms {
		if _, known := labels[t.Key]; !known && t.Operator == requirement.In && len(t.Values) == 1 {
			labels[t.Key] = t.Values[0]
		}
	}
}
