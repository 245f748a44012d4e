package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// rebuilt is a workload that is being made of a ledger.
type rebuilt struct {
	*ledger
	w       span
	out     *workload.Workload
	account *Account
	named   map[*template]string // the keys of templates
	used    map[string]bool      // keys
	sets    map[ref]*set
	counts  map[ref]bool // workloads that are counted
	// siblings are templates of Deployments, made when they are first asked for.
	siblings map[ref]*template
}

// rebuild makes a workload of what is known.
func (l *ledger) rebuild(account *Account) (*workload.Workload, error) {
	b := &rebuilt{
		ledger: l, w: l.window(), account: account, named: map[*template]string{}, used: map[string]bool{}, sets: map[ref]*set{}, counts: map[ref]bool{},
		out: &workload.Workload{Templates: map[string]*corev1.PodTemplateSpec{}},
	}
	account.From, account.To, b.out.Begun = b.w.from, b.w.to, b.w.from
	pods := l.merge()
	for _, p := range pods {
		l.guessOwner(p)
		l.finish(p)
	}
	lives := l.lives(pods, b.w)
	account.Pods = len(lives)
	lives = b.leaveOut(lives)
	b.divide(lives)
	b.scale()
	b.out.Sort()
	for _, r := range sortedRefs(l.daemons) {
		b.out.Daemons = append(b.out.Daemons, l.daemons[r])
	}
	account.Daemons = len(b.out.Daemons)
	for _, r := range sortedRefs(l.objects) {
		b.out.AddObject(l.objects[r])
	}
	b.out.Covers = b.w.to.Sub(b.w.from).Round(time.Second)
	b.prioritize()
	account.Steps, account.Demand, account.Peak = len(b.out.Steps), b.out.Pods(), b.out.Peak(0)
	if account.Pods == 0 && len(b.out.Steps) == 0 {
		return nil, fmt.Errorf("read the history: no pod is in it. What was read:%s\nAdd what names pods: docs/backtest.md has the commands", account.taken())
	}
	if len(b.out.Steps) == 0 {
		return nil, fmt.Errorf("read the history: no pod of a workload is in it: %d pods are of DaemonSets, of nodes (static), on Fargate, or had ended before", account.Pods)
	}
	return b.out, b.out.Check()
}

// prioritize gives templates the priority of their class where no pod had it.
func (b *rebuilt) prioritize() {
	// Source: Kubernetes, the PriorityClasses that every cluster has.
	values := map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
	for _, o := range b.objects {
		if c, ok := o.(*schedulingv1.PriorityClass); ok {
			values[c.Name] = c.Value
		}
	}
	give := func(s *corev1.PodSpec) {
		if v, ok := values[s.PriorityClassName]; ok && s.Priority == nil {
			s.Priority = &v
		}
	}
	for _, t := range b.out.Templates {
		give(&t.Spec)
	}
	for _, d := range b.out.Daemons {
		give(&d.Spec.Template.Spec)
	}
}

func sortedRefs[T any](m map[ref]T) []ref {
	out := make([]ref, 0, len(m))
	for r := range m {
		out = append(out, r)
	}
	slices.SortFunc(out, compareRefs)
	return out
}

// Why pods are no part of a workload.
const (
	outStatic  = "static pods of nodes"
	outDaemon  = "pods of DaemonSets (their DaemonSets are kept)"
	outFargate = "pods on Fargate"
)

// leaveOut takes out pods that no autoscaler makes room for, and keeps DaemonSets for them.
func (b *rebuilt) leaveOut(lives []*life) []*life {
	latest := map[ref]*life{}
	var kept []*life
	for _, f := range lives {
		switch {
		case f.mirror:
			b.account.leave(outStatic)
		case f.fargate:
			b.account.leave(outFargate)
		case f.owner.kind == "DaemonSet":
			b.account.leave(outDaemon)
			if known := latest[f.owner]; known == nil || known.template == nil || f.template != nil {
				latest[f.owner] = f
			}
		default:
			kept = append(kept, f)
		}
	}
	for _, r := range sortedRefs(latest) {
		if b.daemons[r] != nil {
			continue
		}
		f := latest[r]
		b.notes.add(noteDaemonPods, r.namespace+"/"+r.name)
		t := f.template
		if t == nil {
			t = b.templateOf(f, nil)
			b.daemons[r] = daemonSet(r, t) // where it runs is not known: everywhere
			b.daemons[r].Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			continue
		}
		b.daemons[r] = daemonSet(r, t)
	}
	return kept
}

