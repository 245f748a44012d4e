package pack

import "slices"

// level is how far a domain may stand above the others for pods that were moved into it.
type level struct {
	domain              string
	maxSkew, minDomains int
}

// noteLevel remembers that a pod which bears the spread was moved into the domain.
func (w *WhatIf) noteLevel(domain string, d *demand) {
	x := level{domain, d.maxSkew, d.minDomains}
	if !slices.Contains(w.levels[d.group], x) {
		w.levels[d.group] = append(w.levels[d.group], x)
	}
}

// tilts reports whether pods that were moved before would stand unevenly by the fork: a spread is measured from the domain
// with the fewest pods, which may be the one that is left.
func (w *WhatIf) tilts() bool {
	if len(w.levels) == 0 {
		return false
	}
	j := w.s.journal
	return slices.ContainsFunc(j.groups, func(x notedGroup) bool { return w.tilted(x.group) }) ||
		slices.ContainsFunc(j.domains, func(x notedDomain) bool { return w.tilted(x.of.group) })
}

func (w *WhatIf) tilted(g *group) bool {
	for _, x := range w.levels[g] {
		if g.counts[x.domain]-g.floor(w.s.domainsNow(g), x.minDomains) > x.maxSkew {
			return true
		}
	}
	return false
}
