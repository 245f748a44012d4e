package interruption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// windowEvery is how often it is looked whether the time of scheduled work has come near.
const windowEvery = 15 * time.Second

// work is one entry of the maintenance annotation, which is how scheduled work outlasts a restart.
type work struct {
	ID        string    `json:"id"`
	Code      string    `json:"code,omitempty"`
	NotBefore time.Time `json:"notBefore"`
	// Polled: read from instance status, which also shows when it is no longer planned.
	Polled bool `json:"polled,omitempty"`
}

// Scheduled is the soonest work that AWS has scheduled on the instance of a claim: AWS's word for it, and when it begins at the
// earliest. ok is false where none is.
func Scheduled(claim *karpv1.NodeClaim) (code string, notBefore time.Time, ok bool) {
	works := worksOf(claim) // sorted by time
	if len(works) == 0 {
		return "", time.Time{}, false
	}
	return works[0].Code, works[0].NotBefore, true
}

// worksOf reads the annotation; one that can't be read counts as none, and is written anew when AWS tells of work again.
func worksOf(claim *karpv1.NodeClaim) []work {
	text, ok := claim.Annotations[index.MaintenanceAnnotation]
	if !ok {
		return nil
	}
	var out []work
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// setWorks writes the annotation of a claim in hand.
func setWorks(claim *karpv1.NodeClaim, works []work) error {
	if len(works) == 0 {
		delete(claim.Annotations, index.MaintenanceAnnotation)
		return nil
	}
	slices.SortFunc(works, func(a, b work) int {
		if c := a.NotBefore.Compare(b.NotBefore); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	text, err := json.Marshal(works)
	if err != nil {
		return fmt.Errorf("writing down scheduled work: %w", err)
	}
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[index.MaintenanceAnnotation] = string(text)
	return nil
}

// schedule drains the instance if the work on it is near, and else writes down when to.
func (c *Controller) schedule(ctx context.Context, claim *karpv1.NodeClaim, n news) error {
	m, now := *n.maintenance, c.Clock.Now()
	if m.Over {
		return c.callOff(ctx, claim, m.ID)
	}
	if m.NotBefore.IsZero() {
		m.NotBefore = now
	}
	m.NotBefore = m.NotBefore.UTC().Truncate(time.Second)
	already := c.ledger.of(claim.UID)
	if err := already.take(ctx); err != nil {
		return fmt.Errorf("waiting for the turn of nodeclaim %q: %w", claim.Name, err)
	}
	if already.off[m.ID] { // messages of a queue come in any order
		already.leave()
		return nil
	}
	if !m.NotBefore.Add(-c.MaintenanceLead).After(now) {
		already.leave()
		return c.drainFor(ctx, claim, n, m)
	}
	defer already.leave()
	var told bool
	written, err := c.rewrite(ctx, claim, func(works []work) []work {
		if slices.ContainsFunc(works, func(w work) bool { return w.ID == m.ID && w.NotBefore.Equal(m.NotBefore) }) {
			return works
		}
		// The same work is announced by message and by status, each with an id of its own.
		told = slices.ContainsFunc(works, func(w work) bool { return w.NotBefore.Sub(m.NotBefore).Abs() < time.Minute })
		works = slices.DeleteFunc(works, func(w work) bool { return w.ID == m.ID })
		return append(works, work{ID: m.ID, Code: m.Code, NotBefore: m.NotBefore, Polled: n.polled})
	})
	if err != nil {
		return err
	}
	if written && !told {
		c.tell(ctx, claim, n.rule.eventType, n.rule.event, about(n.rule.says, ": %s at %s; its pods are moved from %s on", m.Code, when(m.NotBefore), when(m.NotBefore.Add(-c.MaintenanceLead))))
		c.Log.Info("maintenance is scheduled", "nodeclaim", claim.Name, "code", m.Code, "not_before", m.NotBefore, "drain_from", m.NotBefore.Add(-c.MaintenanceLead))
	}
	return nil
}

// drainFor drains an instance ahead of scheduled work. Work that ends the instance is its deadline too.
func (c *Controller) drainFor(ctx context.Context, claim *karpv1.NodeClaim, n news, m queue.Maintenance) error {
	n.rule.says = about(n.rule.says, ": %s at %s", m.Code, when(m.NotBefore))
	by := time.Time{}
	if end := m.NotBefore.Add(-margin); ends(&m) && end.After(c.Clock.Now()) {
		by = end
	}
	return c.drain(ctx, claim, n, by)
}

// callOff takes one piece of work off the list. Where the claim in hand does not have it, the apiserver is asked: the word
// that it is off may come before the cache shows that it was written down, and nothing says it a second time. It may also
// come before the announcement, which then counts for nothing.
func (c *Controller) callOff(ctx context.Context, claim *karpv1.NodeClaim, id string) error {
	already := c.ledger.of(claim.UID)
	if err := already.take(ctx); err != nil {
		return fmt.Errorf("waiting for the turn of nodeclaim %q: %w", claim.Name, err)
	}
	defer already.leave()
	if already.off == nil {
		already.off = map[string]bool{}
	}
	already.off[id] = true
	it := func(w work) bool { return w.ID == id }
	if !slices.ContainsFunc(worksOf(claim), it) {
		fresh := &karpv1.NodeClaim{}
		if err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(claim), fresh); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("reading the scheduled work of nodeclaim %q: %w", claim.Name, err)
		}
		if fresh.UID != claim.UID {
			return nil
		}
		claim = fresh
	}
	return c.release(ctx, claim, it)
}

// release takes entries off the list of scheduled work.
func (c *Controller) release(ctx context.Context, claim *karpv1.NodeClaim, over func(work) bool) error {
	written, err := c.rewrite(ctx, claim, func(works []work) []work { return slices.DeleteFunc(works, over) })
	if err != nil {
		return err
	}
	if written && len(worksOf(claim)) == 0 {
		c.tell(ctx, claim, normal, events.MaintenanceOver, "the work that AWS had scheduled on the instance is done or was called off; the instance stays")
		c.Log.Info("maintenance is over", "nodeclaim", claim.Name)
	}
	return nil
}

// rewriteTries is how often a claim is read again because somebody else wrote to it meanwhile.
const rewriteTries = 4

// rewrite changes the list of scheduled work of a claim in hand, and reports whether there was anything to change. A claim
// that is being deleted is left as it is.
//
// The list is written only onto the claim that it was read from: two pieces of news that come at once must not lose one of
// the two. Where somebody has written to the claim meanwhile, it is read again from the apiserver at once; the queue would
// bring a message back only when its visibility time is over.
func (c *Controller) rewrite(ctx context.Context, claim *karpv1.NodeClaim, change func([]work) []work) (written bool, err error) {
	for try := 1; claim.DeletionTimestamp.IsZero(); try++ {
		works := worksOf(claim)
		left := change(slices.Clone(works))
		if slices.Equal(works, left) {
			return false, nil
		}
		stored := claim.DeepCopy()
		if err := setWorks(claim, left); err != nil {
			return false, err
		}
		if len(left) == 0 && claim.Annotations[index.InterruptedAnnotation] == string(queue.ScheduledChange) {
			unmark(claim) // an end that was written for this work
		}
		err := c.Client.Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			return true, nil
		}
		if apierrors.IsConflict(err) && try < rewriteTries {
			fresh := &karpv1.NodeClaim{}
			if err = c.APIReader.Get(ctx, client.ObjectKeyFromObject(stored), fresh); err == nil && fresh.UID == stored.UID {
				*claim = *fresh
				continue
			}
		}
		if client.IgnoreNotFound(err) == nil {
			return false, nil // it is gone, and another one of its name is none of this news' business
		}
		return false, fmt.Errorf("writing down scheduled work on nodeclaim %q: %w", stored.Name, err)
	}
	return false, nil
}

