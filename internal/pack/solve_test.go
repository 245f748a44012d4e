package pack_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

func TestSmoke(t *testing.T) {
	var types []*catalog.Type
	for i := 1; i <= 20; i++ {
		types = append(types, &catalog.Type{
			Name:         fmt.Sprintf("t%d", i),
			Requirements: []requirement.Term{{Key: requirement.Arch, Operator: requirement.In, Values: []string{"amd64"}}},
			Capacity:     res.List{res.CPU: int64(i) * 1000, res.Memory: int64(i) << 31, res.Pods: int64(i) * 10},
			Overhead:     res.List{res.CPU: 100, res.Memory: 10 << 20},
			Offerings: []catalog.Offering{
				{Zone: "a", CapacityType: "on-demand", Price: catalog.MicroUSD(i) * 100000, Available: true},
				{Zone: "b", CapacityType: "spot", Price: catalog.MicroUSD(i) * 70000, Available: true}},
		})
	}
	p := &pack.Problem{Pools: []*cluster.Pool{{Name: "default", Types: types}}, Options: pack.Options{WellKnown: []string{requirement.Arch, requirement.Zone, requirement.CapacityType}}}
	small := &cluster.Class{Requests: res.List{res.CPU: 500, res.Memory: 1 << 30, res.Pods: 1}}
	od := &cluster.Class{Requests: res.List{res.CPU: 500, res.Memory: 1 << 30, res.Pods: 1}, Selector: []requirement.Term{{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{"on-demand"}}}}
	for i := range 100 {
		c := small
		if i%10 == 0 {
			c = od
		}
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "d", Name: fmt.Sprint("p", i)}, Class: c})
	}
	pl := pack.Solve(p)
	for _, n := range pl.NewNodes {
		fmt.Println(n.Pool, n.Types[0], len(n.Types), len(n.Pods), n.Price, n.Requirements, n.Requests, n.Why)
	}
	fmt.Println(pl.Price, len(pl.Unplaced))
}
