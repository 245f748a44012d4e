// Package decisions keeps the last decisions of a controller and serves them on its metrics port, and reads them from there and
// from files: what kerf explain and kerf replay ask.
package decisions

import (
	"bytes"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Ring holds the last decisions of a process, written out as files, so that what they refer to can be forgotten. Decisions
// that launch nothing, move nothing and say the same as the one before take its place: pods that wait for hours push nothing
// out. When it is full, what nobody asks about goes first: decisions that only found room on nodes that are there; then those
// that left pods without a place; last those that launched or moved. The newest is always kept.
//
// Writing happens beside the caller, at leisure; see queue.go. The list tells of decisions that are not written yet, too, and
// whoever asks for the file of one waits until it is written.
//
// Concurrency: safe. A nil Ring keeps nothing.
type Ring struct {
	most     int
	maxBytes int
	log      *slog.Logger
	encode   func(*record.Decision, *record.Types) (*record.File, error) // record.Encode, but for tests

	mu      sync.Mutex
	idle    *sync.Cond
	queue   []*entry    // not written yet, oldest first; see queue.go
	working bool        // the first of the queue is being written
	hurried int         // how many wait for what is not written yet
	rested  time.Time   // when the writer has rested from the last
	timer   *time.Timer // looks at the queue again; nil until it is needed
	entries []*entry    // oldest first
	types   *record.Types
	serial  int
	kept    *disrupt.Decision // see SetDisruption
	nodes   Nodes             // see SetNodes
	pods    Pods              // nil until SetPods
	fates   map[string]fate   // by NodeClaim; see Heard
	fated   []string          // their names, those first heard of first
	ended   map[string]string // by command-id, why a move was given up; empty where it was carried out. See Finished
	over    []string          // their ids, in the order in which they ended
}

// alsoMost is how many decisions that said the same as one are still found by their IDs: pods that wait are decided on every ten
// seconds or so, and a line of the log tells of it every ten minutes.
const alsoMost = 1000

type entry struct {
	Summary
	also     []string         // other IDs that it is found by: of commands, and of decisions that it says again
	decision *record.Decision // nil once it is written
	file     *record.File     // nil until it is written
	plan     *plan.Plan       // nil where it launches, and once another that is written follows
	added    time.Time
}

// Summary is a line of the list of decisions.
type Summary struct {
	// ID is the decision-id of log lines and NodeClaims; where it was asked which nodes go, the command-id of the first command.
	ID string `json:"id"`
	// Commands are the command-ids of what was begun, where it was asked which nodes go.
	Commands   []string  `json:"commands,omitempty"`
	At         time.Time `json:"at"`
	Generation uint64    `json:"generation"`
	Pods       int       `json:"pods"` // that were pending
	NewNodes   int       `json:"newNodes"`
	// NodeClaims that were made, in the order of the plan.
	NodeClaims []string         `json:"nodeClaims,omitempty"`
	Outcome    *Outcome         `json:"outcome,omitempty"` // what became of these
	Placed     int              `json:"placed"`            // on nodes that exist or are in flight
	Unplaced   int              `json:"unplaced"`
	Price      catalog.MicroUSD `json:"price"` // of the new nodes, per hour
	// Currency of the price; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	// Moves is how many were begun, where it was asked which nodes go.
	Moves int `json:"moves,omitempty"`
	// Done is how many of them were carried out, and GivenUp how many were not, the last of them for the reason Why.
	Done    int    `json:"done,omitempty"`
	GivenUp int    `json:"givenUp,omitempty"`
	Why     string `json:"why,omitempty"`
	Bytes   int    `json:"bytes"` // of the file; 0 until it is written
	// Repeated counts the decisions before that said the same, the first of them at First.
	Repeated int       `json:"repeated,omitempty"`
	First    time.Time `json:"first,omitzero"`
}

// Text is what was decided, in some words.
func (s *Summary) Text() string {
	var words []string
	if s.NewNodes > 0 {
		words = append(words, "launch "+plan.Count(s.NewNodes, "node")+" for "+s.Currency.Amount(s.Price)+"/h")
		if s.Outcome != nil {
			words[0] += " (" + s.Outcome.Text() + ")"
		}
	}
	if s.Placed > 0 {
		words = append(words, plan.Count(s.Placed, "pod")+" on nodes that exist")
	}
	if s.Unplaced > 0 {
		words = append(words, plan.Count(s.Unplaced, "pod")+" without a place")
	}
	if s.Moves > 0 {
		words = append(words, plan.Count(s.Moves, "disruption")+" begun"+s.became())
	}
	if len(words) == 0 {
		return "nothing to do"
	}
	return strings.Join(words, ", ")
}

// NewRing returns a ring of the last most decisions, in at most maxBytes bytes; nil, which keeps nothing, when one of
// them is 0.
func NewRing(most, maxBytes int, log *slog.Logger) *Ring {
	if most <= 0 || maxBytes <= 0 {
		return nil
	}
	r := &Ring{most: most, maxBytes: maxBytes, log: log, encode: record.Encode}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// Add takes a decision in. It compares it with the one before, and waits for nothing; the decision must not change any more.
func (r *Ring) Add(d *record.Decision) {
	if r == nil {
		return
	}
	e := newEntry(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	if e.ID == "" {
		e.ID = strconv.Itoa(r.serial)
	}
	r.enqueue(e)
}

func (r *Ring) lost(e *entry, err error) {
	r.log.Error("a decision could not be recorded; it was carried out, and kerf explain does not know it", "decision-id", e.ID, "error", err)
}

// newEntry sums a decision up. It does not write it.
func newEntry(d *record.Decision) *entry {
	e := &entry{decision: d, added: time.Now(), Summary: Summary{ID: d.ID, At: d.Problem.Now, Generation: d.Problem.Generation, Pods: len(d.Problem.Pending)}}
	for _, c := range d.Claims {
		e.NodeClaims = append(e.NodeClaims, c.Name)
	}
	if d.Asked != nil {
		e.Moves, e.Commands = len(d.Asked.Begun), d.Asked.Commands
		e.also = d.Asked.Commands
	}
	if d.Plan == nil {
		return e
	}
	e.NewNodes, e.Price, e.Currency = len(d.Plan.NewNodes), d.Plan.Price, d.Plan.Currency
	for _, x := range d.Plan.Placements {
		e.Placed += len(x.Pods)
	}
	for _, x := range d.Plan.Unplaced {
		e.Unplaced += len(x.Pods)
	}
	if e.NewNodes == 0 {
		e.plan = d.Plan
	}
	return e
}

// repeats reports whether a decision launches nothing, moves nothing and says the same of the same pods as the one before.
//
// Cost: proportional to the pods; 4 ms for an Add of 100,000 (BenchmarkAdd adds twice).
func (e *entry) repeats(before *entry) bool {
	if e.NewNodes+e.Moves+before.NewNodes+before.Moves > 0 {
		return false
	}
	a, b := e.plan, before.plan
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Placements, b.Placements, func(x, y plan.Placement) bool { return x.Node == y.Node && slices.Equal(x.Pods, y.Pods) }) &&
		slices.EqualFunc(a.Unplaced, b.Unplaced, func(x, y plan.Unplaced) bool {
			return x.ClassID == y.ClassID && slices.Equal(x.Reasons, y.Reasons) && slices.Equal(x.Pods, y.Pods)
		})
}

// replace has a decision stand for the one before, which it repeats.
func (e *entry) replace(before *entry) {
	e.Repeated += before.Repeated + 1
	e.First = before.First
	if e.First.IsZero() {
		e.First = before.At
	}
	also := slices.Concat(before.also, []string{before.ID}, e.also)
	e.also = also[max(0, len(also)-alsoMost):]
}

// insert keeps a decision that is written.
func (r *Ring) insert(e *entry) {
	r.types = e.file.Types()
	if n := len(r.entries); n > 0 && e.repeats(r.entries[n-1]) {
		e.replace(r.entries[n-1])
		r.entries = r.entries[:n-1]
	} else if n > 0 {
		r.entries[n-1].plan = nil // only the last is compared with what follows
	}
	r.entries = append(r.entries, e)
	for len(r.entries) > 0 && (len(r.entries) > r.most || r.bytes() > r.maxBytes) {
		at := leastWorth(r.entries)
		r.entries = slices.Delete(r.entries, at, at+1)
	}
}

// leastWorth is the oldest of the entries that answer the fewest questions, the newest left out unless it is alone.
func leastWorth(entries []*entry) int {
	least := 0
	for i := range max(0, len(entries)-1) {
		if entries[i].worth() < entries[least].worth() {
			least = i
		}
	}
	return least
}

// asked is the worth of what somebody will ask about.
const asked = 2

// worth orders decisions by how likely somebody asks about them.
func (e *entry) worth() int {
	switch {
	case e.NewNodes > 0 || e.Moves > 0:
		return asked // why was this launched, why was that removed?
	case e.Unplaced > 0:
		return 1 // why does this pod wait? Later decisions mostly say it again.
	}
	return 0
}

// bytes is what all files take, lists of types that are shared counted once.
func (r *Ring) bytes() int {
	total := 0
	seen := map[*record.Types]bool{}
	for _, e := range r.entries {
		types := e.file.Types()
		total += e.file.Size() - types.Size()
		if !seen[types] {
			seen[types] = true
			total += types.Size()
		}
	}
	return total
}

// List returns the decisions, the newest first. It waits for nothing.
func (r *Ring) List() []Summary {
	out := []Summary{}
	if r == nil {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range slices.Backward(r.all()) {
		s := e.Summary
		s.Outcome = r.outcome(s.NodeClaims)
		r.moved(&s)
		out = append(out, s)
	}
	return out
}

// Latest is the ID that stands for the newest decision.
const Latest = "latest"

// File is the file of a decision, once it is written; false when there is none of that ID, or no more.
func (r *Ring) File(id string) (io.WriterTo, bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(id)
	for _, e := range slices.Backward(r.entries) {
		if e.is(id) {
			return e.file, true
		}
	}
	return nil, false
}

// is reports whether an ID leads to a decision.
func (e *entry) is(id string) bool { return id == Latest || e.ID == id || slices.Contains(e.also, id) }

// Decision is File, read.
func (r *Ring) Decision(id string) (*record.Decision, error) {
	file, ok := r.File(id)
	if !ok {
		return nil, errNone
	}
	var b bytes.Buffer
	if _, err := file.WriteTo(&b); err != nil {
		return nil, err
	}
	return record.Read(&b)
}
