// Package drift says on NodeClaims that their instance differs from what is asked for now: from the template or the
// requirements of its NodePool; from what is sold; and from its node class, in the fields that decide how a node is made, in
// the version of the user's own launch template, in the image, in security groups or subnet, in the capacity reservation, or
// in the placement group.
//
// It only says so; replacing nodes is for package disrupt. What is not known never counts as a difference: while an image
// or a template can't be looked up, or is gone, nothing is said of the instances that were launched from it. Claims are
// compared when something that a difference follows from has changed, and at no other time.
package drift

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Controller keeps the condition Drifted of NodeClaims.
type Controller struct {
	Client    client.Client
	Instances Instances
	Types     Types // nil: nothing is said of what is not sold any more
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Clock     clock.Clock

	instances instances
	offers    offers
	offered   time.Time // when what is sold was last looked at
	due       []string  // provider IDs of instances that changed, whose claims are not compared again yet
	moved     chan event.TypedGenericEvent[client.Object]
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	launched := predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return ofClaim(e.ObjectOld) != ofClaim(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	changed := predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return ofClass(e.ObjectOld) != ofClass(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	edited := predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool { return ofPool(e.ObjectOld) != ofPool(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	c.moved = make(chan event.TypedGenericEvent[client.Object])
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("adding the look through instances: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.drift").
		WatchesRawSource(source.Channel(c.moved, &handler.EnqueueRequestForObject{})).
		For(&karpv1.NodeClaim{}, builder.WithPredicates(launched)).
		Watches(&awsv1.EC2NodeClass{}, handler.EnqueueRequestsFromMapFunc(c.claimsOfClass), builder.WithPredicates(changed)).
		Watches(&karpv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(c.claimsOfPool), builder.WithPredicates(edited)).
		WithOptions(controller.Options{RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "nodeclaim.drift", c))
}

// ofClaim is all of a claim that a difference follows from. Labels are written together with the launch.
func ofClaim(o client.Object) string {
	claim, ok := o.(*karpv1.NodeClaim)
	if !ok {
		return ""
	}
	a := claim.Annotations
	return fmt.Sprintf("%q", []any{
		claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched), claim.Status.ImageID,
		a[karpv1.NodePoolHashAnnotationKey], a[karpv1.NodePoolHashVersionAnnotationKey],
		a[awsv1.AnnotationLaunchTemplate], a[awsv1.AnnotationEC2NodeClassHash], a[awsv1.AnnotationEC2NodeClassHashVersion],
		claim.Labels[awsv1.LabelCapacityReservationID], claim.Labels[awsv1.LabelPlacementGroupID],
	})
}

// ofClass is all of a class that a difference follows from.
func ofClass(o client.Object) string {
	class, ok := o.(*awsv1.EC2NodeClass)
	if !ok {
		return ""
	}
	a := class.Annotations
	return fmt.Sprintf("%q", []any{
		a[awsv1.AnnotationEC2NodeClassHash], a[awsv1.AnnotationEC2NodeClassHashVersion],
		class.Spec.LaunchTemplate != nil, class.Status.LaunchTemplate.Ref(), holds(class, awsv1.ConditionTypeLaunchTemplateReady),
		holds(class, awsv1.ConditionTypeAMIsReady), class.Status.AMIs,
		holds(class, awsv1.ConditionTypeSecurityGroupsReady), class.SecurityGroupIDs(), holds(class, awsv1.ConditionTypeSubnetsReady), subnetsOf(class),
		holds(class, awsv1.ConditionTypeCapacityReservationsReady), reservationIDs(class),
		holds(class, awsv1.ConditionTypePlacementGroupReady), placementGroupID(class),
	})
}

// ofPool is all of a pool that a difference follows from.
func ofPool(o client.Object) string {
	pool, ok := o.(*karpv1.NodePool)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q", []any{
		pool.Annotations[karpv1.NodePoolHashAnnotationKey], pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey],
		intake.Terms(pool.Spec.Template.Spec.Requirements),
	})
}

func reservationIDs(class *awsv1.EC2NodeClass) []string {
	var out []string
	for i := range class.Status.CapacityReservations {
		out = append(out, class.Status.CapacityReservations[i].ID)
	}
	return out
}

// notGone is nil for an instance that is gone: there is nothing left to compare.
func notGone(err error) error {
	if cloud.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Controller) claimsOfClass(ctx context.Context, o client.Object) []reconcile.Request {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list, client.MatchingFields{index.ClaimClass: o.GetName()}); err != nil {
		c.Log.Error("listing the nodeclaims of a changed ec2nodeclass failed; each is compared when it changes itself", "ec2nodeclass", o.GetName(), "error", err)
		return nil
	}
	return requests(&list)
}

func (c *Controller) claimsOfPool(ctx context.Context, o client.Object) []reconcile.Request {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list, client.MatchingLabels{karpv1.NodePoolLabelKey: o.GetName()}); err != nil {
		c.Log.Error("listing the nodeclaims of a changed nodepool failed; each is compared when it changes itself", "nodepool", o.GetName(), "error", err)
		return nil
	}
	return requests(&list)
}

func requests(list *karpv1.NodeClaimList) []reconcile.Request {
	out := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		out[i] = reconcile.Request{NamespacedName: client.ObjectKey{Name: list.Items[i].Name}}
	}
	return out
}

// poolOf is the pool of a claim; nil if it has none, or it is gone.
func (c *Controller) poolOf(ctx context.Context, claim *karpv1.NodeClaim) (*karpv1.NodePool, error) {
	name := claim.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return nil, nil
	}
	pool := &karpv1.NodePool{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: name}, pool)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading nodepool %q: %w", name, err)
	}
	return pool, nil
}

// Reconcile writes the condition of one claim.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &karpv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !index.Managed(claim) || !claim.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pool, err := c.poolOf(ctx, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	stored := claim.DeepCopy()
	claim = claim.DeepCopy()
	conditions := claim.StatusConditions().WithClock(c.Clock.Now)
	said := conditions.Get(karpv1.ConditionTypeDrifted)
	was := ""
	if said.IsTrue() {
		was = said.Reason
	}
	reason, message, gone := judge(subject{
		claim: claim, class: class, instance: c.instances.of(claim), pool: pool, typ: c.offers.typeOf(claim),
		offered: &c.offers, now: c.Clock.Now(),
	}, was)
	if reason == awsv1.ReasonCapacityReservationDrift && was != reason {
		// One that has ended is not selected either. Its instance is on demand then and will be relabelled.
		m, err := c.Instances.Get(ctx, claim.Status.ProviderID)
		if err != nil {
			return reconcile.Result{}, notGone(fmt.Errorf("reading the instance of nodeclaim %q: %w", claim.Name, err))
		}
		if m.ReservationID == "" {
			return reconcile.Result{}, nil
		}
	}
	switch {
	case reason != "":
		conditions.SetTrueWithReason(karpv1.ConditionTypeDrifted, reason, message)
	case gone:
		conditions.Clear(karpv1.ConditionTypeDrifted)
	}
	if equality.Semantic.DeepEqual(stored.Status, claim.Status) {
		return reconcile.Result{}, nil
	}
	err = c.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the drift of nodeclaim %q: %w", claim.Name, err))
	}
	c.Log.Info("nodeclaim compared with what is asked for", "nodeclaim", claim.Name, "drifted", claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted), "reason", reason)
	return reconcile.Result{}, nil
}
