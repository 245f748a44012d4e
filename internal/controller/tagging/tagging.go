// Package tagging puts the names of its node and its NodeClaim on every instance that has joined, and that of the cluster on
// those that an older release launched without. The names serve people and their bills; nothing waits for them.
//
// EC2 sets the same tags on all resources of a call, and these differ from instance to instance, so each instance takes a call.
// They are made side by side, as fast as EC2 takes them: a refusal for their rate slows all of them down.
package tagging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// workers is how many instances are tagged at a time.
	workers = 20
	// firstRetry and lastRetry bound the pause after a failure, which doubles.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
)

// listAge is how old a list of instances may be in which it is looked for names: an instance is in it long before its node
// joins.
const listAge = 15 * time.Second

// Tagger is the part of the cloud that the controller needs; see cloud.Provider.
type Tagger interface {
	Tag(ctx context.Context, tags map[string]map[string]string) error
	List(ctx context.Context, maxAge time.Duration) ([]*cloud.Instance, error)
	Get(ctx context.Context, providerID string) (*cloud.Instance, error)
}

// Controller tags the instances of NodeClaims.
type Controller struct {
	client  client.Client
	cloud   Tagger
	cluster string // name
	metrics *obs.Metrics
	log     *slog.Logger

	pace pace
}

// New returns a Controller for the instances of a cluster, which waits by the given clock.
func New(c client.Client, tagger Tagger, cluster string, metrics *obs.Metrics, log *slog.Logger, clk clock.Clock) *Controller {
	return &Controller{client: c, cloud: tagger, cluster: cluster, metrics: metrics, log: log, pace: pace{clock: clk}}
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	wanted := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*karpv1.NodeClaim)
		return ok && due(claim)
	})
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.tagging").
		For(&karpv1.NodeClaim{}, builder.WithPredicates(wanted)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff.Between(firstRetry, lastRetry)}).
		Complete(c.metrics.Guard(c.log, "nodeclaim.tagging", c))
}

// due reports whether a claim's instance is to be tagged: its node is known, and the claim does not say that it has its names
// and that of the cluster. Instances that older releases of other controllers launched may lack the latter.
func due(claim *karpv1.NodeClaim) bool {
	return claim.DeletionTimestamp.IsZero() && claim.Status.NodeName != "" && claim.Status.ProviderID != "" && !(named(claim) && clustered(claim))
}

func named(claim *karpv1.NodeClaim) bool {
	return claim.Annotations[awsv1.AnnotationInstanceTagged] == "true"
}

func clustered(claim *karpv1.NodeClaim) bool {
	return claim.Annotations[awsv1.AnnotationClusterNameTaggedCompatibility] == "true"
}

// Reconcile tags the instance of one claim, once.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &karpv1.NodeClaim{}
	if err := c.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !index.Managed(claim) || !due(claim) {
		return reconcile.Result{}, nil
	}
	m, unread := c.instance(ctx, claim.Status.ProviderID)
	if cloud.IsNotFound(unread) {
		return reconcile.Result{}, nil // who compares instances with claims deletes the claim
	}
	tags, marks, err := c.missing(ctx, claim, m)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, unread)
	}
	if len(tags) > 0 {
		if err := c.pace.wait(ctx); err != nil {
			return reconcile.Result{}, nil //nolint:nilerr // being told to stop is no failure
		}
		err := c.cloud.Tag(ctx, map[string]map[string]string{claim.Status.ProviderID: tags})
		c.pace.note(cloud.ClassOf(err) == cloud.Throttled && err != nil)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("tagging instance %s of nodeclaim %q: %w", claim.Status.ProviderID, claim.Name, err)
		}
	}
	tagged := claim.DeepCopy()
	if tagged.Annotations == nil {
		tagged.Annotations = map[string]string{}
	}
	for _, key := range marks {
		tagged.Annotations[key] = "true"
	}
	if err := c.client.Patch(ctx, tagged, client.MergeFrom(claim)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("marking nodeclaim %q as tagged: %w", claim.Name, err))
	}
	if unread != nil {
		// Its names do not wait for the cluster's.
		c.log.Warn("whether an instance bears the name of the cluster is not known", "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID, "error", unread, "retry_in", lastRetry)
		return reconcile.Result{RequeueAfter: lastRetry}, nil
	}
	return reconcile.Result{}, nil
}

// missing are the tags that the claim's instance lacks, and the annotations that say that it has them; m is nil while EC2
// does not tell. A Name that the class or the user's own launch template gives all its instances stays.
func (c *Controller) missing(ctx context.Context, claim *karpv1.NodeClaim, m *cloud.Instance) (tags map[string]string, marks []string, err error) {
	tags = map[string]string{}
	if !named(claim) {
		tags[awsv1.TagNodeClaim], tags[awsv1.TagName] = claim.Name, claim.Status.NodeName
		own, err := c.ownName(ctx, claim, m)
		if err != nil {
			return nil, nil, err
		}
		if own {
			delete(tags, awsv1.TagName)
		}
		marks = append(marks, awsv1.AnnotationInstanceTagged)
	}
	if m == nil {
		return tags, marks, nil
	}
	// Not every policy allows this tag to be set later, so it is set only where it is missing.
	if m.Tags[awsv1.TagEKSCluster] == "" {
		tags[awsv1.TagEKSCluster] = c.cluster
	}
	return tags, append(marks, awsv1.AnnotationClusterNameTaggedCompatibility), nil
}

// ownName reports whether the class or the user's own launch template names the instance.
func (c *Controller) ownName(ctx context.Context, claim *karpv1.NodeClaim, m *cloud.Instance) (bool, error) {
	class := &awsv1.EC2NodeClass{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ec2nodeclass %q: %w", claim.Spec.NodeClassRef.Name, err)
	}
	if _, own := class.Spec.Tags[awsv1.TagName]; own {
		return true, nil
	}
	if claim.Annotations[awsv1.AnnotationLaunchTemplate] == "" {
		return false, nil
	}
	if m == nil {
		return false, fmt.Errorf("looking whether the launch template of nodeclaim %q names its instances", claim.Name)
	}
	return m.Tags[awsv1.TagName] != "", nil
}

// instance is an instance out of the list that all share, or by itself while it is not in it.
func (c *Controller) instance(ctx context.Context, providerID string) (*cloud.Instance, error) {
	list, err := c.cloud.List(ctx, listAge)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.ProviderID == providerID {
			return m, nil
		}
	}
	return c.cloud.Get(ctx, providerID)
}
