package history

import (
	"cmp"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ledger is what is known of pods and their owners. It grows with the pods that were there, not with the bytes that were read.
type ledger struct {
	byUID     map[string]*pod
	byName    map[string]*pod // of sources that name no UID; namespace/name
	owners    map[ref]*owner
	templates map[string]*template
	daemons   map[ref]*appsv1.DaemonSet
	objects   map[ref]client.Object
	// seen are the moments at which a source named all pods that there were.
	seen [censuses]map[int64]bool // Unix milliseconds
	// listed are the namespaces of the pods that dumps have.
	listed map[string]bool
	// spans are from when to when each kind of source says something.
	spans   map[string]span
	dumped  int  // dumps that were read
	metered bool // requests of pods were read from metrics
	phased  bool // phases of pods were
	// completionStep is how far apart the samples of completion times are; zero: not known.
	completionStep time.Duration
	clusters       map[string]string // values of the label cluster, each with the file that has it first
	// undated wait for the time of the file that they stand in.
	undated []func(time.Time)
	notes   *notes
	regions map[string]int // nodes of dumps, by the region that their labels name
}

// census is a source that names all pods that there are, again and again.
type census int

const (
	dumps census = iota
	metrics
	censuses
)

// span is a stretch of time.
type span struct{ from, to time.Time }

func (s *span) add(t time.Time) {
	if t.IsZero() {
		return
	}
	if s.from.IsZero() || t.Before(s.from) {
		s.from = t
	}
	if t.After(s.to) {
		s.to = t
	}
}

// ref names an object.
type ref struct{ kind, namespace, name string }

func (r ref) String() string { return r.kind + " " + r.namespace + "/" + r.name }

// how is in what way a pod came to its end.
type how int

const (
	unknownEnd how = iota
	deleted
	finished // its containers ended by themselves
	evicted  // it was moved: evicted, preempted, or its node went
)

// pod is what is known of one pod. A time that is not known is zero.
type pod struct {
	uid, namespace, name string
	owner                ref
	created              time.Time // as the API says
	heard                time.Time // when it was first heard of as of a new one: its owner's or its scheduler's word
	first, last          time.Time // when it was surely there
	started              time.Time // when it ran
	ended                time.Time // when it was deleted or had finished, whichever was first
	end                  how
	moved                bool // it was evicted
	counted              [censuses]time.Time
	template             *template
	asks                 *asks
	mirror, fargate      bool
	phases               phases
}

// there notes that the pod existed at a time.
func (p *pod) there(t time.Time) {
	if t.IsZero() {
		return
	}
	if p.first.IsZero() || t.Before(p.first) {
		p.first = t
	}
	if t.After(p.last) {
		p.last = t
	}
}

// ends notes when the pod was deleted or finished; of several moments the earliest. A pod that was evicted stays one that was.
func (p *pod) ends(t time.Time, h how) {
	p.moved = p.moved || h == evicted
	if t.IsZero() {
		return
	}
	if p.ended.IsZero() || t.Before(p.ended) {
		p.ended, p.end = t, h
	}
}

// owner is what is known of what creates pods.
type owner struct {
	ref
	parent   ref // the Deployment of a ReplicaSet, the CronJob of a Job
	created  time.Time
	deleted  time.Time
	finished time.Time // of a Job
	template *template
	changes  []change
}

// change is how many pods an owner wants from a moment on.
type change struct {
	at     time.Time
	n      int
	before int // how many it wanted before; -1: unknown
	had    int // how many it had then; -1: unknown
	exact  bool
	// told is a change that an Event told of: of what is true, but not of all that was.
	told bool
}

func newLedger(n *notes) *ledger {
	l := &ledger{
		byUID: map[string]*pod{}, byName: map[string]*pod{}, owners: map[ref]*owner{}, templates: map[string]*template{},
		daemons: map[ref]*appsv1.DaemonSet{}, objects: map[ref]client.Object{}, spans: map[string]span{}, listed: map[string]bool{}, clusters: map[string]string{}, regions: map[string]int{}, notes: n,
	}
	for i := range l.seen {
		l.seen[i] = map[int64]bool{}
	}
	return l
}

// pod is the pod of a UID, or of a name where the UID is not known.
func (l *ledger) pod(uid, namespace, name string) *pod {
	if uid != "" {
		p := l.byUID[uid]
		if p == nil {
			p = &pod{uid: strings.Clone(uid)}
			l.byUID[p.uid] = p
		}
		if name != "" && p.name == "" {
			p.namespace, p.name = strings.Clone(namespace), strings.Clone(name)
		}
		return p
	}
	key := namespace + "/" + name
	p := l.byName[key]
	if p == nil {
		p = &pod{namespace: strings.Clone(namespace), name: strings.Clone(name)}
		l.byName[key] = p
	}
	return p
}

// owner is the owner of a name.
func (l *ledger) owner(r ref) *owner {
	o := l.owners[r]
	if o == nil {
		r = ref{strings.Clone(r.kind), strings.Clone(r.namespace), strings.Clone(r.name)}
		o = &owner{ref: r}
		l.owners[r] = o
	}
	return o
}

// wants notes how many pods an owner wants at a time. Repetitions of what is known already are left out, so that the list
// grows with the changes only where times come in order.
func (o *owner) wants(c change) {
	if c.at.IsZero() || c.n < 0 {
		return
	}
	if k := len(o.changes); k > 1 && c.before < 0 && !c.at.Before(o.changes[k-1].at) && o.changes[k-1].n == c.n && o.changes[k-2].n == c.n && o.changes[k-1].before < 0 {
		o.changes[k-1].at, o.changes[k-1].exact = c.at, o.changes[k-1].exact || c.exact
		return
	}
	o.changes = append(o.changes, c)
}

// count notes that a source that names all pods named this one at a time.
func (l *ledger) count(p *pod, s census, t time.Time) {
	p.there(t)
	if t.After(p.counted[s]) {
		p.counted[s] = t
	}
	l.seen[s][t.UnixMilli()] = true
	if s == dumps {
		l.listed[p.namespace] = true
	}
}

// region is where most nodes of the dumps are; empty where none says it.
func (l *ledger) region() string {
	best := ""
	for _, name := range sortedKeys(l.regions) {
		if best == "" || l.regions[name] > l.regions[best] {
			best = name
		}
	}
	return best
}

// covers notes that a kind of source speaks of a time.
func (l *ledger) covers(kind string, t time.Time) {
	s := l.spans[kind]
	s.add(t)
	l.spans[kind] = s
}

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
}
