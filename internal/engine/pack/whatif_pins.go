package pack

import "slices"

// pins are the choices of domains that the constraints allow one more pod of the class now, best first.
func (w *WhatIf) pins(m *displacedClass) []*podGroup {
	keys := w.keysOf(m)
	if len(keys) == 0 {
		return []*podGroup{m.item}
	}
	return w.s.pinsOver(m.class, keys, false)
}

// findDomains works out the domains that classes have to do with before anything is asked: what is left of reservations and
// limits while a question is open would decide them for all that come after.
func (w *WhatIf) findDomains() {
	for _, m := range w.displaced {
		if !m.sequential || m.item == nil {
			continue
		}
		for _, key := range w.keysOf(m) {
			w.s.domainsFor(m.class, key)
		}
	}
}

// keysOf are the keys whose domains decide where the class may go, those of the anti-affinity of pods that don't move
// included.
func (w *WhatIf) keysOf(m *displacedClass) []string {
	keys := w.s.wideKeys(m.class)
	for _, g := range m.class.topo.repels {
		if !g.byHost && !slices.Contains(keys, g.key) {
			keys = append(keys, g.key)
		}
	}
	slices.Sort(keys)
	return keys
}
