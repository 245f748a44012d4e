package bound

import "slices"

const (
	// fewRows is up to how many rows all limits per host are kept.
	fewRows = 150
	// muchFewer is by which factor fewer hosts do for a limit than for the strictest one when it is given up.
	muchFewer = 3
)

// loosen gives up limits per host that will hardly matter, because another limit needs many more hosts than they do: pods
// that are alike but for such limits can then be told together, which makes a far smaller linear program. The bound can
// only be the lower for it.
func (s *search) loosen() {
	own, shared := make([]float64, len(s.limits)), make([]float64, len(s.shared))
	strictest := 0.0
	for i, l := range s.limits {
		if l.most == 0 {
			continue
		}
		hosts := &own[i]
		if l.shared >= 0 {
			hosts = &shared[l.shared]
		}
		*hosts += float64(s.placed[i].count) / float64(l.most)
		strictest = max(strictest, *hosts)
	}
	var kept []sharedLimit
	place := make([]int, len(s.shared))
	for at, hosts := range shared {
		if place[at] = -1; hosts*muchFewer >= strictest {
			place[at] = len(kept)
			kept = append(kept, s.shared[at])
		}
	}
	s.shared = kept
	limits := slices.Clone(s.limits) // shared limits point into the old list
	for i := range limits {
		l := &limits[i]
		switch {
		case l.most == 0:
		case l.shared < 0 && own[i]*muchFewer < strictest || l.shared >= 0 && place[l.shared] < 0:
			*l = classLimit{shared: -1}
		case l.shared >= 0:
			l.shared = place[l.shared]
		}
	}
	s.limits = limits
}
