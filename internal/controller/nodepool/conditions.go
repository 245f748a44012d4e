package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func newCount(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// validate checks what the schema can't, and whether anything can be launched for the pool; stored is the pool as it was read.
func (c *Controller) validate(ctx context.Context, pool, stored *karpv1.NodePool, class *awsv1.EC2NodeClass) {
	conditions := pool.StatusConditions().WithClock(c.Clock.Now)
	errs, warnings := pool.Validate(karpv1.CoreLabelRules().With(awsv1.WellKnownLabels(), awsv1.RestrictedLabelDomains(), awsv1.LabelAliases()))
	for _, w := range warnings {
		c.Log.Info("nodepool has a setting without effect", "nodepool", pool.Name, "warning", w)
	}
	if len(errs) > 0 {
		conditions.SetFalse(karpv1.ConditionTypeValidationSucceeded, karpv1.ReasonNodePoolValidationFailed, errs.ToAggregate().Error())
		return
	}
	if none := c.unlaunchable(ctx, stored, class); none != "" {
		conditions.SetFalse(karpv1.ConditionTypeValidationSucceeded, karpv1.ReasonNoInstanceTypes, none)
		return
	}
	conditions.SetTrue(karpv1.ConditionTypeValidationSucceeded)
}

// budgetsValid says which disruption budgets do not do what they are there for. It informs: nodes are launched all the same.
func (c *Controller) budgetsValid(pool *karpv1.NodePool) {
	conditions := pool.StatusConditions().WithClock(c.Clock.Now)
	if problem := intake.BudgetProblem(pool, c.Clock.Now()); problem != "" {
		conditions.SetFalse(karpv1.ConditionTypeBudgetsValid, karpv1.ReasonBudgetInvalid, problem)
		return
	}
	conditions.SetTrue(karpv1.ConditionTypeBudgetsValid)
}

// classReady mirrors the readiness of the pool's node class, and returns the class, nil where there is none.
func (c *Controller) classReady(ctx context.Context, pool *karpv1.NodePool) (*awsv1.EC2NodeClass, error) {
	conditions := pool.StatusConditions().WithClock(c.Clock.Now)
	name := pool.Spec.Template.Spec.NodeClassRef.Name
	class := &awsv1.EC2NodeClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: name}, class)
	switch {
	case apierrors.IsNotFound(err):
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, karpv1.ReasonNodeClassNotFound, fmt.Sprintf("there is no EC2NodeClass %q (spec.template.spec.nodeClassRef.name): create it, or name one that exists", name))
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ec2nodeclass %q: %w", name, err)
	case !class.DeletionTimestamp.IsZero():
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, karpv1.ReasonNodeClassTerminating, fmt.Sprintf("EC2NodeClass %q is being deleted", name))
		return nil, nil
	}
	pool.Status.NodeClassObservedGeneration = class.Generation
	ready := class.StatusConditions(true).Root() // as the class's own controller wrote it
	switch {
	case ready.IsTrue():
		conditions.SetTrue(karpv1.ConditionTypeNodeClassReady)
	case ready.IsFalse():
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, ready.Reason, ready.Message)
	default:
		conditions.SetUnknownWithReason(karpv1.ConditionTypeNodeClassReady, karpv1.ReasonNodeClassReadinessUnknown, fmt.Sprintf("EC2NodeClass %q is not known to be ready: %s", name, ready.Message))
	}
	return class, nil
}

// outcomes is how many of a pool's last launches are remembered, and failures how many of them make it unhealthy.
const (
	outcomes = 4
	failures = 2
)

// Health remembers, per NodePool, how its last launches ended. What it writes restrains launches: see intake.Unproven.
//
// Concurrency: safe.
type Health struct {
	mu    sync.Mutex
	pools map[types.UID]*record
	tell  func(pool string)
}

