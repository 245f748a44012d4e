package app

import (
	"errors"

	"github.com/kerf-sh/kerf/internal/controller/expire"
	"github.com/kerf-sh/kerf/internal/controller/repair"
)

// nodeLife adds the loops that end nodes for what they are, not for what they cost.
func (p *process) nodeLife() error {
	var repairs error
	if p.FeatureGates.NodeRepair {
		repairs = p.Add(&repair.Loop{Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Policies: repair.Policies()})
	}
	return errors.Join(
		repairs,
		p.Add(&expire.Loop{Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Ahead: p.ExpireAhead}),
	)
}
