package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is what a Set works on: object metadata and a list of conditions.
type Object interface {
	metav1.Object
	GetConditions() []Condition
	SetConditions([]Condition)
}

// Set reads and writes the conditions of one object. Reads never change the object, so a Set may
// be taken of an object that lives in a shared cache; the first write adds the dependents and the
// root that are still missing.
//
// Concurrency: as safe as the object it was made from.
type Set struct {
	object     Object
	root       string
	dependents []string
	now        func() time.Time
}

// For returns the condition set of object: a root Ready over the given dependents. Conditions of
// other types may be set as well and do not take part in the root.
func For(object Object, dependents ...string) Set {
	return Set{object: object, root: Ready, dependents: dependents, now: time.Now}
}

// Rootless returns the condition set of an object whose conditions are independent of each other:
// nothing is added to what callers set.
func Rootless(object Object) Set { return Set{object: object, now: time.Now} }

// WithClock returns a copy of s that takes transition times from now.
func (s Set) WithClock(now func() time.Time) Set {
	s.now = now
	return s
}

// Dependents returns the condition types that the root sums up.
func (s Set) Dependents() []string { return slices.Clone(s.dependents) }

// List returns the conditions as they stand on the object.
func (s Set) List() []Condition { return s.object.GetConditions() }

// Get returns a copy of the condition of type t. For a missing dependent or root it returns the
// Unknown condition that the first write would add; for any other missing type it returns nil.
func (s Set) Get(t string) *Condition {
	if i := s.index(t); i >= 0 {
		return new(s.object.GetConditions()[i])
	}
	if s.isFixed(t) {
		return new(s.initial(t))
	}
	return nil
}

// Root returns the root condition; see Get.
func (s Set) Root() *Condition { return s.Get(s.root) }

// IsTrue reports whether all the given types are True; without types, whether the root is. An
// observation of an older generation counts.
func (s Set) IsTrue(types ...string) bool {
	if len(types) == 0 {
		types = []string{s.root}
	}
	for _, t := range types {
		if _, ok := s.TrueSince(t); !ok {
			return false
		}
	}
	return true
}

// TrueSince reports whether the condition of type t is True, and when it became so. It allocates nothing.
func (s Set) TrueSince(t string) (at time.Time, ok bool) {
	i := s.index(t)
	if i < 0 {
		return time.Time{}, false
	}
	c := &s.object.GetConditions()[i]
	return c.LastTransitionTime.Time, c.Status == metav1.ConditionTrue
}

// Initialize adds the missing dependents and root as Unknown, dated at the object's creation, and
// reports whether that changed anything.
func (s Set) Initialize() bool {
	conditions := s.object.GetConditions()
	changed := false
	for _, t := range s.dependents {
		if s.index(t) < 0 {
			conditions = append(slices.Clip(conditions), s.initial(t))
			changed = true
		}
	}
	if s.root != "" && s.index(s.root) < 0 {
		conditions = append(slices.Clip(conditions), s.initial(s.root))
		changed = true
	}
	if changed {
		s.store(conditions)
	}
	return changed
}

// isFixed reports whether t is the root or one of its dependents.
func (s Set) isFixed(t string) bool {
	return s.root != "" && (t == s.root || slices.Contains(s.dependents, t))
}

// SetTrue sets t to True with the type itself as the reason.
func (s Set) SetTrue(t string) bool { return s.set(t, metav1.ConditionTrue, t, "") }

// SetTrueWithReason sets t to True and reports whether the object changed.
func (s Set) SetTrueWithReason(t, reason, message string) bool {
	return s.set(t, metav1.ConditionTrue, reason, message)
}

// SetFalse sets t to False and reports whether the object changed.
func (s Set) SetFalse(t, reason, message string) bool {
	return s.set(t, metav1.ConditionFalse, reason, message)
}

// SetUnknown returns t to the Unknown state that a fresh object has.
func (s Set) SetUnknown(t string) bool {
	return s.set(t, metav1.ConditionUnknown, ReasonAwaitingReconciliation, awaitingMessage)
}

// SetUnknownWithReason sets t to Unknown and reports whether the object changed.
func (s Set) SetUnknownWithReason(t, reason, message string) bool {
	return s.set(t, metav1.ConditionUnknown, reason, message)
}

