// Package shadow runs decisions beside a controller that runs already, carries none of them out, and keeps book of what they
// would have been and of what they would have cost.
//
// Every decision is made of the cluster as it is, never of what an earlier decision would have made of it: nothing that was
// not done is assumed. A preference that stays the same is therefore found again each time, and counted once.
package shadow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// forget is after how long a preference that was not found again counts as a new one when it comes back.
const forget = 10 * time.Minute

// kept bounds how many of the last preferences are kept to be read.
const kept = 200

// Intent is something that would have been done.
type Intent struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // launch, delete or replace
	// Reason is Pending for instances that pods wait for, else the cause of the disruption.
	Reason string   `json:"reason"`
	Pools  []string `json:"nodePools"`
	Nodes  []string `json:"nodes,omitempty"` // that would go
	New    []string `json:"new,omitempty"`   // instances that would come
	Pods   int      `json:"pods,omitempty"`  // that instances would be launched for, or that would move
	// Saving per hour at best; below zero for instances that pods wait for.
	Saving catalog.MicroUSD `json:"saving"`
	// Currency of the saving; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	Why      string           `json:"why,omitempty"`
}

// Pool is what the nodes of a pool cost per hour, those that are being deleted left out.
type Pool struct {
	Name     string           `json:"name"`
	Nodes    int              `json:"nodes"`
	Running  catalog.MicroUSD `json:"running"`  // as they are
	Saved    catalog.MicroUSD `json:"saved"`    // by the nodes that would go
	Launched catalog.MicroUSD `json:"launched"` // for the instances that would come, in their place or for pods that wait
	Kerf     catalog.MicroUSD `json:"kerf"`     // as decisions would leave them
}

// Count is how often something would have been done.
type Count struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	Pool   string `json:"nodePool"`
	N      int    `json:"n"`
}

// Summary is the state of the book.
type Summary struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // of the last decision
	Rounds int       `json:"rounds"`
	Pools  []Pool    `json:"nodePools,omitempty"`
	Total  Pool      `json:"total"`
	Counts []Count   `json:"counts,omitempty"`
	Last   []Intent  `json:"last,omitempty"` // oldest first
	// Missed is what the running bill came to beyond the one of Kerf's decisions since the start, in micro-USD.
	Missed catalog.MicroUSD `json:"missed"`
	// Currency of all amounts; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	// Unpriced is how many nodes have no known price; they are left out.
	Unpriced int `json:"unpriced,omitempty"`
	// Refused are calls that would have changed something and were not let out. There should be none.
	Refused map[string]int `json:"refused,omitempty"`
}

// Round is what was decided of one state of the cluster.
type Round struct {
	At      time.Time
	Cluster *pack.Problem
	// Plan is for the pods that wait, nil when none do; Disruption is nil when it was not decided.
	Plan       *plan.Plan
	Disruption *disrupt.Decision
}

// Book is where rounds are entered.
//
// Concurrency: safe.
type Book struct {
	mu      sync.Mutex
	summary Summary
	intents map[string]time.Time // when they were last found
	counts  map[Count]int        // N is zero in the keys
	gap     catalog.MicroUSD     // of the last round: running less Kerf's, per hour
}

// NewBook opens a book.
func NewBook(now time.Time) *Book {
	return &Book{summary: Summary{Since: now.UTC(), Until: now.UTC()}, intents: map[string]time.Time{}, counts: map[Count]int{}}
}

// Enter takes a round in and returns the preferences that are new.
func (b *Book) Enter(r *Round) []Intent {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.summary
	if elapsed := r.At.Sub(s.Until); s.Rounds > 0 && elapsed > 0 {
		s.Missed += catalog.MicroUSD(float64(b.gap) * elapsed.Hours())
	}
	s.Rounds++
	s.Until, s.Currency = r.At.UTC(), r.Cluster.Options.Currency
	s.Pools, s.Total, s.Unpriced = compare(r)
	b.gap = s.Total.Running - s.Total.Kerf
	var fresh []Intent
	for _, f := range intents(r) {
		seen, known := b.intents[f.key]
		b.intents[f.key] = r.At
		if known && r.At.Sub(seen) < forget {
			continue
		}
		fresh = append(fresh, f.intent)
		for _, pool := range f.intent.Pools {
			b.counts[Count{What: f.intent.What, Reason: f.intent.Reason, Pool: pool}]++
		}
	}
	maps.DeleteFunc(b.intents, func(_ string, seen time.Time) bool { return r.At.Sub(seen) >= forget })
	s.Last = append(s.Last, fresh...)
	s.Last = slices.Clone(s.Last[max(0, len(s.Last)-kept):])
	return fresh
}

