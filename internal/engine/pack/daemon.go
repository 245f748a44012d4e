package pack

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// daemon is a DaemonSet's pod as the solver counts it.
type daemon struct {
	src  cluster.Daemon
	req  res.Vector
	alts []requirement.Requirements
}

func (s *solver) compileDaemons() {
	for _, d := range s.p.Daemons {
		base, err := s.vocab.Parse(d.Class.Selector)
		if err != nil {
			continue // a daemon that selects nothing runs nowhere
		}
		alts, problem := s.alternatives([]requirement.Requirements{base}, d.Class.Affinity)
		if problem != "" {
			continue
		}
		s.daemons = append(s.daemons, daemon{src: d, req: s.schema.Vector(d.Class.Requests), alts: alts})
	}
	slices.SortFunc(s.daemons, func(a, b daemon) int { return strings.Compare(a.src.Name, b.src.Name) })
}