// divide gives pods to what they belong to: what has a number of pods, or to themselves where they end.
func (b *rebuilt) divide(lives []*life) {
	byOwner := map[ref][]*life{}
	for _, f := range lives {
		byOwner[f.owner] = append(byOwner[f.owner], f)
	}
	for _, r := range sortedRefs(byOwner) {
		all := byOwner[r]
		// Pods of operators run for a number's sake, as those of a StatefulSet do, or to their end, as those of a Job do.
		ends := slices.ContainsFunc(all, func(f *life) bool { return f.how == finished })
		switch {
		case r == (ref{}), r.kind == "Job", !scaledKinds[r.kind] && ends:
			b.single(r, all)
		default:
			b.sets[r] = &set{ref: r, lives: all}
		}
	}
	parents := map[ref]bool{}
	for r, o := range b.owners {
		if b.sets[r] == nil && scaledKinds[r.kind] && r.kind != "Deployment" && len(o.changes) > 0 {
			b.sets[r] = &set{ref: r}
		}
	}
	for r := range b.sets {
		parents[b.root(r)] = true
	}
	for r, o := range b.owners {
		if r.kind == "Deployment" && !parents[r] && len(o.changes) > 0 {
			b.sets[r] = &set{ref: r}
		}
	}
}

// count counts a workload, whatever the number of its templates.
func (b *rebuilt) count(root ref) {
	if !b.counts[root] {
		b.counts[root] = true
		b.account.Kinds[root.kind]++
	}
}

// offset is how long after the beginning something is.
func (b *rebuilt) offset(t time.Time) time.Duration {
	return max(0, t.Sub(b.w.from)).Round(time.Millisecond)
}

// key is the name of a template.
func (b *rebuilt) key(name string, t *template) string {
	if known, ok := b.named[t]; ok {
		return known
	}
	base := strings.Trim(strings.ReplaceAll(name, "/", "."), ".")
	if base == "" {
		base = "pod"
	}
	out := base
	for k := 2; b.used[out]; k++ {
		out = fmt.Sprintf("%s-%d", base, k)
	}
	b.used[out], b.named[t] = true, out
	b.out.Templates[out] = t.spec
	return out
}

// single makes the steps of pods that each run for themselves: those of Jobs, of nobody, of operators that run something to
// its end.
func (b *rebuilt) single(r ref, lives []*life) {
	root := b.root(r)
	group := ""
	if r != (ref{}) {
		group = root.namespace + "/" + root.name
		b.count(root)
	} else {
		b.account.Kinds[barePods] += len(lives)
		for _, f := range lives {
			if f.template == nil && f.counted[metrics].IsZero() {
				b.notes.add(noteNoOwner, f.namespace+"/"+f.name)
			}
		}
	}
	taken := map[*life]bool{}
	for _, f := range lives {
		if taken[f] {
			continue
		}
		t := b.templateOf(f, nil)
		run := f
		for r != (ref{}) && run.endedInside() && run.how == evicted {
			next := successor(run, lives, taken)
			if next == nil {
				break
			}
			taken[next], run = true, next
			b.notes.add(noteRerun, f.namespace+"/"+f.name)
		}
		step := workload.Step{At: b.offset(f.from), Workload: group, Replicas: 1}
		switch {
		case run.endedInside():
			if run.lo.Before(run.hi) {
				b.notes.add(noteBetween, run.namespace+"/"+run.name)
			}
			step.Duration = run.to().Sub(run.begun)
		case group != "":
			b.notes.add(noteCutJobs, run.namespace+"/"+run.name)
			step.Duration = b.w.to.Sub(run.begun)
		}
		if run.endedInside() || group != "" {
			step.Duration = max(step.Duration, time.Second).Round(time.Millisecond)
		}
		name := group
		if name == "" {
			name = f.namespace + "/" + f.name
		}
		step.Template = b.key(name, t)
		b.out.Steps = append(b.out.Steps, step)
	}
}
