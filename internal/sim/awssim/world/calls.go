package world

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// maxCalls bounds the call log, maxInputs how many of the newest calls keep their decoded input; the counters go on when
// old entries are dropped.
const (
	maxCalls  = 50_000
	maxInputs = 2_000
)

// Call is one request that a service has answered.
type Call struct {
	Service   string        `json:"service"`   // ec2, iam, sts, ssm, sqs, eks, pricing
	Operation string        `json:"operation"` // CreateFleet
	Principal string        `json:"principal"` // ARN, empty when the signature was refused
	RequestID string        `json:"requestId"`
	At        time.Time     `json:"at"` // when it came
	Took      time.Duration `json:"took"`
	Outcome   string        `json:"outcome"`          // OK or an error code
	Fault     string        `json:"fault,omitempty"`  // what was injected, if anything
	Detail    string        `json:"detail,omitempty"` // a few words for the reader, e.g. ids
	UserAgent string        `json:"-"`                // as sent
	Request   any           `json:"-"`                // decoded input, as the service holds it
	DryRun    bool          `json:"dryRun,omitempty"` // asked with DryRun
}

// OK tells whether the call was answered without an error. A successful dry run counts as one.
func (c Call) OK() bool { return c.Outcome == "OK" || c.Outcome == "DryRunOperation" }

type callLog struct {
	calls    []Call
	counts   map[string]int // by operation
	outcomes map[string]map[string]int
}

func (l *callLog) init() {
	l.counts = map[string]int{}
	l.outcomes = map[string]map[string]int{}
}

// RecordCall writes one answered request to the log.
func (w *World) RecordCall(c Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.log
	if len(l.calls) >= maxCalls {
		l.calls = slices.Delete(l.calls, 0, maxCalls/10)
	}
	l.calls = append(l.calls, c)
	if old := len(l.calls) - 1 - maxInputs; old >= 0 {
		l.calls[old].Request = nil
	}
	l.counts[c.Operation]++
	if l.outcomes[c.Operation] == nil {
		l.outcomes[c.Operation] = map[string]int{}
	}
	l.outcomes[c.Operation][c.Outcome]++
}

// Calls returns the logged requests for an operation, oldest first: "CreateFleet", "ec2:CreateFleet", "ec2:*", or "" for
// all.
func (w *World) Calls(op string) []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	service, name, ok := strings.Cut(op, ":")
	if !ok {
		service, name = "*", op
	}
	if name == "" {
		name = "*"
	}
	var out []Call
	for _, c := range w.log.calls {
		if Match(service, c.Service) && Match(name, c.Operation) {
			out = append(out, c)
		}
	}
	return out
}

// CallCount returns how often an operation was asked for since the start, also beyond the log's reach.
func (w *World) CallCount(operation string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.counts[operation]
}

// CallCounts returns the count of every operation.
func (w *World) CallCounts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.log.counts)
}

// CallOutcomes returns, for an operation, how often each outcome came.
func (w *World) CallOutcomes(operation string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.log.outcomes[operation])
}

// ForgetCalls empties the log and its counters.
func (w *World) ForgetCalls() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.calls = nil
	w.log.init()
}