// Clear removes the condition of type t and reports whether it was there. The root and its
// dependents cannot be removed; set them to Unknown instead.
func (s Set) Clear(t string) bool {
	i := s.index(t)
	if i < 0 || s.isFixed(t) {
		return false
	}
	s.object.SetConditions(slices.Delete(slices.Clone(s.object.GetConditions()), i, i+1))
	return true
}

const awaitingMessage = "no controller has reported on this yet"

func (s Set) initial(t string) Condition {
	at := s.object.GetCreationTimestamp()
	if at.IsZero() {
		at = metav1.NewTime(s.now())
	}
	return Condition{
		Type: t, Status: metav1.ConditionUnknown, LastTransitionTime: at,
		ObservedGeneration: s.object.GetGeneration(),
		Reason:             ReasonAwaitingReconciliation, Message: awaitingMessage,
	}
}

func (s Set) index(t string) int {
	conditions := s.object.GetConditions()
	for i := range conditions { // not slices.IndexFunc, which copies each
		if conditions[i].Type == t {
			return i
		}
	}
	return -1
}

func (s Set) set(t string, status metav1.ConditionStatus, reason, message string) bool {
	changed := s.Initialize()
	changed = s.write(t, status, reason, message) || changed
	if s.object.GetDeletionTimestamp() != nil {
		changed = s.observeAll() || changed
	}
	if t != s.root && len(s.dependents) > 0 {
		changed = s.sumUp() || changed
	}
	return changed
}

// write puts one condition into the list and keeps the list in its order.
func (s Set) write(t string, status metav1.ConditionStatus, reason, message string) bool {
	next := Condition{
		Type: t, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.object.GetGeneration(),
		LastTransitionTime: metav1.NewTime(s.now().Truncate(time.Second)),
	}
	conditions := slices.Clone(s.object.GetConditions())
	if i := s.index(t); i >= 0 {
		if conditions[i].Status == status {
			next.LastTransitionTime = conditions[i].LastTransitionTime
		}
		if conditions[i] == next {
			return false
		}
		conditions[i] = next
	} else {
		conditions = append(conditions, next)
	}
	s.store(conditions)
	return true
}

// store orders the conditions by transition time, the root last, and puts them on the object.
func (s Set) store(conditions []Condition) {
	slices.SortStableFunc(conditions, func(a, b Condition) int {
		if (a.Type == s.root) != (b.Type == s.root) {
			if a.Type == s.root {
				return 1
			}
			return -1
		}
		return cmp.Or(a.LastTransitionTime.Time.Compare(b.LastTransitionTime.Time), cmp.Compare(a.Type, b.Type))
	})
	s.object.SetConditions(conditions)
}

// observeAll marks every condition as seen at the present generation. A deleted object's
// generation moves without a change of spec, which must not make its conditions look stale.
func (s Set) observeAll() bool {
	conditions := slices.Clone(s.object.GetConditions())
	changed := false
	for i := range conditions {
		if conditions[i].ObservedGeneration != s.object.GetGeneration() {
			conditions[i].ObservedGeneration = s.object.GetGeneration()
			changed = true
		}
	}
	if changed {
		s.object.SetConditions(conditions)
	}
	return changed
}

// sumUp computes the root: True when every dependent is True at the present generation, False as
// soon as one is False, else Unknown. A dependent of an older generation counts as Unknown.
func (s Set) sumUp() bool {
	var failed, open []string
	for _, t := range s.dependents {
		c := s.Get(t)
		switch stale := c.ObservedGeneration != s.object.GetGeneration(); {
		case c.IsTrue() && !stale:
		case c.IsFalse() && !stale:
			failed = append(failed, t+"="+string(metav1.ConditionFalse))
		default:
			open = append(open, t+"="+string(metav1.ConditionUnknown))
		}
	}
	message := strings.Join(append(slices.Clone(failed), open...), ", ")
	switch {
	case len(failed) > 0:
		return s.write(s.root, metav1.ConditionFalse, ReasonUnhealthyDependents, message)
	case len(open) > 0:
		return s.write(s.root, metav1.ConditionUnknown, ReasonReconcilingDependents, message)
	default:
		return s.write(s.root, metav1.ConditionTrue, s.root, "")
	}
}
