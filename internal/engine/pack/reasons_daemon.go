package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// choosyDaemon names a daemon that has a host port of the class and is on some of the pool's nodes only, by their zone,
// capacity type or a label that is still open. Which ones is not told apart: the port counts as taken on all.
func (s *solver) choosyDaemon(c *class, p *pool) string {
	for _, d := range s.daemons {
		if !portsConflict(c.src.HostPorts, d.src.Class.HostPorts) || judgeTaints(p.src.Taints, d.src.Class.Tolerations) == barred {
			continue
		}
		sure := slices.ContainsFunc(d.alts, func(alt requirement.Requirements) bool {
			for k, want := range alt.All {
				have, ok := p.reqs.Get(k)
				byType := !s.isCellKey(k) && len(p.cat.Values(p.cat.All(), k)) > 0
				if !byType && (!ok || !have.SubsetOf(want)) {
					return false
				}
			}
			return true
		})
		if !sure {
			return d.src.Name
		}
	}
	return ""
}
