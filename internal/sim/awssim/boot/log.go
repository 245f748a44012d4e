package boot

import (
	"fmt"
	"slices"
	"time"
)

// State is how far an instance has come.
type State string

// States of a boot.
const (
	Booting State = "booting"
	Joined  State = "joined"
	Refused State = "refused" // will never join
	Ended   State = "ended"
)

// Line is one line of a boot log.
type Line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Report is what there is to say about the boot of one instance.
type Report struct {
	State State  `json:"state"`
	Node  string `json:"node,omitempty"` // name, once joined
	Log   []Line `json:"log"`
}

type record struct{ Report }

// maxLines bounds a boot log; an instance that retries for hours says the same again and again.
const maxLines = 100

func (b *Booter) recordLocked(id string) *record {
	r := b.records[id]
	if r == nil {
		r = &record{Report{State: Booting}}
		b.records[id] = r
	}
	return r
}

// logf writes a line into an instance's boot log, unless it says what the last line said.
func (b *Booter) logf(id, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.recordLocked(id)
	if n := len(r.Log); n == maxLines || n > 0 && r.Log[n-1].Text == text {
		return
	}
	r.Log = append(r.Log, Line{b.opts.World.Now(), text})
}

func (b *Booter) set(id string, s State, node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.recordLocked(id)
	r.State = s
	if node != "" {
		r.Node = node
	}
}

func (b *Booter) refuse(id string, why error) {
	b.logf(id, "does not join: %v", why)
	b.set(id, Refused, "")
	b.opts.Logger.Info("simulated instance does not join", "instance", id, "reason", why.Error())
}

// Report returns the boot log of an instance.
func (b *Booter) Report(id string) (Report, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[id]
	if r == nil {
		return Report{}, false
	}
	out := r.Report
	out.Log = slices.Clone(r.Log)
	return out, true
}

func (b *Booter) nodeOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.records[id]; r != nil {
		return r.Node
	}
	return ""
}

func (b *Booter) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.records, id)
}
