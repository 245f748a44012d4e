package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// set is what has a number of pods: a ReplicaSet, a StatefulSet, another controller.
type set struct {
	ref
	root     ref
	owner    *owner
	lives    []*life
	points   []point
	template *template
	exact    bool // its own word on its size is better than counting
}

// scaledKinds have a number of pods, and these end only with it.
var scaledKinds = map[string]bool{"Deployment": true, "ReplicaSet": true, "StatefulSet": true, "ReplicationController": true}

// scale makes the steps of what has a number of pods. Sets of one Deployment whose templates say the same are one workload;
// in a rollout both have pods for a while, as they had.
func (b *rebuilt) scale() {
	type group struct {
		root     ref
		template *template
	}
	groups := map[group][]*set{}
	var order []group
	for _, r := range sortedRefs(b.sets) {
		s := b.sets[r]
		s.root, s.owner = b.root(r), b.owners[r]
		s.exact = s.owner != nil && slices.ContainsFunc(s.owner.changes, func(c change) bool { return c.exact })
	}
	b.rollouts()
	for _, r := range sortedRefs(b.sets) {
		s := b.sets[r]
		if s.owner != nil && (s.exact || len(s.lives) == 0) {
			s.points = b.wanted(s.owner, b.w)
		} else {
			if s.owner != nil {
				b.scaledDown(s)
			}
			s.points = b.counted(s.lives)
			if s.owner != nil {
				s.points = b.unseen(s.owner, s.points, b.w)
			}
		}
		if !slices.ContainsFunc(s.points, func(p point) bool { return p.n > 0 }) {
			continue
		}
		s.template = b.templateOfSet(s)
		g := group{s.root, s.template}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], s)
	}
	first := func(g group) time.Time {
		t := groups[g][0].points[0].at
		for _, s := range groups[g] {
			if s.points[0].at.Before(t) {
				t = s.points[0].at
			}
		}
		return t
	}
	slices.SortStableFunc(order, func(a, c group) int { return cmp.Or(compareRefs(a.root, c.root), first(a).Compare(first(c))) })
	names := map[string]bool{}
	for _, g := range order {
		name := g.root.namespace + "/" + g.root.name
		if names[name] { // another template of the same Deployment, or another kind of the same name
			name = g.root.namespace + "/" + groups[g][0].name
		}
		for k := 2; names[name]; k++ {
			name = fmt.Sprintf("%s/%s-%d", g.root.namespace, g.root.name, k)
		}
		names[name] = true
		all := make([][]point, 0, len(groups[g]))
		for _, s := range groups[g] {
			all = append(all, s.points)
		}
		b.count(g.root)
		b.steps(name, g.template, sum(all))
	}
}

// rollouts finds, for pods of a Deployment that ended between two observations, when they did: a pod of another ReplicaSet
// of it that began in between came in their place.
func (b *rebuilt) rollouts() {
	byRoot := map[ref][]*life{}
	for _, r := range sortedRefs(b.sets) {
		if s := b.sets[r]; r.kind == "ReplicaSet" {
			byRoot[s.root] = append(byRoot[s.root], s.lives...)
		}
	}
	for _, root := range sortedRefs(byRoot) {
		lives := byRoot[root]
		slices.SortStableFunc(lives, func(a, c *life) int { return a.from.Compare(c.from) })
		taken := map[*life]bool{}
		for _, e := range lives {
			if e.lo.Equal(e.hi) {
				continue
			}
			begin, _ := slices.BinarySearchFunc(lives, e.lo, func(f *life, t time.Time) int { return f.from.Compare(t) })
			var found *life
			for _, q := range lives[begin:] {
				if q.from.After(e.hi) {
					break
				}
				if q.owner == e.owner {
					found = nil // it has its own pods to take its place
					break
				}
				if found == nil && !taken[q] && q.from.After(e.from) {
					found = q
				}
			}
			if found != nil {
				taken[found] = true
				e.lo, e.hi = found.from, found.from
				b.notes.add(noteRolled, e.namespace+"/"+e.name)
			}
		}
	}
}

// steps adds the steps of a workload.
func (b *rebuilt) steps(name string, t *template, points []point) {
	key := b.key(name, t)
	for i, p := range points {
		s := workload.Step{At: b.offset(p.at), Workload: name, Replicas: p.n}
		if i == 0 {
			s.Template = key
		}
		b.out.Steps = append(b.out.Steps, s)
	}
}
