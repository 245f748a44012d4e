package pack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Pods that narrow a new node must not make others pay for it: together they cost no more than apart.
func TestCompanyCostsNothing(t *testing.T) {
	types, err := scenario.RegionTypes("us-east-1", 3)
	if err != nil {
		t.Fatal(err)
	}
	class := func(name string, cpu, memory, gpu int64, terms ...requirement.Term) *cluster.Class {
		c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": name}, Selector: terms,
			Requests: res.List{res.CPU: cpu, res.Memory: memory << 20, res.Pods: 1}}
		if gpu > 0 {
			c.Requests["nvidia.com/gpu"] = gpu
		}
		c.ID = c.Hash()
		return c
	}
	pods := func(c *cluster.Class, n int) []*cluster.Pod {
		var out []*cluster.Pod
		for i := range n {
			out = append(out, &cluster.Pod{Class: c, CreatedAt: time.Unix(int64(i), 0),
				PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprint(c.Labels["app"], "-", i), UID: fmt.Sprint(c.Labels["app"], i)}})
		}
		return out
	}
	plain := class("plain", 700, 1500, 0)
	cases := map[string]struct {
		narrow *cluster.Class
		n      int
	}{
		"on-demand next to spot":        {class("steady", 900, 2000, 0, in(requirement.CapacityType, catalog.OnDemand)), 5},
		"one zone next to any":          {class("zonal", 900, 2000, 0, in(requirement.Zone, "us-east-1b")), 5},
		"an accelerator next to none":   {class("train", 3500, 12000, 1), 3},
		"an architecture next to any":   {class("legacy", 900, 2000, 0, in(requirement.Arch, "amd64")), 5},
		"a dear family next to any":     {class("bound", 900, 2000, 0, in("karpenter.k8s.aws/instance-family", "m5")), 5},
		"large memory next to none":     {class("cache", 1000, 60000, 0), 2},
		"a very large pod next to none": {class("giant", 90000, 100000, 0), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, others := range []int{1, 7, 40} {
				price := func(pending ...*cluster.Pod) catalog.MicroUSD {
					p := scenario.Generate(1, 1, 1)
					p.Pools[0].Types, p.Pending = types, pending
					out := pack.Solve(p)
					if len(out.Unplaced) > 0 {
						t.Fatalf("unplaced: %s", out.Unplaced[0].Reasons[0].Text())
					}
					return out.Price
				}
				narrow, wide := pods(tc.narrow, tc.n), pods(plain, others)
				apart := price(narrow...) + price(wide...)
				if together := price(append(narrow, wide...)...); together > apart {
					t.Errorf("with %d plain pods: %d together, %d apart", others, together, apart)
				}
			}
		})
	}
}
