package house_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/awssim/world"
	"github.com/kerf-sh/kerf/internal/house"
)

// What moving a pod and starting a machine are held to cost, in micro-USD, as in internal/app.
const (
	evictionCosts = 1_000
	startCosts    = 10_000
)

// commandOf names the command that a node goes by, or that a claim was made for.
const commandOf = "kerf.sh/disruption-command"

// window is how long a pod that was moved has to be left in peace.
const window = 10 * time.Minute

// entry is the account of one command. Amounts are in micro-USD.
type entry struct {
	id, what  string
	at        time.Time
	reason    string
	pods      int
	owners    map[types.UID]bool
	old       []string        // instances
	new       map[string]bool // claims
	spent     float64         // evictions and starts
	gained    float64         // what the old machines would have cost since, less what the new ones do
	eaten     float64         // of the saving per hour, by machines that had to be bought since
	undone    bool
	done      bool // the account is closed
	paidAfter time.Duration
}

// ledger follows every command of consolidation from the moment that it is begun: what it costs, and what it brings until
// its new machines go. A machine that is bought for pods that wait ends as much of the saving of the latest commands as it
// costs itself, whether or not the load has grown since: what was saved was needed again.
type ledger struct {
	h      *house.House
	begun  chan begun
	mu     sync.Mutex
	undone map[string]bool

	entries []*entry
	ofClaim map[string]bool // claims that are replacements
	known   map[string]bool // instances that were looked at
	twice   int             // pods moved again within the window
	moved   int
	bought  int
	bill    float64 // micro-USD until now
	seen    time.Time
}

type begun struct{ id, reason, what string }

func newLedger() *ledger {
	return &ledger{begun: make(chan begun, 1000), undone: map[string]bool{}, ofClaim: map[string]bool{}, known: map[string]bool{}}
}

// The ledger is where the controller's log goes: that is how it hears of commands.
func (l *ledger) Enabled(context.Context, slog.Level) bool { return true }
func (l *ledger) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *ledger) WithGroup(string) slog.Handler            { return l }

func (l *ledger) Handle(_ context.Context, r slog.Record) error {
	var b begun
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "command":
			b.id = a.Value.String()
		case "reason":
			b.reason = a.Value.String()
		case "what":
			b.what = a.Value.String()
		}
		return true
	})
	switch r.Message {
	case "disrupting nodes":
		l.begun <- b
	case "took a disruption back":
		l.mu.Lock()
		l.undone[b.id] = true
		l.mu.Unlock()
	}
	return nil
}

// open begins accounts for the commands that were begun. Nothing is evicted in a command's first five seconds.
func (l *ledger) open() {
	for {
		select {
		case b := <-l.begun:
			l.enter(b)
		default:
			return
		}
	}
}

func (l *ledger) enter(b begun) {
	e := &entry{id: b.id, what: b.what, reason: b.reason, at: time.Now(), owners: map[types.UID]bool{}, new: map[string]bool{}}
	on := map[string]bool{}
	for _, n := range l.h.Nodes() {
		if n.Annotations[commandOf] == b.id {
			on[n.Name] = true
			e.old = append(e.old, n.Spec.ProviderID[len(n.Spec.ProviderID)-19:])
		}
	}
	for _, c := range l.h.Claims() {
		if c.Annotations[commandOf] == b.id {
			e.new[c.Name], l.ofClaim[c.Name] = true, true
		}
	}
	for _, p := range l.h.Pods() {
		if on[p.Spec.NodeName] && p.Status.Phase != corev1.PodSucceeded && p.DeletionTimestamp == nil {
			e.pods++
			l.again(&p)
			if o := metav1.GetControllerOf(&p); o != nil {
				e.owners[o.UID] = true
			}
		}
	}
	e.spent = float64(evictionCosts*e.pods + startCosts*len(e.new))
	l.moved += e.pods
	l.entries = append(l.entries, e)
}

// again counts a pod that is younger than a move of its owner's pods, and no older than the window.
func (l *ledger) again(p *corev1.Pod) {
	o, born := metav1.GetControllerOf(p), p.CreationTimestamp.Time
	if o == nil || time.Since(born) >= window {
		return
	}
	for _, e := range l.entries {
		if e.owners[o.UID] && !born.Before(e.at) && born.Sub(e.at) < window {
			l.twice++
			return
		}
	}
}

