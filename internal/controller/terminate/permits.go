package terminate

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

// askAnyway is how long no eviction may have been asked for under a budget that allows none, until one is asked for in
// spite of that: what is known of budgets is no more than the last event that came.
const askAnyway = 15 * time.Second

// permits hands out as many evictions as the PodDisruptionBudgets allow by their status, and knows which drains wait for
// more. So a budget that frees up lets drains go on at once, and a thousand pods under a budget of one cost one call for
// each eviction and not a thousand.
//
// It is no authority: the eviction API decides. What it knows is lost with the process, and comes back with the first
// events of the next one.
//
// Concurrency: safe. The zero value is ready for use.
type permits struct {
	mu      sync.Mutex
	read    intake.PodBudgets
	budgets map[types.NamespacedName]*permit
}

// counted is how long after its answer an eviction is held against a budget whose status does not show it. By then the
// status does, or never will: the API counts no eviction of a pod that is not ready, which the cache may not know yet.
const counted = time.Second

// permit is what is left of one budget. The one without a name is for the pods of a namespace that several budgets select,
// which the eviction API refuses until a budget is changed.
type permit struct {
	// version counts the versions of the status that were seen; allowed is what the last one allows.
	version, allowed int
	// asked are the evictions that the status may not count yet, by pod: when they were granted, zero while not answered.
	asked   map[string]time.Time
	askedAt time.Time
	// shut: the API has refused an eviction since the last version.
	shut bool
	// behind: the status is of an older spec. The API refuses all until it is not.
	behind bool
	// line are the nodes whose drains wait, in the order in which they came.
	line []string
}

// left are the evictions that may still be asked for.
func (p *permit) left() int {
	if p.shut || p.behind {
		return 0
	}
	return max(0, p.allowed-len(p.asked))
}

// ticket is the right to ask for one eviction. The zero value is one that no budget counts.
type ticket struct {
	of      *permit
	version int
}

// settle forgets the evictions that the status counts by now, or never will.
func (p *permit) settle(now time.Time) {
	for pod, granted := range p.asked {
		if !granted.IsZero() && now.Sub(granted) >= counted {
			delete(p.asked, pod)
		}
	}
}

// again is when one more eviction may be asked for without a change of the budget.
func (p *permit) again(now time.Time) time.Time {
	at := now.Add(askAnyway)
	if !p.behind {
		at = p.askedAt.Add(askAnyway)
	}
	if p.shut || p.behind || p.allowed == 0 {
		return at
	}
	for _, granted := range p.asked {
		if settled := granted.Add(counted); !granted.IsZero() && settled.Before(at) {
			at = settled
		}
	}
	return at
}

// refusal says why no eviction may be asked for, and when it may be without an event.
type refusal struct {
	why   string
	again time.Time
}

// ask gives the right to ask for the eviction of a pod. Without it, the refusal says what is in the way; the node then waits
// in line until a budget's change wakes it up.
func (p *permits) ask(pod *corev1.Pod, node string, now time.Time) (t ticket, no refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, several := p.read.Guardian(pod)
	if name == "" && !several {
		return ticket{}, refusal{}
	}
	one := p.of(types.NamespacedName{Namespace: pod.Namespace, Name: name})
	one.settle(now)
	if one.left() == 0 && (one.behind || now.Sub(one.askedAt) < askAnyway) {
		one.wait(node)
		if several {
			return ticket{}, refusal{string(intake.SeveralBudgets), one.again(now)}
		}
		return ticket{}, refusal{"its PodDisruptionBudget " + name + " allows no disruption now", one.again(now)}
	}
	one.asked[pod.Name], one.askedAt = time.Time{}, now
	one.leave(node)
	return ticket{one, one.version}, refusal{}
}

func (p *permits) of(key types.NamespacedName) *permit {
	one := p.budgets[key]
	if one == nil {
		if p.budgets == nil {
			p.budgets = map[types.NamespacedName]*permit{}
		}
		one = &permit{asked: map[string]time.Time{}}
		p.budgets[key] = one
	}
	return one
}

func (p *permit) wait(node string) {
	if !slices.Contains(p.line, node) {
		p.line = append(p.line, node)
	}
}

func (p *permit) leave(node string) {
	if i := slices.Index(p.line, node); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
	}
}

// leave takes a node that asks no more out of all lines: it would be woken up in place of one that waits.
func (p *permits) leave(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.budgets {
		one.leave(node)
	}
}

// call takes the drains that can go on out of the line.
func (p *permit) call() []string {
	n := min(p.left(), len(p.line))
	called := slices.Clone(p.line[:n])
	p.line = slices.Delete(p.line, 0, n)
	return called
}

// use gives a ticket back after its eviction was asked for, and returns the nodes whose drains can go on. refused is an
// answer of the budget; the node waits in line then.
func (p *permits) use(t ticket, pod *corev1.Pod, node string, granted, refused bool, now time.Time) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := t.of
	if one == nil && !refused {
		return nil
	}
	if one == nil {
		one = p.of(types.NamespacedName{Namespace: pod.Namespace}) // it was for a budget that was not seen yet
	}
	if _, ok := one.asked[pod.Name]; ok && granted {
		one.asked[pod.Name] = now
	}
	if !granted {
		delete(one.asked, pod.Name)
	}
	if refused {
		one.shut = one.shut || one.version == t.version
		one.wait(node)
	}
	return one.call()
}

// see takes in a version of a budget and returns the nodes whose drains can go on.
func (p *permits) see(b *policyv1.PodDisruptionBudget, now time.Time) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := p.read.Set(b)
	one := p.of(types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
	one.version++
	one.allowed, one.shut, one.behind = int(b.Status.DisruptionsAllowed), false, b.Status.ObservedGeneration < b.Generation
	one.settle(now)
	for name := range b.Status.DisruptedPods {
		delete(one.asked, name)
	}
	if changed {
		return p.all(b.Namespace)
	}
	return one.call()
}

// forget takes in the deletion of a budget and returns the nodes whose drains can go on.
func (p *permits) forget(b *policyv1.PodDisruptionBudget) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read.Remove(b)
	woken := p.all(b.Namespace)
	delete(p.budgets, types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
	return woken
}

// all calls all drains that wait for budgets of a namespace: pods may be selected by others now.
func (p *permits) all(namespace string) []string {
	var called []string
	for key, one := range p.budgets {
		if key.Namespace == namespace {
			called = append(called, one.line...)
			one.line = nil
		}
	}
	slices.Sort(called)
	return slices.Compact(called)
}
