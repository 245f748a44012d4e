package history

// templateOfSet is the template that most of a set's pods have, of as many the latest; that of its own object where it had
// none that is known.
func (b *rebuilt) templateOfSet(s *set) *template {
	counts := map[*template]int{}
	var best *template
	for _, f := range s.lives {
		if f.template == nil {
			continue
		}
		counts[f.template]++
		if best == nil || counts[f.template] >= counts[best] {
			best = f.template
		}
	}
	if best == nil && s.owner != nil {
		best = s.owner.template
	}
	if best != nil {
		b.notes.addCount(noteVolumes, s.namespace+"/"+s.name, best.claims*len(s.lives))
		return best
	}
	if len(s.lives) == 0 {
		if t := b.sibling(s.root); t != nil {
			return t
		}
		b.notes.add(noteNoRequests, s.ref.String())
		b.notes.add(noteConstraints, s.ref.String())
		return b.assumed()
	}
	for _, f := range s.lives {
		t := b.templateOf(f, s)
		counts[t]++
		if best == nil || counts[t] >= counts[best] {
			best = t
		}
	}
	return best
}

// sibling is the template of another set of the same Deployment.
func (b *rebuilt) sibling(root ref) *template {
	if root.kind != "Deployment" {
		return nil
	}
	if b.siblings == nil {
		b.siblings = map[ref]*template{}
		for _, r := range sortedRefs(b.owners) {
			if o := b.owners[r]; o.template != nil && r.kind == "ReplicaSet" {
				b.siblings[b.root(r)] = o.template
			}
		}
		for r, s := range b.sets {
			for _, f := range s.lives {
				if f.template != nil {
					b.siblings[b.root(r)] = f.template
				}
			}
		}
	}
	return b.siblings[root]
}

// templateOf is the template of a pod: its own, that of its requests, its owner's, another one's of the same Deployment, or
// what is assumed.
func (b *rebuilt) templateOf(f *life, s *set) *template {
	name := f.namespace + "/" + f.name
	if f.template != nil {
		b.notes.addCount(noteVolumes, name, f.template.claims)
		return f.template
	}
	if o := b.owners[f.owner]; o != nil && o.template != nil {
		return o.template
	}
	if s != nil {
		if t := b.sibling(s.root); t != nil {
			return t
		}
	}
	b.notes.add(noteConstraints, name)
	if t := b.fromAsks(f.asks); t != nil {
		return t
	}
	if b.metered && !f.counted[metrics].IsZero() { // it has no series, so it requests nothing
		return b.plain(nil)
	}
	b.notes.add(noteNoRequests, name)
	return b.assumed()
}
