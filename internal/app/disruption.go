package app

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/apply"
	"github.com/kerf-sh/kerf/internal/controller/disrupt"
)

// buyer is the one applier of the process: all that buy machines count what the others bought.
func (p *process) buyer() *apply.Applier {
	if p.applier == nil {
		p.applier = apply.New(apply.Options{Client: p.GetClient(), Reader: p.GetAPIReader(), State: p.cache, Recorder: p.recorder(), Log: p.log})
	}
	return p.applier
}

// disruption adds what lets nodes go.
func (p *process) disruption(c *gate) error {
	queue := &disrupt.Queue{
		Client: p.GetClient(), APIReader: p.GetAPIReader(), State: p.cache, Buyer: p.buyer(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(),
	}
	return errors.Join(
		p.Add(manager.RunnableFunc(queue.Run)),
		p.Add(&disrupt.Emptiness{
			Client: p.GetClient(), Queue: queue, State: p.cache, Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), LeftAlone: c.LeftAlone,
		}),
	)
}