// Summary is the state of the book now.
func (b *Book) Summary() Summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.summary
	out.Pools, out.Last, out.Counts = slices.Clone(out.Pools), slices.Clone(out.Last), nil
	for c, n := range b.counts {
		c.N = n
		out.Counts = append(out.Counts, c)
	}
	slices.SortFunc(out.Counts, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.What, b.What), strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// priceNow is what an instance costs at this moment; moves are decided on by what it has cost for hours.
func priceNow(pools []*cluster.Pool, nn *plan.NewNode) catalog.MicroUSD {
	choice := nn.Types[0]
	for _, pool := range pools {
		if pool.Name != nn.Pool {
			continue
		}
		for _, t := range pool.Types {
			if t.Name != choice.Name {
				continue
			}
			for i := range t.Offerings {
				if o := &t.Offerings[i]; o.Zone == choice.Zone && o.CapacityType == choice.CapacityType {
					return o.Price
				}
			}
		}
	}
	return nn.Price
}

// compare sets the bill of each pool against what decisions would leave of it.
func compare(r *Round) (pools []Pool, total Pool, unpriced int) {
	byName, byNode := map[string]*Pool{}, map[string]*cluster.Node{}
	of := func(name string) *Pool {
		if byName[name] == nil {
			byName[name] = &Pool{Name: name}
		}
		return byName[name]
	}
	for _, p := range r.Cluster.Pools {
		of(p.Name)
	}
	for _, n := range r.Cluster.Nodes {
		if n.Claim == "" || n.Deleting {
			continue
		}
		byNode[n.Name] = n
		p := of(n.Pool)
		p.Nodes++
		p.Running += n.Price
		if n.Price == 0 && n.CapacityType != catalog.Reserved {
			unpriced++
		}
	}
	if r.Plan != nil {
		for i := range r.Plan.NewNodes {
			of(r.Plan.NewNodes[i].Pool).Launched += r.Plan.NewNodes[i].Price
		}
	}
	if r.Disruption != nil {
		for i := range r.Disruption.Moves {
			m := &r.Disruption.Moves[i]
			for _, name := range m.Nodes {
				if n := byNode[name]; n != nil {
					of(n.Pool).Saved += n.Price
				}
			}
			for j := range m.NewNodes {
				of(m.NewNodes[j].Pool).Launched += priceNow(r.Cluster.Pools, &m.NewNodes[j])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := byName[name]
		p.Kerf = p.Running - p.Saved + p.Launched
		pools = append(pools, *p)
		total.Nodes += p.Nodes
		total.Running += p.Running
		total.Saved += p.Saved
		total.Launched += p.Launched
		total.Kerf += p.Kerf
	}
	total.Name = "all"
	return pools, total, unpriced
}

type found struct {
	key    string
	intent Intent
}

// preferences are what would be done now. The same preference has the same key as long as what it is about is the same: the nodes that
// go, or the pods that wait.
func intents(r *Round) []found {
	var out []found
	if r.Plan != nil {
		for i := range r.Plan.NewNodes {
			n := &r.Plan.NewNodes[i]
			out = append(out, found{"launch " + podsKey(n), Intent{
				At: r.At.UTC(), What: "launch", Reason: "Pending", Pools: []string{n.Pool}, New: []string{instance(n)}, Pods: len(n.Pods), Saving: -n.Price, Currency: r.Cluster.Options.Currency, Why: n.Why,
			}})
		}
	}
	if r.Disruption == nil {
		return out
	}
	poolOf := map[string]string{}
	for _, n := range r.Cluster.Nodes {
		poolOf[n.Name] = n.Pool
	}
	for i := range r.Disruption.Moves {
		m := &r.Disruption.Moves[i]
		w := Intent{At: r.At.UTC(), What: "delete", Reason: string(m.Cause), Nodes: m.Nodes, Saving: m.Saving, Currency: r.Cluster.Options.Currency, Why: m.Why}
		for _, name := range m.Nodes {
			w.Pools = append(w.Pools, poolOf[name])
		}
		slices.Sort(w.Pools)
		w.Pools = slices.Compact(w.Pools)
		for j := range m.Placements {
			w.Pods += len(m.Placements[j].Pods)
		}
		for j := range m.NewNodes {
			w.Pods += len(m.NewNodes[j].Pods)
			w.What = "replace"
			w.New = append(w.New, instance(&m.NewNodes[j]))
		}
		out = append(out, found{w.What + " " + w.Reason + " " + strings.Join(m.Nodes, ","), w})
	}
	return out
}

// podsKey is the first of the pods: an instance for a pod that waits is one preference however many others are put beside it.
func podsKey(n *plan.NewNode) string {
	var uids []string
	for _, p := range n.Pods {
		uids = append(uids, cmp.Or(p.UID, p.String()))
	}
	if len(uids) == 0 {
		return n.Pool
	}
	return slices.Min(uids)
}

func instance(n *plan.NewNode) string {
	t := n.Types[0]
	return strings.Join([]string{n.Pool, t.Name, t.Zone, t.CapacityType}, " ")
}