// look brings all accounts up to now.
func (l *ledger) look() {
	l.open()
	now := time.Now()
	hours := now.Sub(l.seen).Hours()
	if l.seen.IsZero() {
		hours = 0
	}
	l.seen = now
	rate, claims := map[string]float64{}, map[string]float64{} // of what runs, by instance and by claim
	all := map[string]world.Instance{}
	for _, i := range l.h.AWS.World.AllInstances() {
		all[i.ID] = i
		claim := i.Tags["karpenter.sh/nodeclaim"]
		if i.State == world.StatePending || i.State == world.StateRunning {
			rate[i.ID], claims[claim] = l.price(i), l.price(i)
			l.bill += rate[i.ID] * hours
		}
		if !l.known[i.ID] {
			l.known[i.ID] = true
			if !l.ofClaim[claim] {
				l.bought++
				l.eat(i)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		e.undone = e.undone || l.undone[e.id]
		if e.done {
			continue
		}
		gain, waiting, running := 0.0, false, 0
		for _, id := range e.old {
			if _, ok := rate[id]; ok {
				waiting = true
			} else {
				gain += l.price(all[id])
			}
		}
		for c := range e.new {
			if r, ok := claims[c]; ok {
				gain -= r
				running++
			}
		}
		if !waiting {
			gain -= min(e.eaten, max(gain, 0))
		}
		e.gained += gain * hours
		if e.paidAfter == 0 && e.gained >= e.spent {
			e.paidAfter = now.Sub(e.at)
		}
		e.done = e.undone || !waiting && (gain <= 0 && e.eaten > 0 || len(e.new) > 0 && running == 0)
	}
}

// eat ends savings of the latest commands before a machine was bought for pods that wait, as much as it costs.
func (l *ledger) eat(machine world.Instance) {
	costs := l.price(machine)
	for i := len(l.entries) - 1; i >= 0 && costs > 0; i-- {
		e := l.entries[i]
		if e.done || machine.LaunchTime.Before(e.at) {
			continue
		}
		left := -e.eaten
		for _, id := range e.old {
			if x, ok := l.h.AWS.World.Instance(id); ok {
				left += l.price(x)
			}
		}
		for _, x := range l.h.AWS.World.AllInstances() {
			if e.new[x.Tags["karpenter.sh/nodeclaim"]] {
				left -= l.price(x)
			}
		}
		if part := min(left, costs); part > 0 {
			e.eaten += part
			costs -= part
		}
	}
}

// price of a machine per hour: spot by the market of this moment.
func (l *ledger) price(i world.Instance) float64 {
	if i.CapacityType == world.Spot {
		if p := l.h.AWS.World.SpotPrices([]string{i.Type}, []string{i.Zone}, time.Now(), time.Now()); len(p) > 0 {
			return float64(p[0].MicroUSD)
		}
	}
	return float64(i.PriceMicroUSD)
}

// verdict is what became of the commands.
type verdict struct {
	commands, empties, undone, unpaid, open int
	spent, gained, lost                     float64 // dollars; lost is what those cost more than they brought that did not pay back
}

// judge counts the commands that cost more than they brought. Those that go on saving and have not earned their price yet
// are open.
func (l *ledger) judge() (v verdict, unpaid []string) {
	for _, e := range l.entries {
		v.commands++
		v.spent += e.spent / 1e6
		v.gained += e.gained / 1e6
		switch {
		case e.pods == 0 && len(e.new) == 0:
			v.empties++
		case e.undone:
			v.undone++
		case e.paidAfter > 0:
		case !e.done:
			v.open++
		default:
			v.unpaid++
			v.lost += (e.spent - e.gained) / 1e6
			unpaid = append(unpaid, fmt.Sprintf("%s: %s; %d pods, spent $%.4f, brought $%.4f", e.at.Format(time.TimeOnly), e.what, e.pods, e.spent/1e6, e.gained/1e6))
		}
	}
	return v, unpaid
}
