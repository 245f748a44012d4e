package simcluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// What moving a pod and starting an instance are held to cost, in micro-USD, as in internal/app.
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
	evictions float64         // what they are held to cost
	beside    float64         // what the new instances cost before the old ones had gone
	restarts  float64         // what starting instances is held to cost that were launched for pods that the old ones had held
	gained    float64         // what the old instances would have cost since, less what the new ones do
	most      float64         // that it had gained at any time
	eaten     float64         // of the saving per hour, by instances that had to be launched since
	by        []string        // these instances: after how long, what, and how much of it
	taken     room            // by pods that those were launched for
	undone    bool
	done      bool // the account is closed
}

// spent is what the command is held to have cost: its evictions, its new instances (each $0.01, or what they really cost
// beside the old ones if that is more), and what had to be started again because of it.
func (e *entry) spent() float64 {
	return e.evictions + max(startCosts*float64(len(e.new)), e.beside) + e.restarts
}

// ledger follows every command of consolidation from the moment that it is begun: what it costs, and what it brings until
// its new instances go.
//
// The measure is the cluster in which the command had not been. There its old instances would have gone on, at the price of
// the day, and the new ones would not have been launched. When an instance is launched later for pods that wait, those pods would
// have found room there, as much as the old instances had more than the new ones: for that part of its pods the instance
// would not have been launched, so that part of its price is taken off the command's saving for good, and that part of its
// start is the command's cost. Room is given to the latest command first, and only once; an instance is charged for once. In
// all other ways a launch says nothing about a command: it is for a load that has grown.
//
// A command has paid back when it had once brought what it costs in all, later starts included: what prices do after that
// is another decision's. Sums of what commands brought are as of the end.
type ledger struct {
	h     *simcluster.Cluster
	begun chan begun
	// created: there are claims that were not measured. Some are gone when accounts are next brought up to now.
	created atomic.Bool
	said    slog.Handler // hears all of it, too; nil: nobody does
	mu      sync.Mutex
	undone  map[string]bool

	entries  []*entry
	ofClaim  map[string]bool // claims that are replacements
	known    map[string]bool // instances that were looked at
	holds    map[string]room // what an instance holds, by its instance
	asked    map[string]room // what its pods ask for that it was launched for, by claim
	twice    int             // pods moved again within the window
	moved    int
	launched int
	unknown  int     // instances of which it is not known what they were launched for; nobody is charged for them
	bill     float64 // micro-USD until now
	hourly   float64 // micro-USD per hour, as of now
	seen     time.Time
	judged   time.Time // since when commands are judged
}

// room is millicores, MiB and pods.
type room [3]float64

func roomOf(l corev1.ResourceList) room {
	return room{float64(l.Cpu().MilliValue()), float64(l.Memory().Value()) / (1 << 20), float64(l.Pods().Value())}
}

func (r room) plus(o room, times float64) room {
	for i := range r {
		r[i] += times * o[i]
	}
	return r
}

// part of what is asked for that there is room for.
func (r room) part(asked room) float64 {
	part := 1.0
	for i := range r {
		if asked[i] > 0 {
			part = min(part, max(0, r[i]/asked[i]))
		}
	}
	return part
}

type begun struct{ id, reason, what string }

func newLedger() *ledger {
	return &ledger{begun: make(chan begun, 1000), undone: map[string]bool{}, ofClaim: map[string]bool{}, known: map[string]bool{},
		holds: map[string]room{}, asked: map[string]room{}}
}

// The ledger is where the controller's log goes: that is how it hears of commands.
func (l *ledger) Enabled(context.Context, slog.Level) bool { return true }
func (l *ledger) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *ledger) WithGroup(string) slog.Handler            { return l }

func (l *ledger) Handle(ctx context.Context, r slog.Record) error {
	if l.said != nil {
		if err := l.said.Handle(ctx, r); err != nil {
			return err
		}
	}
	var b begun
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "command-id":
			b.id = a.Value.String()
		case "reason":
			b.reason = a.Value.String()
		case "what":
			b.what = a.Value.String()
		}
		return true
	})
	switch r.Message {
	case "disrupting node(s)":
		l.begun <- b
	case "created nodeclaim":
		l.created.Store(true)
	case "took a disruption back; its nodes are kept":
		l.mu.Lock()
		l.undone[b.id] = true
		l.mu.Unlock()
	}
	return nil
}

