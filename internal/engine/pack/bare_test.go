package pack_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestInstancesThatNoPodAskedFor(t *testing.T) {
	pool := func(edit func(*cluster.Pool)) *cluster.Pool {
		p := *scenario.Generate(1, 1, 1).Pools[0]
		p.Requirements = append(slices.Clone(p.Requirements), requirement.Term{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{catalog.OnDemand}})
		if edit != nil {
			edit(&p)
		}
		return &p
	}
	daemon := cluster.Daemon{Name: "kube-system/agent", Class: &cluster.Class{ID: "d", Namespace: "kube-system", Requests: res.List{res.CPU: 250, res.Pods: 1},
		Tolerations: []cluster.Toleration{{Exists: true}}, HostPorts: []cluster.HostPort{{Port: 1, Protocol: "TCP"}}}}
	for sentence, c := range map[string]struct {
		pool    *cluster.Pool
		n, want int
	}{
		"as many as are asked for": {pool(nil), 7, 7},
		"none of none":             {pool(nil), 0, 0},
		"a taint keeps none away":  {pool(func(p *cluster.Pool) { p.Taints = []cluster.Taint{{Key: "x", Effect: cluster.NoExecute}} }), 2, 2},
		"no more than the limit":   {pool(func(p *cluster.Pool) { p.Limits, p.Used = res.List{res.Nodes: 5}, res.List{res.Nodes: 2} }), 7, 3},
		"none where nothing is sold": {pool(func(p *cluster.Pool) {
			p.Requirements = append(p.Requirements, requirement.Term{Key: requirement.Arch, Operator: requirement.In, Values: []string{"abacus"}})
		}), 2, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			nodes, reasons := pack.Bare(c.pool, []cluster.Daemon{daemon}, scenario.Generate(1, 1, 1).Now, pack.Options{}, c.n)
			if len(nodes) != c.want || (len(reasons) > 0) != (c.want < c.n) {
				t.Fatalf("%d instances, want %d; reasons %v", len(nodes), c.want, reasons)
			}
			for _, n := range nodes {
				if len(n.Pods) != 0 || n.Requests[res.CPU] != 250 || n.Pool != c.pool.Name {
					t.Errorf("instance of pool %s for pods %v with requests %v, want the daemon's", n.Pool, n.Pods, n.Requests)
				}
				if !slices.IsSortedFunc(n.Types, func(a, b plan.TypeChoice) int { return int(a.Price - b.Price) }) || n.Price != n.Types[0].Price {
					t.Errorf("price %d of types %v, want them cheapest first", n.Price, n.Types)
				}
				for _, x := range n.Types {
					if x.CapacityType != catalog.OnDemand {
						t.Errorf("%s is %s", x.Name, x.CapacityType)
					}
				}
			}
		})
	}
}