// listen has fn called with the name of each pool of which an outcome changes what its condition says.
func (h *Health) listen(fn func(pool string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = fn
}

type record struct {
	pool                        string
	generation, classGeneration int64
	last                        []outcome
	why                         string // the last claim ended that was given up; empty when that is not known
	unlaunched                  string // the reason of its condition Launched, if it had no instance
}

// outcome is how a launch ended.
type outcome int

const (
	joined outcome = iota
	neverJoined
	neverLaunched
)

// reason is that of a condition that is false. Only instances that never became nodes say that the next ones will not either.
func (r *record) reason() string {
	lost := 0
	for _, o := range r.last {
		if o == neverJoined {
			lost++
		}
	}
	if lost >= failures {
		return karpv1.ReasonRegistrationFailed
	}
	return cmp.Or(r.unlaunched, karpv1.ReasonLaunchFailed)
}

// NewHealth returns an empty memory.
func NewHealth() *Health { return &Health{pools: map[types.UID]*record{}} }

// Registered notes how a launch ended. That an outdated one failed says nothing of the next: what was wrong may have been fixed.
func (h *Health) Registered(claim *karpv1.NodeClaim, ok bool) {
	if !ok && intake.Outdated(claim) {
		return
	}
	for _, o := range claim.OwnerReferences {
		if o.Kind != "NodePool" {
			continue
		}
		h.mu.Lock()
		r := h.pools[o.UID]
		if r == nil {
			r = &record{pool: o.Name}
			h.pools[o.UID] = r
		}
		before, because := r.verdict(), r.reason()
		conditions, how := claim.StatusConditions(), joined
		launched, registered := conditions.Get(karpv1.ConditionTypeLaunched), conditions.Get(karpv1.ConditionTypeRegistered)
		switch {
		case ok:
		case !launched.IsTrue():
			how, r.why, r.unlaunched = neverLaunched, launched.Message, launched.Reason
		default:
			how, r.why = neverJoined, ""
			if registered.IsFalse() {
				r.why = registered.Message
			}
		}
		r.last = append(r.last, how)
		if len(r.last) > outcomes {
			oldest := 0
			if how == neverLaunched && r.last[0] == neverJoined {
				oldest = slices.Index(r.last, neverLaunched) // which says nothing of whether instances become nodes
			}
			r.last = slices.Delete(r.last, oldest, oldest+1)
		}
		changed, tell := before != r.verdict() || because != r.reason(), h.tell
		h.mu.Unlock()
		if changed && tell != nil {
			tell(o.Name)
		}
	}
}

// forget drops what is known of a pool that is gone.
func (h *Health) forget(pool string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid, r := range h.pools {
		if r.pool == pool {
			delete(h.pools, uid)
		}
	}
}

// verdict is 0 unknown, 1 healthy, -1 not.
func (r *record) verdict() int {
	if len(r.last) == 0 {
		return 0
	}
	bad := 0
	for _, o := range r.last {
		if o != joined {
			bad++
		}
	}
	if bad >= failures {
		return -1
	}
	return 1
}

// write puts the verdict into the pool's condition. A change of the pool or its class starts afresh; after a restart the
// condition itself is the memory.
func (h *Health) write(pool *karpv1.NodePool, now func() time.Time) {
	conditions := pool.StatusConditions().WithClock(now)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.pools[pool.UID]
	if r == nil {
		r = &record{pool: pool.Name, generation: pool.Generation, classGeneration: pool.Status.NodeClassObservedGeneration}
		if cond := conditions.Get(karpv1.ConditionTypeNodeRegistrationHealthy); cond != nil && cond.ObservedGeneration == pool.Generation {
			switch {
			case cond.IsTrue():
				r.last = []outcome{joined}
			case cond.IsFalse() && cond.Reason == karpv1.ReasonRegistrationFailed:
				r.last = []outcome{neverJoined, neverJoined}
			case cond.IsFalse():
				r.last, r.unlaunched = []outcome{neverLaunched, neverLaunched}, cond.Reason
			}
		}
		h.pools[pool.UID] = r
	}
	if r.generation != pool.Generation || r.classGeneration != pool.Status.NodeClassObservedGeneration {
		fresh := r.generation == 0
		r.generation, r.classGeneration = pool.Generation, pool.Status.NodeClassObservedGeneration
		if !fresh {
			r.last = nil
		}
	}
	switch r.verdict() {
	case 1:
		conditions.SetTrue(karpv1.ConditionTypeNodeRegistrationHealthy)
	case -1:
		text := "%d or more of the last %d NodeClaims got no node; %s"
		if r.reason() == karpv1.ReasonRegistrationFailed {
			text = "%d or more of the last %d instances never registered as nodes; %s"
		}
		conditions.SetFalse(karpv1.ConditionTypeNodeRegistrationHealthy, r.reason(), fmt.Sprintf(text, failures, outcomes, cmp.Or(r.why, "see the events of the NodeClaims")))
	default:
		conditions.SetUnknown(karpv1.ConditionTypeNodeRegistrationHealthy)
	}
}