// open begins accounts for the commands that were begun. Nothing is evicted in a command's first five seconds.
func (l *ledger) open() {
	if l.created.Swap(false) {
		l.measure()
	}
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
	e.evictions = float64(evictionCosts * e.pods)
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
	instances := l.h.AWS.World.AllInstances() // before the claims: an instance that has none may be a replacement
	l.open()
	l.measure()
	now := time.Now()
	hours := now.Sub(l.seen).Hours()
	if l.seen.IsZero() {
		hours = 0
	}
	l.seen = now
	l.hourly = 0
	running, byID := map[string]bool{}, map[string]world.Instance{} // by instance; by instance and by claim
	for _, i := range instances {
		claim := i.Tags["karpenter.sh/nodeclaim"]
		byID[i.ID], byID[claim] = i, i
		if i.State == world.StatePending || i.State == world.StateRunning {
			running[i.ID], running[claim] = true, true
			price := l.price(i)
			l.bill += price * hours
			l.hourly += price
		}
	}
	for id, i := range byID {
		if claim := i.Tags["karpenter.sh/nodeclaim"]; id == i.ID && !l.known[id] {
			l.known[id] = true
			if !l.ofClaim[claim] {
				l.launched++
				if asked, ok := l.asked[claim]; ok {
					l.eat(i, asked, byID)
				} else { // its claim came and went between two looks
					l.unknown++
				}
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		e.undone = e.undone || l.undone[e.id]
		if !e.done {
			l.account(e, now, hours, running, byID)
		}
	}
}

// measure notes what instances hold and what is asked of them.
func (l *ledger) measure() {
	for _, c := range l.h.Claims() {
		if c.Annotations[commandOf] != "" {
			l.ofClaim[c.Name] = true // it may have been launched before its command says that it has begun
		}
		l.asked[c.Name] = roomOf(c.Spec.Resources.Requests)
		if id := c.Status.ProviderID; len(id) > 19 && len(c.Status.Allocatable) > 0 {
			l.holds[id[len(id)-19:]] = roomOf(c.Status.Allocatable)
		}
	}
}

// account adds to the command's account what it brought in the hours until now.
func (l *ledger) account(e *entry, now time.Time, hours float64, running map[string]bool, byID map[string]world.Instance) {
	old, gone, waiting := 0.0, 0.0, false
	for _, id := range e.old {
		p := l.price(byID[id])
		old += p
		if running[id] {
			waiting = true
		} else {
			gone += p
		}
	}
	paidFor, left := 0.0, 0.0
	for c := range e.new {
		p := l.price(byID[c])
		paidFor += p
		if running[c] {
			left += p
		}
	}
	gain := gone - paidFor
	switch {
	case waiting && gain < 0:
		e.beside -= gain * hours
		gain = 0
	case !waiting:
		gain -= min(e.eaten, max(gain, 0))
		if paidFor > 0 {
			gain *= left / paidFor // what comes after a new instance has gone is another command's
		}
	}
	e.gained += gain * hours
	e.most = max(e.most, e.gained)
	e.done = e.undone || !waiting && (gain <= 0 && e.eaten > 0 || paidFor > 0 && left == 0)
}

// eat charges the latest commands before an instance was launched for pods that wait, as far as the pods would have had room.
func (l *ledger) eat(instance world.Instance, asked room, byID map[string]world.Instance) {
	rest := 1.0
	for i := len(l.entries) - 1; i >= 0 && rest > 0; i-- {
		e := l.entries[i]
		if e.undone || instance.LaunchTime.Before(e.at) {
			continue
		}
		free := room{}.plus(e.taken, -1)
		for _, id := range e.old {
			free = free.plus(l.holds[id], 1)
		}
		for c := range e.new {
			free = free.plus(l.holds[byID[c].ID], -1)
		}
		part := min(rest, free.part(asked))
		if part <= 0 {
			continue
		}
		e.taken = e.taken.plus(asked, part)
		e.eaten += part * l.price(instance)
		e.by = append(e.by, fmt.Sprintf("%s %s %.2f", instance.LaunchTime.Sub(e.at).Round(time.Second), instance.Type, part))
		e.restarts += part * startCosts
		rest -= part
	}
}

// price of an instance per hour: spot by the market of this moment.
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
	before                                  int     // commands before any was judged
	early                                   int     // empty nodes that went and were needed before that paid for the start of another
	spent, gained, lost                     float64 // dollars; lost is what the unpaid cost more than they brought
}

// judge counts the commands that cost more than they brought. Those that go on saving and have not earned their price yet
// are open.
func (l *ledger) judge() (v verdict, unpaid []string) {
	for _, e := range l.entries {
		if e.at.Before(l.judged) {
			v.before++
			continue
		}
		v.commands++
		v.spent += e.spent() / 1e6
		v.gained += e.gained / 1e6
		empty := e.pods == 0 && len(e.new) == 0
		if empty {
			v.empties++
		}
		switch {
		case e.most >= e.spent():
		case e.undone:
			v.undone++
		case !e.done:
			v.open++
		default:
			if empty {
				v.early++
			} else {
				v.unpaid++
				v.lost += (e.spent() - e.most) / 1e6
			}
			unpaid = append(unpaid, fmt.Sprintf("%s: %s; %d pods, spent $%.4f, brought $%.4f (%.4f at most); launched again: %s",
				e.at.Format(time.TimeOnly), e.what, e.pods, e.spent()/1e6, e.gained/1e6, e.most/1e6, strings.Join(e.by, ", ")))
		}
	}
	return v, unpaid
}
