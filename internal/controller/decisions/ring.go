// Package decisions keeps the last decisions of a controller and serves them on its metrics port, and reads them from there and
// from files: what kerf explain and kerf replay ask.
package decisions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
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
	"github.com/kerf-sh/kerf/internal/guard"
)

// Ring holds the last decisions of a process, written out as files, so that what they refer to can be forgotten. Decisions
// that launch nothing, move nothing and say the same as the one before take its place: pods that wait for hours push nothing
// out. When it is full, what nobody asks about goes first: decisions that only found room on nodes that are there; then those
// that left pods without a place; last those that launched or moved. The newest is always kept.
//
// Writing happens beside the caller, one decision at a time; reading waits for it.
//
// Concurrency: safe. A nil Ring keeps nothing.
type Ring struct {
	most     int
	maxBytes int
	log      *slog.Logger

	mu      sync.Mutex
	idle    *sync.Cond
	queue   []*record.Decision
	working bool
	entries []*entry // oldest first
	types   *record.Types
	serial  int
	dropped int
	kept    *disrupt.Decision // see SetDisruption
	nodes   Nodes             // see SetNodes
	pods    Pods              // nil until SetPods
	fates   map[string]fate   // by NodeClaim; see Heard
	fated   []string          // their names, those first heard of first
	ended   map[string]string // by command-id, why a move was given up; empty where it was carried out. See Finished
	over    []string          // their ids, in the order in which they ended
}

// queueMost is how many decisions may wait to be written; a solver that is faster than that loses the oldest of them.
const queueMost = 8

// alsoMost is how many decisions that said the same as one are still found by their IDs: pods that wait are decided on every ten
// seconds or so, and a line of the log tells of it every ten minutes.
const alsoMost = 1000

type entry struct {
	Summary
	also   []string // other IDs that it is found by: of commands, and of decisions that it says again
	file   *record.File
	digest [sha256.Size]byte
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
	Bytes   int    `json:"bytes"` // of the file
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
	r := &Ring{most: most, maxBytes: maxBytes, log: log}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// Add takes a decision in. It returns at once; the decision must not change any more.
func (r *Ring) Add(d *record.Decision) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, d)
	if len(r.queue) > queueMost {
		r.queue = slices.Delete(r.queue, 0, 1)
		r.dropped++
	}
	if !r.working {
		r.working = true
		guard.Go("record", r.work)
	}
}

func (r *Ring) work() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 {
		d := *r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		known := r.types
		r.mu.Unlock()
		var e *entry
		err := guard.Run("record", func() (err error) {
			e, err = newEntry(&d, known)
			return err
		})
		r.mu.Lock()
		if err != nil {
			r.log.Error("a decision could not be recorded; it was carried out, and kerf explain does not know it", "error", err)
			continue
		}
		r.insert(e)
	}
	r.working = false
	r.idle.Broadcast()
}

func newEntry(d *record.Decision, known *record.Types) (*entry, error) {
	file, err := record.Encode(d, known)
	if err != nil {
		return nil, err
	}
	e := &entry{file: file, Summary: Summary{At: d.Problem.Now, Generation: d.Problem.Generation, Pods: len(d.Problem.Pending), Bytes: file.Size()}}
	for _, c := range d.Claims {
		e.NodeClaims = append(e.NodeClaims, c.Name)
	}
	e.ID = d.ID
	if d.Asked != nil {
		e.Moves, e.Commands = len(d.Asked.Begun), d.Asked.Commands
		e.also = d.Asked.Commands
	}
	if d.Plan == nil {
		return e, nil
	}
	e.NewNodes, e.Price, e.Currency = len(d.Plan.NewNodes), d.Plan.Price, d.Plan.Currency
	for _, x := range d.Plan.Placements {
		e.Placed += len(x.Pods)
	}
	for _, x := range d.Plan.Unplaced {
		e.Unplaced += len(x.Pods)
	}
	if e.NewNodes == 0 {
		e.digest, err = digest(d.Plan)
	}
	return e, err
}

// digest is equal for plans that say the same of the same pods.
func digest(p *plan.Plan) ([sha256.Size]byte, error) {
	b, err := json.Marshal([]any{p.Placements, p.Unplaced})
	return sha256.Sum256(b), err
}

func (r *Ring) insert(e *entry) {
	r.types = e.file.Types()
	r.serial++
	if e.ID == "" {
		e.ID = strconv.Itoa(r.serial)
	}
	if n := len(r.entries); n > 0 && e.NewNodes == 0 {
		if before := r.entries[n-1]; before.NewNodes+before.Moves+e.Moves == 0 && before.digest == e.digest {
			e.Repeated, e.First = before.Repeated+1, before.First
			if e.First.IsZero() {
				e.First = before.At
			}
			also := append(before.also[:len(before.also):len(before.also)], before.ID)
			e.also = also[max(0, len(also)-alsoMost):]
			r.entries = r.entries[:n-1]
		}
	}
	r.entries = append(r.entries, e)
	for len(r.entries) > 0 && (len(r.entries) > r.most || r.bytes() > r.maxBytes) {
		at := r.leastWorth()
		r.entries = slices.Delete(r.entries, at, at+1)
	}
}

// leastWorth is the oldest of the entries that answer the fewest questions, the newest left out unless it is alone.
func (r *Ring) leastWorth() int {
	least := 0
	for i := range max(0, len(r.entries)-1) {
		if r.entries[i].worth() < r.entries[least].worth() {
			least = i
		}
	}
	return least
}

// worth orders decisions by how likely somebody asks about them.
func (e *entry) worth() int {
	switch {
	case e.NewNodes > 0 || e.Moves > 0:
		return 2 // why was this launched, why was that removed?
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

// settle waits until all that was added is written.
func (r *Ring) settle() {
	for r.working {
		r.idle.Wait()
	}
}

// List returns the decisions, the newest first.
func (r *Ring) List() []Summary {
	out := []Summary{}
	if r == nil {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	for _, e := range slices.Backward(r.entries) {
		s := e.Summary
		s.Outcome = r.outcome(s.NodeClaims)
		r.moved(&s)
		out = append(out, s)
	}
	return out
}

// Latest is the ID that stands for the newest decision.
const Latest = "latest"

// File is the file of a decision; false when there is none of that ID, or no more.
func (r *Ring) File(id string) (io.WriterTo, bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	for _, e := range slices.Backward(r.entries) {
		if id == Latest || e.ID == id || slices.Contains(e.also, id) {
			return e.file, true
		}
	}
	return nil, false
}

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
