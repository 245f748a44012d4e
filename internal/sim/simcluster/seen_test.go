package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// TestWhatEC2RefusesIsSeen in what people look at: which quota, when it is asked for again, and what became of the launches.
func TestWhatEC2RefusesIsSeen(t *testing.T) {
	var view *overview.Overview
	simcluster.Run(t, simcluster.Options{World: many, Overview: func(o *overview.Overview) { view = o }}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Pass(time.Minute)
		fault := h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity, Code: "VcpuLimitExceeded", Message: "You have requested more vCPU capacity than your current vCPU limit of 32 allows."})
		h.Deploy("web", 3, "1", "1Gi")
		h.Pass(30 * time.Second)
		d := view.Document(h.T.Context(), "")
		told := ""
		for _, p := range d.Problems {
			told += p.Title + ": " + p.Text + "\n"
			if p.Code == overview.NotAskedOfEC2 && (!strings.Contains(p.Text, "L-") || !strings.Contains(p.Text, ": 32 vCPUs; nodes of Kerf have 0 of it") || !p.RetryAt.After(d.At)) {
				h.T.Errorf("%+v names no quota or not when it is asked for again", p)
			}
		}
		if !strings.Contains(told, `quota "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", code L-1216C47A: 32 vCPUs`) || strings.Contains(told, "no subnet") {
			h.T.Errorf("told:\n%s", told)
		}
		refused := 0
		for _, x := range d.Decisions {
			if x.Outcome != nil {
				refused += x.Outcome.Refused
				if x.Outcome.Launched+x.Outcome.Ended > 0 || x.Outcome.Refused > 0 && x.Outcome.Why != "VcpuLimitExceeded" {
					h.T.Errorf("%s", x.Text())
				}
			}
		}
		if refused == 0 {
			h.T.Errorf("no launch is seen as refused: %+v", d.Decisions)
		}
		h.AWS.World.RemoveFault(fault)
		h.Running(10*time.Minute, "web", 3)
		d = view.Document(h.T.Context(), "")
		if x := d.Decisions[0]; x.Outcome == nil || x.Outcome.Launched != x.NewNodes || len(d.Problems) > 0 {
			h.T.Errorf("launched: %s; %+v", x.Text(), d.Problems)
		}
	})
}

// TestWhatAShortageCostsIsSeen until cheaper capacity is back and consolidation has used it.
func TestWhatAShortageCostsIsSeen(t *testing.T) {
	var view *overview.Overview
	simcluster.Run(t, simcluster.Options{World: many, Overview: func(o *overview.Overview) { view = o }}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Pass(time.Minute)
		fault := h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity, CapacityType: world.Spot})
		h.Deploy("web", 2, "3", "4Gi")
		h.Running(10*time.Minute, "web", 2)
		if b := view.Document(h.T.Context(), "").Bill; b.Dear <= 0 || b.Dear >= b.Running || b.OnDemand == 0 {
			h.T.Errorf("while spot is short: %+v", b)
		}
		h.AWS.World.RemoveFault(fault)
		h.Pass(time.Hour)
		if b := view.Document(h.T.Context(), "").Bill; b.Dear != 0 || b.Spot == 0 {
			h.T.Errorf("once spot is back: %+v", b)
		}
	})
}
