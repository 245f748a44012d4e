package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// run is the running pods of one class, those on their way out left out. Those that linger are a run of their own, and so
// are those on nodes that are being deleted.
type run struct {
	runKey
	total int
	// byKind counts them by the kind of their nodes, while the table does so.
	byKind map[int]int
	// apart are the groups of the class's own anti-affinity.
	apart []*group
}

// runKey is what runs are told apart by. Spreads count neither those that linger nor those that are on nodes that go.
type runKey struct {
	class   *cluster.Class
	lingers bool
	going   bool
}

// runKey is that of a pod on the node.
func (k *keptNode) runKey(pod *cluster.Pod) runKey {
	return runKey{class: pod.Class, lingers: pod.Lingers, going: k.node.src.Deleting}
}

type runCount struct {
	run *run
	n   int
}

// runTable counts what runs, by class, as nodes come and go.
type runTable struct {
	of     map[runKey]*run
	all    []*run
	index  labelIndex // of all
	apart  []*run     // those with anti-affinity
	live   int        // those of which a pod is left
	byKind bool       // pods and nodes are counted by kind
	nodes  []int      // by kind
	hashed bool       // pods are counted by the hash of their reference
	refs   map[uint64]int
}

func newRunTable() runTable {
	return runTable{of: map[runKey]*run{}}
}

// add counts the pods of a node that came.
func (t *runTable) add(k *keptNode) {
	k.runs = nil
	for _, pod := range k.node.src.Pods {
		if pod.Class == nil || !pod.InCompany() {
			continue
		}
		of := k.runKey(pod)
		at := slices.IndexFunc(k.runs, func(c runCount) bool { return c.run.runKey == of })
		if at < 0 {
			at = len(k.runs)
			k.runs = append(k.runs, runCount{run: t.runOf(of)})
		}
		k.runs[at].n++
	}
	for _, c := range k.runs {
		if c.run.total == 0 {
			t.live++
		}
		c.run.total += c.n
	}
	t.count(k, 1)
	t.hash(k, 1)
}

// remove is add undone.
func (t *runTable) remove(k *keptNode) {
	for _, c := range k.runs {
		if c.run.total -= c.n; c.run.total == 0 {
			t.live--
		}
	}
	t.count(k, -1)
	t.hash(k, -1)
}

func (t *runTable) runOf(of runKey) *run {
	r := t.of[of]
	if r == nil {
		r = &run{runKey: of}
		for _, a := range of.class.AntiAffinity {
			if a.Weight == 0 {
				g := affinityGroup(repelling, of.class, a)
				g.name = g.identity()
				r.apart = append(r.apart, g)
			}
		}
		t.of[of] = r
		t.put(r)
	}
	return r
}

func (t *runTable) put(r *run) {
	t.index.add(len(t.all), r.class.Labels)
	t.all = append(t.all, r)
	if len(r.apart) > 0 {
		t.apart = append(t.apart, r)
	}
}

// tidy forgets classes of which nothing runs any more, once they are the most.
func (t *runTable) tidy() {
	if len(t.all) < 64+2*t.live {
		return
	}
	all := t.all
	t.all, t.apart, t.index = nil, nil, labelIndex{}
	for _, r := range all {
		if r.total > 0 {
			t.put(r)
		} else {
			delete(t.of, r.runKey)
		}
	}
}

// count adds the node and its pods, or takes them off, where they are counted by kind.
func (t *runTable) count(k *keptNode, sign int) {
	if !t.byKind || k.node.src.Deleting {
		return
	}
	kind := k.node.kind
	for len(t.nodes) <= kind {
		t.nodes = append(t.nodes, 0)
	}
	t.nodes[kind] += sign
	for _, c := range k.runs {
		if c.run.byKind == nil {
			c.run.byKind = map[int]int{}
		}
		if c.run.byKind[kind] += sign * c.n; c.run.byKind[kind] == 0 {
			delete(c.run.byKind, kind)
		}
	}
}

