// Package buffer writes into CapacityBuffers what became of them: how many pods they stand for, whether these have a
// shape, and whether there is room for them. The room itself is decided upon where all pods are.
package buffer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

const (
	// settle collects changes of a moment into one write.
	settle = time.Second
	// again is how often all is looked at when nothing happens, for writes that were lost.
	again = 30 * time.Second
)

// State tells of CapacityBuffers and of changes.
type State interface {
	Buffers() []cache.BufferState
	Listen(func(cache.Change))
}

// Options of a Controller; all but Log are required.
type Options struct {
	Client client.Client
	State  State
	Log    *slog.Logger
	Now    func() time.Time
	// Recover runs a function and turns its panic into an error.
	Recover func(name string, fn func() error) error
}

// Controller keeps the status of CapacityBuffers.
type Controller struct {
	o    Options
	poke chan struct{}
}

// New returns a Controller, which listens from now on; Start runs it.
func New(o Options) *Controller {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Controller{o: o, poke: make(chan struct{}, 1)}
	o.State.Listen(func(change cache.Change) {
		if change.Kind != cache.BufferMoved && change.Kind != cache.RoomsSettled {
			return
		}
		select {
		case c.poke <- struct{}{}:
		default:
		}
	})
	return c
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	t := time.NewTimer(again)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.poke:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settle):
			}
		case <-t.C:
		}
		if err := c.o.Recover("capacitybuffer", func() error { return c.Round(ctx) }); err != nil && ctx.Err() == nil {
			c.o.Log.Error("writing the status of capacity buffers failed; it is tried again", "error", err)
		}
		t.Reset(again)
	}
}

// Round writes the status of every buffer whose status is not what it should be.
//
// Errors: the writes that failed; the others are made all the same.
func (c *Controller) Round(ctx context.Context) error {
	var errs []error
	for _, s := range c.o.State.Buffers() {
		b := s.Object.DeepCopy()
		c.describe(b, &s)
		if equality.Semantic.DeepEqual(b.Status, s.Object.Status) {
			continue
		}
		if err := c.o.Client.Status().Patch(ctx, b, client.MergeFrom(s.Object)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("capacitybuffer %s/%s: %w", b.Namespace, b.Name, err))
		}
	}
	return errors.Join(errs...)
}

// describe puts what became of the buffer into its status.
func (c *Controller) describe(b *autoscalingv1beta1.CapacityBuffer, s *cache.BufferState) {
	b.Status.ProvisioningStrategy = new(autoscalingv1beta1.ProvisioningStrategyActiveCapacity)
	b.Status.PodTemplateRef, b.Status.PodTemplateGeneration = nil, nil
	if s.PodTemplate != nil {
		b.Status.PodTemplateRef = &autoscalingv1beta1.LocalObjectRef{Name: s.PodTemplate.Name}
		b.Status.PodTemplateGeneration = new(s.PodTemplate.Generation)
	}
	conditions := b.StatusConditions().WithClock(c.o.Now)
	if s.Reason != autoscalingv1beta1.ReasonResolved {
		b.Status.Replicas = nil
		conditions.SetFalse(autoscalingv1beta1.ConditionTypeReadyForProvisioning, s.Reason, s.Message)
		conditions.SetFalse(autoscalingv1beta1.ConditionTypeProvisioning, autoscalingv1beta1.ReasonNotReadyForProvisioning, s.Message)
		return
	}
	b.Status.Replicas = new(s.Replicas)
	conditions.SetTrueWithReason(autoscalingv1beta1.ConditionTypeReadyForProvisioning, autoscalingv1beta1.ReasonResolved, s.Message)
	switch {
	case s.Pods == 0:
		conditions.SetFalse(autoscalingv1beta1.ConditionTypeProvisioning, autoscalingv1beta1.ReasonBufferEmpty, "there is nothing to keep room for: replicas, percentage and limits come to 0 pods")
	case s.Unsettled > 0:
		// The next decision tells; until then the condition says what was true last.
	case s.Ready == s.Pods:
		conditions.SetTrueWithReason(autoscalingv1beta1.ConditionTypeProvisioning, autoscalingv1beta1.ReasonFitsExistingCapacity, fmt.Sprintf("ready nodes have room for all %d pods", s.Pods))
	default:
		conditions.SetFalse(autoscalingv1beta1.ConditionTypeProvisioning, autoscalingv1beta1.ReasonRequiresNewCapacity, missing(s))
	}
}

// missing words what stands between the buffer and its room.
func missing(s *cache.BufferState) string {
	text := fmt.Sprintf("ready nodes have room for %d of %d pods", s.Ready, s.Pods)
	if s.Ordered > 0 {
		text += fmt.Sprintf("; instances for %d are on their way", s.Ordered)
	}
	if none := s.Pods - s.Ready - s.Ordered; none > 0 {
		text += fmt.Sprintf("; %d have no place: %s", none, s.Why)
	}
	return text
}
