package app

import (
	"errors"

	"github.com/kerf-sh/kerf/internal/controller/expire"
)

// nodeLife adds the loops that end nodes for what they are, not for what they cost.
func (p *process) nodeLife() error {
	return errors.Join(
		p.Add(&expire.Loop{Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Ahead: p.ExpireAhead}),
	)
}
