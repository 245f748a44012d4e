package history

import "time"

// longStep is how far apart the samples of a series are at most taken to be where no two of them say it.
const longStep = 5 * time.Minute

// phases are what kube-state-metrics says of whether a pod has finished. kube_pod_status_phase says it. kube_pod_completion_time does
// not: it is there whenever any container of the pod is terminated, as between a crash and the restart, or while a sidecar still runs.
//
// Source: kube-state-metrics, docs/metrics/workload/pod-metrics.md.
type phases struct {
	active   time.Time // when the pod was last neither Succeeded nor Failed
	terminal time.Time // when it was first one of these
	// completed is when a container had ended last, as of sampled, when that was last said.
	completed, sampled time.Time
}

// takeOver adds what another record of the same pod says.
func (p *phases) takeOver(n phases) {
	if n.active.After(p.active) {
		p.active = n.active
	}
	if p.terminal.IsZero() || !n.terminal.IsZero() && n.terminal.Before(p.terminal) {
		p.terminal = n.terminal
	}
	if n.sampled.After(p.sampled) {
		p.completed, p.sampled = n.completed, n.sampled
	}
}

func podCompletion(r *reading, s *series) error {
	p, v, err := alive(r, s)
	if err != nil {
		return err
	}
	var last time.Time
	err = s.each(func(t time.Time, _ float64) {
		if step := t.Sub(last); !last.IsZero() && step > 0 && (r.completionStep == 0 || step < r.completionStep) {
			r.completionStep = step
		}
		last = t
	})
	p.phases.takeOver(phases{completed: unix(v), sampled: last})
	return err
}

func podPhase(r *reading, s *series) error {
	p, err := r.podOf(s)
	if err != nil {
		return err
	}
	phase := s.label("phase")
	r.phased = true
	return s.each(func(t time.Time, v float64) {
		r.covers(fromPrometheus, t)
		switch {
		case v != 1:
		case phase == "Succeeded" || phase == "Failed":
			p.phases.takeOver(phases{terminal: t})
		default:
			if phase == "Running" && p.started.IsZero() {
				p.started = t
			}
			p.phases.takeOver(phases{active: t})
			p.there(t)
		}
	})
}

// finish notes the end of a pod that has finished by its series: by its phase where there are phases, else by a completion that
// was said for as long as the pod was there.
func (l *ledger) finish(p *pod) {
	s := &p.phases
	step := l.completionStep
	if step == 0 {
		step = longStep
	}
	switch whole := !s.completed.IsZero() && p.counted[metrics].Sub(s.sampled) < step; {
	case !s.terminal.IsZero() && s.completed.After(s.active) && !s.completed.After(s.terminal):
		p.ends(s.completed, finished)
	case !s.terminal.IsZero():
		p.ends(s.terminal, finished)
	case l.phased && s.active.IsZero(): // phases were read, of those that have finished only, and it is none of them
	case whole && s.sampled.After(s.active):
		p.ends(s.completed, finished)
	}
}
