package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

//go:embed notes.yaml
var notes string

// expire lets an instance come of age.
func (r *run) expire(ctx context.Context) error {
	r.title("7. Old age: an instance of NodePool notes may live for 20 seconds; another is ready before its pods move")
	if err := r.cluster.Apply(ctx, []byte(notes)); err != nil {
		return err
	}
	r.replicas["notes"] = 2
	if err := r.await(ctx, "the pods of notes run", func(c counts) bool { return c.pods == r.want() && c.running == c.pods && r.readyOf("notes") > 0 }); err != nil {
		return err
	}
	first := r.claimsOf("notes")[0]
	if err := r.await(ctx, "instance "+first.Name+" is replaced", func(c counts) bool {
		return c.pods == r.want() && c.running == c.pods && r.gone(first)
	}); err != nil {
		return err
	}
	ready, name := r.firstReady("notes", first.Name)
	evicted := r.firstEviction(first)
	switch {
	case evicted.IsZero():
		return fmt.Errorf("no pod of %s was seen to go", first.Name)
	case ready.IsZero():
		return errors.New("no other instance of notes was seen to be ready")
	case evicted.Before(ready.Truncate(time.Second)):
		return fmt.Errorf("the first pod of %s was evicted at %s, and its replacement %s was ready at %s", first.Name, evicted, name, ready)
	}
	r.line("%s was ready for its pods before the first was evicted, %.0f s after %s had been asked for", name, evicted.Sub(first.CreationTimestamp.Time).Seconds(), first.Name)
	return nil
}

func (r *run) gone(claim *karpv1.NodeClaim) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.gone[claim.UID]
}

// firstReady is when the first instance of a pool but one was ready, by the clock of the cluster, in whole seconds.
func (r *run) firstReady(pool, but string) (at time.Time, name string) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	for claim, ready := range r.state.ready {
		if ready.pool == pool && claim != but && (at.IsZero() || ready.at.Before(at)) {
			at, name = ready.at, claim
		}
	}
	return at, name
}

// firstEviction is when the first pod of an instance was asked to end, by the clock of the cluster, in whole seconds.
func (r *run) firstEviction(claim *karpv1.NodeClaim) time.Time {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	var first time.Time
	for _, life := range r.state.pods {
		if at := life.evicted; life.node == claim.Status.NodeName && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
