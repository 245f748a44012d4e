package authz

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Denial is one question that was answered with no.
type Denial struct {
	Time      time.Time         `json:"time"`
	RequestID string            `json:"requestId"`
	Operation string            `json:"operation"`        // that was called: ec2:CreateFleet
	Part      string            `json:"part,omitempty"`   // of the call, when only that part was refused
	DryRun    bool              `json:"dryRun,omitempty"` // nothing would have been done
	Principal string            `json:"principal"`
	Action    string            `json:"action"` // that was refused: ec2:RunInstances
	Resource  string            `json:"resource"`
	Outcome   iampolicy.Outcome `json:"outcome"`
	Policy    string            `json:"policy,omitempty"` // that forbids, with the statement's Sid
	Sid       string            `json:"sid,omitempty"`
	Near      []string          `json:"near,omitempty"` // what would have allowed it but for one thing
}

// Use is how often a statement allowed an action.
type Use struct {
	Action string `json:"action"`
	Policy string `json:"policy"`
	Sid    string `json:"sid"`
	Count  int    `json:"count"`
}

// Denials are the refusals since the start, oldest first. Total counts those that were dropped, too.
type Denials struct {
	Total   int      `json:"total"`
	Denials []Denial `json:"denials"`
}

// maxDenials is how many refusals are kept.
const maxDenials = 10_000

type useKey struct{ action, policy, sid string }

type record struct {
	mu      sync.Mutex
	total   int
	denials []Denial
	uses    map[useKey]int
}

func newRecord() *record { return &record{uses: map[useKey]int{}} }

func (l *record) allow(action string, d iampolicy.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uses[useKey{action, d.Policy, d.Sid}]++
}

func (l *record) deny(d Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if len(l.denials) >= maxDenials {
		l.denials = slices.Delete(l.denials, 0, maxDenials/10)
	}
	l.denials = append(l.denials, d)
}

// Denied returns what was refused.
func (a *Authorizer) Denied() Denials {
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	return Denials{Total: a.log.total, Denials: append([]Denial{}, a.log.denials...)}
}

// Permissions returns how often each statement allowed each action, by policy, statement and action.
func (a *Authorizer) Permissions() []Use {
	a.log.mu.Lock()
	uses := maps.Clone(a.log.uses)
	a.log.mu.Unlock()
	out := make([]Use, 0, len(uses))
	for k, n := range uses {
		out = append(out, Use{k.action, k.policy, k.sid, n})
	}
	slices.SortFunc(out, func(x, y Use) int {
		return cmp.Or(cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Sid, y.Sid), cmp.Compare(x.Action, y.Action))
	})
	return out
}

// Forget empties both.
func (a *Authorizer) Forget() {
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	a.log.total, a.log.denials = 0, nil
	clear(a.log.uses)
}
