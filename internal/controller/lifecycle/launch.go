package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// messageLimit cuts the cloud's words in a condition, as far as the API takes events: what was wrong comes last in them. The whole text is
// in the log.
const messageLimit = 1000

// launch launches the instance of a claim. gone is true when the claim was deleted because it can't be served.
func (c *Controller) launch(ctx context.Context, claim *karpv1.NodeClaim) (gone bool, err error) {
	instance, err := c.instance(ctx, claim)
	if errors.Is(err, errLaunching) {
		return false, err
	}
	if err != nil {
		return c.launchFailed(ctx, claim, err)
	}
	// What the user asked for wins over what the cloud adds.
	labels := maps.Clone(instance.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, claim.Labels)
	claim.Labels = labels
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	maps.Copy(claim.Annotations, instance.Annotations)
	claim.Status.ProviderID = instance.ProviderID
	claim.Status.ImageID = instance.ImageID
	claim.Status.Capacity = resourceList(instance.Capacity)
	claim.Status.Allocatable = resourceList(instance.Allocatable)
	claim.StatusConditions().WithClock(c.Clock.Now).SetTrue(karpv1.ConditionTypeLaunched)
	planned, launched := c.priced(claim, instance)
	if known := c.remember(claim); !known.told { // a claim that could not be written comes here again
		known.told = true
		c.Log.InfoContext(ctx, "launched nodeclaim", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", instance.ProviderID, "instance_type", instance.InstanceType,
			"zone", instance.Zone, "capacity_type", instance.CapacityType, "price", launched, "planned_price", planned, "launch_id", instance.LaunchID, "after", c.Clock.Since(claim.CreationTimestamp.Time))...)
	}
	return false, nil
}

// instance asks the cloud once per claim; a second call with a stale claim gets the first answer.
//
// Errors: errLaunching while the cloud has not answered.
func (c *Controller) instance(ctx context.Context, claim *karpv1.NodeClaim) (*cloud.Instance, error) {
	known := c.remember(claim)
	if known.instance != nil {
		return known.instance, nil
	}
	if known.launching != nil {
		return known.take()
	}
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading ec2nodeclass %q: %w", claim.Spec.NodeClassRef.Name, err)
		}
		return nil, c.classNotReady(claim, "NodeClassNotFound", fmt.Errorf("ec2nodeclass %q does not exist", claim.Spec.NodeClassRef.Name))
	}
	if !class.DeletionTimestamp.IsZero() {
		return nil, c.classNotReady(claim, "NodeClassTerminating", fmt.Errorf("ec2nodeclass %q is being deleted", class.Name))
	}
	if c.Waiting != nil {
		if since, ok := c.Waiting.WaitingFor(claim.Name); ok {
			c.Metrics.PodToFleet.Observe(c.Clock.Since(since).Seconds())
		}
	}
	c.submit(ctx, known, claim, class)
	return known.take()
}

// classNotReady is the error of a launch that is not asked of the cloud. It counts as if the cloud had refused it, as in Karpenter,
// where the cloud reads the class.
func (c *Controller) classNotReady(claim *karpv1.NodeClaim, reason string, why error) error {
	c.Metrics.CloudErrors.WithLabelValues("nodeclaim.lifecycle", "Create", "aws", "NodeClassNotReadyError").Inc()
	return &cloud.Error{Op: "launching nodeclaim " + claim.Name, Class: cloud.ClassNotReady, Reason: reason, Err: why}
}

// launchFailed decides what a failed launch means: capacity that can't be had and classes that are not ready end the
// claim, so that its pods are looked at anew; anything else is tried again until the launch timeout.
func (c *Controller) launchFailed(ctx context.Context, claim *karpv1.NodeClaim, err error) (gone bool, _ error) {
	class := cloud.ClassOf(err)
	c.tellPods(claim, err)
	switch class {
	case cloud.Exhausted:
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.InsufficientCapacityError, "%s", cut(err.Error(), 1000))
		c.tellOfQuota(claim, err)
		return true, c.giveUp(ctx, claim, "insufficient_capacity", err.Error())
	case cloud.ClassNotReady:
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.NodeClassNotReady, "%s", cut(err.Error(), 1000))
		return true, c.giveUp(ctx, claim, "nodeclass_not_ready", err.Error())
	}
	reason := karpv1.ReasonLaunchFailed
	if e, ok := asCloud(err); ok && e.Reason != "" {
		reason = e.Reason
	}
	// Identifiers of single requests would make every failure look like news, and every news is a write.
	claim.StatusConditions().WithClock(c.Clock.Now).SetUnknownWithReason(karpv1.ConditionTypeLaunched, reason, cut(cloud.Lasting(err.Error()), messageLimit))
	return false, err
}

// firstPause and longestPause bound the pause between two tries to launch.
const firstPause, longestPause = time.Second, time.Minute

// pause notes one more failure and says how long to wait before the next try.
func (c *Controller) pause(claim *karpv1.NodeClaim) time.Duration {
	m := c.remember(claim)
	wait := min(longestPause, firstPause<<min(m.failures, 6))
	m.failures++
	m.retryAt = c.Clock.Now().Add(wait)
	return wait
}

// resourceList writes amounts in the form of the Kubernetes API.
func resourceList(in map[string]int64) corev1.ResourceList {
	out := make(corev1.ResourceList, len(in))
	for name, v := range in {
		switch name {
		case res.CPU:
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(v, resource.DecimalSI)
		case res.Memory, res.EphemeralStorage:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(v, resource.BinarySI)
		default:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(v, resource.DecimalSI)
		}
	}
	return out
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-3] + "..."
}
