package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
)

// refusals are what a cluster's stories let AWS refuse to the controller. The simulated AWS judges every call by the
// policies of the stack, so that anything else that is refused is a permission that the stack forgot, or a call that the
// controller should not make.
type refusals struct {
	mu    sync.Mutex
	known []refusal
}

// refusal is an action on resources; * stands for anything.
type refusal struct{ action, resource string }

func (r refusal) covers(d *authz.Denial) bool {
	return like(r.action, d.Action) && like(r.resource, d.Resource)
}

func like(pattern, text string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(text)
}

// mayBeDenied says that a story provokes the refusal of an action on resources, or that the stack at hand is known not to
// allow it.
func (e *env) mayBeDenied(action, resource string) {
	e.refusals.mu.Lock()
	defer e.refusals.mu.Unlock()
	e.refusals.known = append(e.refusals.known, refusal{action, resource})
}

func (r *refusals) cover(d *authz.Denial) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.known {
		if known.covers(d) {
			return true
		}
	}
	return false
}

// noDenials fails the test when the controller was refused anything that no story has said it may be.
func (e *env) noDenials() {
	e.Helper()
	controller := e.cluster.ControllerKey().PrincipalARN
	denied := e.cluster.Simulator.Permissions.Denied()
	if denied.Total > len(denied.Denials) {
		e.Errorf("of %d refusals only %d are known", denied.Total, len(denied.Denials))
	}
	times := map[string]int{}
	var order []string
	for i := range denied.Denials {
		d := &denied.Denials[i]
		if d.Principal != controller || e.refusals.cover(d) {
			continue
		}
		text := fmt.Sprintf("AWS refused %s on %s to the controller, in a call of %s: %s", d.Action, d.Resource, d.Operation, d.Outcome)
		if d.Sid != "" {
			text += fmt.Sprintf(" (statement %s of %s)", d.Sid, d.Policy)
		}
		if len(d.Near) > 0 {
			text += "; nearest: " + strings.Join(d.Near, "; ")
		}
		if times[text]++; times[text] == 1 {
			order = append(order, text)
		}
	}
	for _, text := range order {
		e.Errorf("%s (%d times)", text, times[text])
	}
}
