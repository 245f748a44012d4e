package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// InstanceHealth is told how instances fare until they are nodes, and asked about those that never become one.
type InstanceHealth interface {
	// InstanceFailed is told that a claim's instance ended before its node came.
	InstanceFailed(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, why *cloud.Ended)
	// InstanceJoined is told that an instance of a class became a node.
	InstanceJoined(class *awsv1.EC2NodeClass)
	// Examine says in a sentence how an instance is, as far as the cloud knows.
	Examine(ctx context.Context, providerID string) (string, error)
}

// looks is when after its launch an instance is looked at whose node has not come; after the last of them once in so long.
// Instances that can't start are gone within seconds, nodes come within a minute.
var looks = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}

// dueLook is when an instance is to be looked at next that was looked at last at that time, and was launched at the other.
func dueLook(launched, last time.Time) time.Time {
	for _, d := range looks {
		if at := launched.Add(d); at.After(last) {
			return at
		}
	}
	return last.Add(looks[len(looks)-1])
}

// awaitingNode is when the instance of a claim without a node is to be looked at, if it is one.
func (c *Controller) awaitingNode(claim *karpv1.NodeClaim) (due time.Time, ok bool) {
	launched := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched)
	if !launched.IsTrue() || claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) || claim.Status.ProviderID == "" {
		return time.Time{}, false
	}
	return dueLook(launched.LastTransitionTime.Time, c.remember(claim).looked), true
}

// lookWithin is how long a worker waits for what the cloud says of an instance; what it says later is looked up again. A cloud that
// hangs must not keep all workers from nodes that have joined.
const lookWithin = 5 * time.Second

func (c *Controller) lookUp(ctx context.Context, claim *karpv1.NodeClaim) (*cloud.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return c.Cloud.Get(ctx, claim.Status.ProviderID)
}

// reportedLost looks whether the instance of a claim that has no node yet has ended, and if so tells why on the claim, its class
// and its pool, sees to it that the same is not launched again at once, and deletes the claim.
func (c *Controller) reportedLost(ctx context.Context, claim *karpv1.NodeClaim) bool {
	now := c.Clock.Now()
	if due, ok := c.awaitingNode(claim); !ok || now.Before(due) {
		return false
	}
	before := c.remember(claim).looked
	c.remember(claim).looked = now
	m, err := c.lookUp(ctx, claim)
	var ended *cloud.Ended
	switch {
	case err == nil:
		ended = m.Ended
	case !cloud.IsNotFound(err) || !errors.As(err, &ended):
		// It may only not be visible yet, or EC2 did not answer.
		return false
	}
	if ended == nil || m != nil && m.State != "shutting-down" && m.State != "terminated" {
		return false
	}
	switch err := c.failLaunch(ctx, claim, ended); {
	case apierrors.IsConflict(err):
		c.remember(claim).looked = before // another loop has written to it: at once again
		return false
	case err != nil:
		c.Log.Error("giving up a nodeclaim whose instance has ended failed; it is tried again", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID, "error", err)...)
		return false
	}
	return true
}

func (c *Controller) failLaunch(ctx context.Context, claim *karpv1.NodeClaim, ended *cloud.Ended) error {
	class, err := c.class(ctx, claim)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("instance %s ended before it became a node: %s", claim.Status.ProviderID, ended.Message)
	marked := claim.DeepCopy() // what can't be written now is not to be written later by the caller
	conditions := marked.StatusConditions().WithClock(c.Clock.Now)
	conditions.SetFalse(karpv1.ConditionTypeRegistered, ended.Reason, cut(message, messageLimit))
	if err := c.Client.Status().Patch(ctx, marked, client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status of nodeclaim %q: %w", claim.Name, err))
	}
	marked.DeepCopyInto(claim)
	if class != nil && c.Instances != nil {
		c.Instances.InstanceFailed(claim, class, ended) // before the claim's pods are looked at anew
	}
	if err := c.giveUp(ctx, claim, "machine_ended", message); err != nil {
		return err
	}
	c.Recorder.Event(claim, corev1.EventTypeWarning, events.InstanceGone, cut(message, 1000))
	if class != nil && ended.Blame == cloud.BlameClass {
		// The instance's name would make each a new event.
		c.Recorder.Event(class, corev1.EventTypeWarning, ended.Reason, cut("an instance of this class ended before it became a node: "+ended.Message, 1000))
	}
	if c.Pools != nil && ended.Blame != cloud.BlamePool { // that EC2 is short, or takes spot instances back, is no fault of the NodePool's
		c.Pools.Registered(claim, false)
	}
	return nil
}

// class is the claim's class, nil if there is none.
func (c *Controller) class(ctx context.Context, claim *karpv1.NodeClaim) (*awsv1.EC2NodeClass, error) {
	class := &awsv1.EC2NodeClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ec2nodeclass %q: %w", claim.Spec.NodeClassRef.Name, err)
	}
	return class, nil
}

// joined tells that the claim's instance has become a node.
func (c *Controller) joined(ctx context.Context, claim *karpv1.NodeClaim) {
	if c.Pools != nil {
		c.Pools.Registered(claim, true)
	}
	if c.Instances == nil {
		return
	}
	if class, err := c.class(ctx, claim); err == nil && class != nil {
		c.Instances.InstanceJoined(class)
	}
}

// examined is what the cloud says of an instance that never became a node, as the beginning of a message.
func (c *Controller) examined(ctx context.Context, claim *karpv1.NodeClaim) string {
	if c.Instances == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	text, err := c.Instances.Examine(ctx, claim.Status.ProviderID)
	if err != nil {
		c.Log.Warn("an instance that never became a node could not be examined; it is ended without", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID, "error", err)...)
		return ""
	}
	return text + ". "
}