// countKinds begins to count by kind.
func (t *runTable) countKinds(order []*keptNode) {
	if !t.byKind {
		t.byKind = true
		for _, k := range order {
			t.count(k, 1)
		}
	}
}

// forgetKinds ends counting by kind.
func (t *runTable) forgetKinds() {
	t.byKind, t.nodes = false, nil
	for _, r := range t.all {
		r.byKind = nil
	}
}

// hash counts the node's pods by the hash of their reference, or takes them off.
func (t *runTable) hash(k *keptNode, sign int) {
	if !t.hashed {
		return
	}
	for _, pod := range k.node.src.Pods {
		h := hashOf(&pod.PodRef)
		if t.refs[h] += sign; t.refs[h] == 0 {
			delete(t.refs, h)
		}
	}
}

// hashOf is the same for equal references.
//
// Source: FNV-1a, 64 bits.
func hashOf(ref *cluster.PodRef) uint64 {
	h := uint64(14695981039346656037)
	text := ref.UID
	if text == "" {
		text = ref.Name
	}
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// running is what a solver knows of the pods that run.
type running struct {
	matched map[*run][]*group // groups that count the pods: those by host, and all of pods on nodes that go
	owned   map[*run][]*group // repelling groups that the pods bear, and that concern pending pods
	both    []runningPending
}

// runningPending is a pod that runs and is to be placed anew. It does not count.
type runningPending struct {
	node *keptNode
	run  *run
}

// findRepelling finds the anti-affinity of running pods that concerns pending ones.
func (s *solver) findRepelling(intern func(*group) *group) {
	s.byLabel = labelIndex{}
	for i := len(s.classes) - 1; i >= 0; i-- {
		s.byLabel.add(i, s.classes[i].src.Labels)
	}
	s.running = running{matched: map[*run][]*group{}, owned: map[*run][]*group{}}
	for _, r := range s.ground().runs.apart {
		if r.total == 0 {
			continue
		}
		for _, g := range r.apart {
			for i := range s.byLabel.candidates(g.selector) {
				if g.selects(s.classes[i].src) {
					own := *g
					s.running.owned[r] = append(s.running.owned[r], intern(&own))
					break
				}
			}
		}
	}
}

// countRunning counts the pods that run already. Pods that are to be placed anew don't count, nor do those that are on
// their way out, but for affinity those that linger.
func (s *solver) countRunning() {
	if len(s.groups) == 0 {
		return
	}
	runs := &s.ground().runs
	s.running.both = s.runningAndPending()
	domains := s.kindDomains()
	for _, g := range s.groups {
		for i := range runs.index.candidates(g.selector) {
			r := runs.all[i]
			if r.total == 0 || (r.lingers || r.going) && g.kind == spreading || !g.selects(r.class) {
				continue
			}
			if g.byHost || r.going {
				s.running.matched[r] = append(s.running.matched[r], g)
			}
			if g.byHost {
				g.total += r.total - s.twice(r)
				continue
			}
			for kind, n := range r.byKind {
				if n -= s.twiceIn(r, kind); n > 0 && g.passes[kind] {
					g.counts[domains[g.keyID][kind].value] += n
					g.total += n
				}
			}
		}
	}
	for r, groups := range s.running.owned {
		for _, g := range groups {
			if g.byHost {
				continue
			}
			for kind, n := range r.byKind {
				if d := domains[g.keyID][kind]; d.ok && n > s.twiceIn(r, kind) {
					g.owners[d.value] += n - s.twiceIn(r, kind)
				}
			}
		}
	}
	s.countGoing()
}

// countGoing counts what runs on nodes that are being deleted, for affinity by other keys than the host: kube-scheduler counts
// it until it ends.
func (s *solver) countGoing() {
	for _, k := range s.ground().going {
		for _, c := range k.runs {
			n := c.n - s.twiceOn(c.run, k)
			if n == 0 {
				continue
			}
			for _, g := range s.running.matched[c.run] {
				if d, ok := k.node.domain(g.keyID); ok && !g.byHost {
					g.counts[d] += n
					g.total += n
				}
			}
			for _, g := range s.running.owned[c.run] {
				if d, ok := k.node.domain(g.keyID); ok && !g.byHost {
					g.owners[d] += n
				}
			}
		}
	}
}

// hostOf is what groups by host count on the node.
func (s *solver) hostOf(n *node) *hostState {
	if n.hosted == s.serial {
		return &n.host
	}
	n.hosted = s.serial
	n.host.at = n.host.at[:0]
	if len(s.running.matched)+len(s.running.owned) == 0 {
		return &n.host
	}
	for _, c := range n.was.runs {
		count := c.n - s.twiceOn(c.run, n.was)
		if count == 0 {
			continue
		}
		for _, g := range s.running.matched[c.run] {
			n.host.add(g.id, count, 0)
		}
		for _, g := range s.running.owned[c.run] {
			if g.byHost {
				n.host.add(g.id, 0, count)
			}
		}
	}
	return &n.host
}

// twice is how many pods of the class run and are to be placed anew.
func (s *solver) twice(r *run) int {
	n := 0
	for _, x := range s.running.both {
		if x.run == r {
			n++
		}
	}
	return n
}

// twiceIn is twice on nodes of a kind.
func (s *solver) twiceIn(r *run, kind int) int {
	n := 0
	for _, x := range s.running.both {
		if x.run == r && x.node.node.kind == kind {
			n++
		}
	}
	return n
}

// twiceOn is twice on one node.
func (s *solver) twiceOn(r *run, k *keptNode) int {
	n := 0
	for _, x := range s.running.both {
		if x.run == r && x.node == k {
			n++
		}
	}
	return n
}

// runningAndPending finds pods that run and are to be placed anew.
func (s *solver) runningAndPending() []runningPending {
	g := s.ground()
	if !g.runs.hashed {
		g.runs.hashed, g.runs.refs = true, map[uint64]int{}
		for _, k := range slices.Concat(g.order, g.going) {
			g.runs.hash(k, 1)
		}
	}
	var suspects map[cluster.PodRef]bool
	for _, pod := range s.p.Pending {
		if g.runs.refs[hashOf(&pod.PodRef)] > 0 {
			if suspects == nil {
				suspects = map[cluster.PodRef]bool{}
			}
			suspects[pod.PodRef] = true
		}
	}
	if suspects == nil {
		return nil
	}
	var out []runningPending
	for _, k := range slices.Concat(g.order, g.going) {
		for _, pod := range k.node.src.Pods {
			if pod.Class != nil && pod.InCompany() && suspects[pod.PodRef] {
				out = append(out, runningPending{k, g.runs.of[k.runKey(pod)]})
			}
		}
	}
	return out
}

// nodeDomain is a node's value of a key, if it is certain.
type nodeDomain struct {
	value string
	ok    bool
}

// kindDomains finds, by key and kind of nodes, the domains of all groups that are not by host, and which kinds each looks
// at.
func (s *solver) kindDomains() map[requirement.Key][]nodeDomain {
	out := map[requirement.Key][]nodeDomain{}
	ground := s.ground()
	for _, g := range s.groups {
		if g.byHost {
			continue
		}
		ground.runs.countKinds(ground.order)
		column := out[g.keyID]
		if column == nil {
			column = make([]nodeDomain, s.kinds)
			for i, k := range ground.kinds.sample {
				column[i].value, column[i].ok = k.node.domain(g.keyID)
			}
			out[g.keyID] = column
		}
		g.passes = make([]bool, s.kinds)
		everyone := g.looksEverywhere()
		for i, n := range ground.runs.nodes {
			if d := column[i]; n > 0 && d.ok && (everyone || g.counting(s, &ground.kinds.sample[i].node)) {
				g.passes[i], g.present[d.value], g.listed = true, true, nil
			}
		}
	}
	return out
}
