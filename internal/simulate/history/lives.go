package history

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// life is a pod's life as far as it lies in the history's time.
type life struct {
	*pod
	from time.Time
	// lo and hi are between when it ended; equal where that is known. Zero: it outlives the history.
	lo, hi time.Time
	// begun is when it ran: at the earliest when it was created.
	begun time.Time
	how   how
	// scaled is that it ended because its owner was to have fewer.
	scaled bool
}

// to is when it ended: the middle of what is possible.
func (f *life) to() time.Time { return f.lo.Add(f.hi.Sub(f.lo) / 2) }

// ended tells whether it ended in the history.
func (f *life) endedInside() bool { return !f.hi.IsZero() }

// merge adds what is known of a pod by its name to what is known of it by its UID.
func (l *ledger) merge() []*pod {
	byName := map[string][]*pod{}
	all := make([]*pod, 0, len(l.byUID)+len(l.byName))
	for _, p := range l.byUID {
		key := p.namespace + "/" + p.name
		byName[key] = append(byName[key], p)
		all = append(all, p)
	}
	for key, n := range l.byName {
		known := byName[key]
		if len(known) == 0 {
			all = append(all, n)
		}
		for _, p := range known {
			p.takeOver(n, len(known) == 1)
		}
	}
	slices.SortFunc(all, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
	})
	return all
}

// takeOver adds what another record of the pod says; its times only where no other pod has had the name.
func (p *pod) takeOver(n *pod, times bool) {
	if p.owner == (ref{}) {
		p.owner = n.owner
	}
	p.mirror, p.fargate = p.mirror || n.mirror, p.fargate || n.fargate
	if p.template == nil {
		p.template = n.template
	}
	if p.asks == nil {
		p.asks = n.asks
	}
	if !times {
		return
	}
	p.there(n.first)
	p.there(n.last)
	if p.created.IsZero() {
		p.created = n.created
	}
	if !n.heard.IsZero() {
		p.heardBirth(n.heard)
	}
	if p.started.IsZero() {
		p.started = n.started
	}
	p.moved = p.moved || n.moved
	p.ends(n.ended, n.end)
	p.phases.takeOver(n.phases)
	for s := range n.counted {
		if n.counted[s].After(p.counted[s]) {
			p.counted[s] = n.counted[s]
		}
	}
}

// observations are the moments of each source that names all pods, in order.
func (l *ledger) observations() (out [censuses][]int64) {
	for s := range l.seen {
		out[s] = make([]int64, 0, len(l.seen[s]))
		for t := range l.seen[s] {
			out[s] = append(out[s], t)
		}
		slices.Sort(out[s])
	}
	return out
}

// lives are the pods that were there in a window, with their lives cut to it.
func (l *ledger) lives(pods []*pod, w span) []*life {
	observed := l.observations()
	var out []*life
	for _, p := range pods {
		f := &life{pod: p, how: p.end}
		if p.moved {
			f.how = evicted
		}
		l.lifeEnds(f, observed, w)
		f.from = cmp.Or(p.created, p.heard)
		switch {
		case f.from.IsZero():
			l.notes.add(noteNoBirth, p.namespace+"/"+p.name)
			f.from = w.from
		case f.from.Before(w.from):
			if !f.endedInside() || f.hi.After(w.from) {
				l.notes.add(noteBefore, p.namespace+"/"+p.name)
			}
			f.from = w.from
		}
		f.begun = f.from
		if p.started.After(f.from) {
			f.begun = p.started
		}
		if f.endedInside() && !f.hi.After(w.from) || f.from.After(w.to) {
			continue // it had ended before
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b *life) int { return a.from.Compare(b.from) })
	return out
}