// unmark takes off a claim in hand by when it has to be gone, and why.
func unmark(claim *karpv1.NodeClaim) {
	delete(claim.Annotations, karpv1.NodeClaimTerminationTimestampAnnotationKey)
	delete(claim.Annotations, index.InterruptedAnnotation)
}

// stale is how long after its end a claim that nobody has deleted keeps that end. Who sets one deletes the claim as well.
const stale = time.Minute

// outlived takes an end off a claim that has lived on past it: else its pods would be deleted past their budgets whenever
// it goes.
func (c *Controller) outlived(ctx context.Context, claim *karpv1.NodeClaim, now time.Time) error {
	by, ok := deadline.Of(claim)
	if !ok || now.Sub(by) < stale {
		return nil
	}
	stored := claim
	claim = claim.DeepCopy()
	unmark(claim)
	// Not where somebody has written a new one meanwhile.
	err := c.Client.Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking an end off nodeclaim %q that is over: %w", claim.Name, err)
	}
	c.Log.Info("took an end off a nodeclaim that has lived on past it", "nodeclaim", claim.Name, "end", by)
	return nil
}

// Windows drains the instances whose scheduled work has come near. Those that are being drained already are looked at too:
// a drain may have been cut short before its end was written.
func (c *Controller) Windows(ctx context.Context) error {
	var list karpv1.NodeClaimList
	// They are only read here; of those that are written to, copies are.
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	now := c.Clock.Now()
	var errs []error
	there := map[types.UID]bool{}
	for i := range list.Items {
		claim := &list.Items[i]
		there[claim.UID] = true
		if !index.Managed(claim) {
			continue
		}
		if claim.DeletionTimestamp.IsZero() && !c.ledger.begun(claim.UID) {
			errs = append(errs, c.outlived(ctx, claim, now))
		}
		for _, w := range worksOf(claim) {
			if w.NotBefore.Add(-c.MaintenanceLead).After(now) {
				continue
			}
			n := news{kind: queue.ScheduledChange, rule: rules[queue.ScheduledChange].of(claim), at: now}
			errs = append(errs, c.drainFor(ctx, claim.DeepCopy(), n, queue.Maintenance{ID: w.ID, Code: w.Code, NotBefore: w.NotBefore}))
			break
		}
	}
	c.ledger.keep(there)
	return errors.Join(errs...)
}
