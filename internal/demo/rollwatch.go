package demo

import (
	"fmt"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// rollWatch looks at a pool with every event while it rolls, and compares what happens with the budgets. The pool's
// name is also the value of the pods' label app.
type rollWatch struct {
	s    *state
	pool string
	size int
	old  map[string]bool

	mostGoing, leastPods int
	broken               []string
}

// watchRoll begins to watch a pool of size instances, each with one pod.
func (s *state) watchRoll(pool string, size int) *rollWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &rollWatch{s: s, pool: pool, size: size, old: map[string]bool{}, leastPods: size}
	for _, claim := range s.claimsOf(pool) {
		w.old[claim.Name] = true
	}
	s.look = w.see
	return w
}

// end ends the watch and returns what was not kept.
func (w *rollWatch) end() []string {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.look = nil
	return w.broken
}

// done reports whether all instances of the beginning are gone and as many others are ready.
func (w *rollWatch) done() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	left, ready, _ := w.count()
	return left == 0 && ready == w.size
}

// count counts instances of the beginning, others that are ready, and those that are to go or go because they drifted. One that
// EC2 is terminating no longer counts against a disruption budget (Karpenter v1 API): its node is deleted a moment before its
// NodeClaim, and the next may be marked in between.
func (w *rollWatch) count() (left, ready, going int) {
	for _, claim := range w.s.claimsOf(w.pool) {
		switch {
		case w.old[claim.Name]:
			left++
		case claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized):
			ready++
		}
		ends := claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating)
		if !ends && (toGo(claim, karpv1.DisruptionReasonDrifted) || !claim.DeletionTimestamp.IsZero()) {
			going++
		}
	}
	return left, ready, going
}

// see is called with the state locked.
func (w *rollWatch) see() {
	left, ready, going := w.count()
	if going > w.mostGoing {
		if w.mostGoing = going; going > shopBudget {
			w.broken = append(w.broken, fmt.Sprintf("%d instances went at a time, and the budget is %d", going, shopBudget))
		}
	}
	if left+ready < w.size && len(w.broken) < 5 {
		w.broken = append(w.broken, fmt.Sprintf("%d instances were left and %d had come, of %d", left, ready, w.size))
	}
	running := 0
	for _, life := range w.s.pods {
		if p := life.pod; p != nil && p.Labels["app"] == w.pool && p.DeletionTimestamp == nil && podReady(p) {
			running++
		}
	}
	if running < w.leastPods {
		if w.leastPods = running; running < shopLeast {
			w.broken = append(w.broken, fmt.Sprintf("%d pods were ready, and the PodDisruptionBudget asks for %d", running, shopLeast))
		}
	}
}