// lifeEnds finds when a life ended.
func (l *ledger) lifeEnds(f *life, observed [censuses][]int64, w span) {
	p := f.pod
	o := l.owners[p.owner]
	at := p.ended
	if at.IsZero() && o != nil && !o.finished.IsZero() {
		at, f.how = o.finished, finished
	}
	if at.IsZero() && o != nil && !o.deleted.IsZero() && o.deleted.After(p.first) {
		at, f.how = o.deleted, deleted
	}
	if !at.IsZero() {
		if !at.After(w.to) {
			f.lo, f.hi = at, at
		}
		return
	}
	for s, times := range observed {
		from := p.counted[s]
		if from.IsZero() {
			// Dumps that have pods of its namespace, and not it, show that it had gone.
			if census(s) != dumps || !l.listed[p.namespace] || p.last.IsZero() {
				continue
			}
			from = p.last
		}
		i, found := slices.BinarySearch(times, from.UnixMilli())
		if found {
			i++
		}
		if i == len(times) {
			continue
		}
		// What was seen of it later shows that this source does not name all pods.
		if next := time.UnixMilli(times[i]).UTC(); next.After(p.last) && !next.After(w.to) && (f.hi.IsZero() || next.Before(f.hi)) {
			f.hi = next
		}
	}
	if f.endedInside() {
		f.lo = p.last
		if f.how == unknownEnd {
			f.how = deleted
		}
	}
}

// Names that the Deployment controller makes for ReplicaSets, and these and Jobs for their pods.
//
// Source: the alphabet of generated names: no vowels, and no digits that look like letters. The Jobs of a CronJob have the
// minute in their names.
var (
	podOfSet = regexp.MustCompile(`^(.+)-([bcdfghjklmnpqrstvwxz2456789]{6,10})-([bcdfghjklmnpqrstvwxz2456789]{5})$`)
	podOfJob = regexp.MustCompile(`^(.+-[0-9]{7,})-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	setOf    = regexp.MustCompile(`^(.+)-([bcdfghjklmnpqrstvwxz2456789]{6,10}|[0-9a-f]{8})$`)
	runOf    = regexp.MustCompile(`^(.+?)-[0-9]{6,}$`)
)

// guessOwner finds the owner of a pod of which only the name is known.
func (l *ledger) guessOwner(p *pod) {
	if p.owner != (ref{}) || p.template != nil || p.asks != nil || !p.counted[metrics].IsZero() {
		return
	}
	if i := strings.LastIndexByte(p.name, '-'); i > 0 {
		for _, kind := range []string{"ReplicaSet", "Job", "DaemonSet", "ReplicationController"} {
			if r := (ref{kind, p.namespace, p.name[:i]}); l.owners[r] != nil || l.daemons[r] != nil {
				p.owner = r
				l.notes.add(noteGuessedOwner, p.namespace+"/"+p.name)
				return
			}
		}
	}
	if m := podOfSet.FindStringSubmatch(p.name); m != nil {
		p.owner = ref{"ReplicaSet", p.namespace, m[1] + "-" + m[2]}
		l.notes.add(noteGuessedOwner, p.namespace+"/"+p.name)
		return
	}
	if m := podOfJob.FindStringSubmatch(p.name); m != nil {
		p.owner = ref{"Job", p.namespace, m[1]}
		l.notes.add(noteGuessedOwner, p.namespace+"/"+p.name)
		return
	}
	if i := strings.LastIndexByte(p.name, '-'); i > 0 && p.name[i+1:] != "" && strings.Trim(p.name[i+1:], "0123456789") == "" {
		if r := (ref{"StatefulSet", p.namespace, p.name[:i]}); l.owners[r] != nil {
			p.owner = r
		}
	}
}

// root is what stands at the top of an owner: the Deployment of a ReplicaSet, the CronJob of a Job.
func (l *ledger) root(r ref) ref {
	o := l.owners[r]
	if o != nil && o.parent != (ref{}) {
		return o.parent
	}
	switch r.kind {
	case "ReplicaSet":
		// With a template but no parent its object was read and it stands by itself.
		if m := setOf.FindStringSubmatch(r.name); m != nil && (o == nil || o.template == nil) {
			return ref{"Deployment", r.namespace, m[1]}
		}
	case "Job":
		if m := runOf.FindStringSubmatch(r.name); m != nil {
			return ref{"CronJob", r.namespace, m[1]}
		}
	}
	return r
}

// assumed are the requests of a pod of which nothing is known.
func (l *ledger) assumed() *template {
	return l.plain(corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(100, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(128<<20, resource.BinarySI)})
}
