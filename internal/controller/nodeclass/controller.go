// Package nodeclass keeps the status of EC2NodeClasses true: what they select, whether that is complete, their hash, and
// their end, which waits for the last NodeClaim.
package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/cloud/kubeletfields"
)

const (
	// steady is how soon a ready class is resolved again; unready how soon one that is not.
	steady  = time.Minute
	unready = 10 * time.Second
	// overtaken is how soon a class is resolved again that somebody else has written to meanwhile: the informer has it by then.
	overtaken = time.Second
)

// Controller reconciles EC2NodeClasses.
type Controller struct {
	Client           client.Client
	Cloud            cloud.Provider
	Recorder         record.EventRecorder
	Metrics          *obs.Metrics
	Log              *slog.Logger
	Clock            clock.Clock
	ReservedCapacity bool
	// Hash computes the hash of a class for drift.
	Hash func(*awsv1.EC2NodeClass) string
	// HashVersion names the way of hashing.
	HashVersion string
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	gone := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
	// The class's own status writes wake nobody: only its spec, annotations and deletion count.
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclass").
		For(&awsv1.EC2NodeClass{}, builder.WithPredicates(changed)).
		Watches(&karpv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			if claim := o.(*karpv1.NodeClaim); index.Managed(claim) {
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}}}
			}
			return nil
		}), builder.WithPredicates(gone)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10, RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "nodeclass", c))
}

// Reconcile resolves one class and writes its status, or lets it go.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, req.NamespacedName, class); err != nil {
		if apierrors.IsNotFound(err) {
			c.Metrics.Forget(obs.LabelNodeClass, req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return c.finalize(ctx, class)
	}
	class = class.DeepCopy()
	if err := c.stamp(ctx, class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	stored := class.DeepCopy()
	resolution, err := c.Cloud.Resolve(ctx, class)
	if err != nil && resolution == nil {
		return reconcile.Result{}, fmt.Errorf("resolving ec2nodeclass %q: %w", class.Name, err)
	}
	if err != nil {
		c.Log.Error("resolving ec2nodeclass failed in part; what was found before is kept, and it is tried again", "ec2nodeclass", class.Name, "error", err)
	}
	c.write(class, resolution)
	if !equality.Semantic.DeepEqual(stored.Status, class.Status) {
		// Resolving takes seconds, and the patch holds all conditions: written without a condition on the version, it would take
		// back what others have said meanwhile, such as that the interruption queue does not work.
		err := c.Client.Status().Patch(ctx, class, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: overtaken}, nil
		}
		if err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the status of ec2nodeclass %q: %w", class.Name, err))
		}
		said := []any{"ec2nodeclass", class.Name, "ready", class.StatusConditions(c.ReservedCapacity).IsTrue(),
			"subnets", len(class.Status.Subnets), "security_groups", len(class.Status.SecurityGroups), "images", len(class.Status.AMIs)}
		if why := notReady(class, c.ReservedCapacity); why != "" {
			said = append(said, "why", why)
		}
		c.Log.Info("resolved ec2nodeclass", said...)
	}
	if class.StatusConditions(c.ReservedCapacity).IsTrue() {
		return reconcile.Result{RequeueAfter: steady}, nil
	}
	return reconcile.Result{RequeueAfter: unready}, nil
}

// stamp puts the finalizer and the hash on the class. When the way of hashing has changed, the claims adopt the new hash
// first, except those that are drifted already.
func (c *Controller) stamp(ctx context.Context, class *awsv1.EC2NodeClass) error {
	stored := class.DeepCopy()
	hash := c.Hash(class)
	if was := class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]; was != "" && was != c.HashVersion {
		if err := c.restamp(ctx, class.Name, hash); err != nil {
			return err
		}
	}
	controllerutil.AddFinalizer(class, awsv1.TerminationFinalizer)
	if class.Annotations == nil {
		class.Annotations = map[string]string{}
	}
	class.Annotations[awsv1.AnnotationEC2NodeClassHash] = hash
	class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = c.HashVersion
	if equality.Semantic.DeepEqual(stored.ObjectMeta, class.ObjectMeta) {
		return nil
	}
	if err := c.Client.Patch(ctx, class, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("stamping ec2nodeclass %q: %w", class.Name, err)
	}
	return nil
}

func (c *Controller) restamp(ctx context.Context, class, hash string) error {
	claims, err := c.claims(ctx, class)
	if err != nil {
		return err
	}
	var errs []error
	for i := range claims {
		claim := &claims[i]
		if claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] == c.HashVersion {
			continue
		}
		stored := claim.DeepCopy()
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = c.HashVersion
		if !claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
			claim.Annotations[awsv1.AnnotationEC2NodeClassHash] = hash
		}
		if err := c.Client.Patch(ctx, claim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("stamping nodeclaim %q: %w", claim.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) claims(ctx context.Context, class string) ([]karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list, client.MatchingFields{index.ClaimClass: class}); err != nil {
		return nil, fmt.Errorf("listing nodeclaims of ec2nodeclass %q: %w", class, err)
	}
	return list.Items, nil
}

// write turns what the cloud found into status. A check that could not be made leaves the list as it was: not knowing is
// not the same as there being nothing.
func (c *Controller) write(class *awsv1.EC2NodeClass, r *cloud.Resolution) {
	conditions := class.StatusConditions(c.ReservedCapacity).WithClock(c.Clock.Now)
	conditions.Initialize()
	errs, warnings := class.Validate()
	for _, w := range slices.Concat(warnings, r.Ignored) {
		c.Recorder.Event(class, corev1.EventTypeWarning, events.SpecIgnored, w)
	}
	found := map[string]cloud.Finding{}
	for _, f := range withVerdict(r.Findings, refusal(class, errs)) {
		f.Message = cloud.Lasting(f.Message)
		found[f.Condition] = f
		switch {
		case f.Unknown && c.stands(class, f.Condition):
			conditions.SetTrueWithReason(f.Condition, f.Reason, "as it was when last seen; it can't be looked at now: "+f.Message)
		case f.Unknown:
			conditions.SetUnknownWithReason(f.Condition, f.Reason, f.Message)
		case f.OK && (f.Reason != "" || f.Message != ""):
			conditions.SetTrueWithReason(f.Condition, cmp.Or(f.Reason, f.Condition), f.Message)
		case f.OK:
			conditions.SetTrue(f.Condition)
		default:
			conditions.SetFalse(f.Condition, f.Reason, f.Message)
		}
	}
	known := func(condition string) bool { f, ok := found[condition]; return ok && !f.Unknown }
	if known(awsv1.ConditionTypeSubnetsReady) {
		class.Status.Subnets = r.Subnets
	}
	if known(awsv1.ConditionTypeSecurityGroupsReady) {
		class.Status.SecurityGroups = r.SecurityGroups
	}
	if known(awsv1.ConditionTypeAMIsReady) || len(r.AMIs) > 0 {
		class.Status.AMIs = r.AMIs
	}
	if known(awsv1.ConditionTypeCapacityReservationsReady) || !c.ReservedCapacity {
		class.Status.CapacityReservations = r.CapacityReservations
	}
	if known(awsv1.ConditionTypeInstanceProfileReady) {
		class.Status.InstanceProfile = r.InstanceProfile
	}
	if known(awsv1.ConditionTypePlacementGroupReady) {
		class.Status.PlacementGroup = r.PlacementGroup
	}
	class.Status.LaunchTemplate = r.LaunchTemplate
	if class.Spec.LaunchTemplate == nil {
		conditions.Clear(awsv1.ConditionTypeLaunchTemplateReady)
	}
	if _, ok := found[awsv1.ConditionTypePlacementGroupReady]; !ok {
		c.unused(class, awsv1.ConditionTypePlacementGroupReady, class.Spec.PlacementGroupSelector == nil, awsv1.ReasonPlacementGroupResolutionFailed, "spec.placementGroupSelector")
	}
	if !c.ReservedCapacity {
		// What was found while the gate was open says nothing of the list, which is empty now: instances that run out of
		// reservations are not drifted.
		conditions.Clear(awsv1.ConditionTypeCapacityReservationsReady)
	} else if _, ok := found[awsv1.ConditionTypeCapacityReservationsReady]; !ok {
		c.unused(class, awsv1.ConditionTypeCapacityReservationsReady, len(class.Spec.CapacityReservationSelectorTerms) == 0, "CapacityReservationsNotSupported", "spec.capacityReservationSelectorTerms")
	}
}

// refusal is why Kerf itself can't serve the class's spec, whatever EC2 says of it; nil for nothing.
func refusal(class *awsv1.EC2NodeClass, errs field.ErrorList) *kubeletfields.Refusal {
	if refused := kubeletfields.Check(class); refused != nil {
		return refused
	}
	if len(errs) > 0 {
		// Objects stored under an older CRD, or admitted by a rule that is laxer than AWS.
		return &kubeletfields.Refusal{Reason: awsv1.ReasonSpecInvalid, Message: errs.ToAggregate().Error()}
	}
	return nil
}

// withVerdict puts a refusal in the place of what was found of ValidationSucceeded. The condition is set once that way: set to
// what EC2 says first and to the refusal afterwards, it would be in transition at each pass, and Ready with it.
func withVerdict(findings []cloud.Finding, refused *kubeletfields.Refusal) []cloud.Finding {
	if refused == nil {
		return findings
	}
	others := slices.DeleteFunc(slices.Clone(findings), func(f cloud.Finding) bool { return f.Condition == awsv1.ConditionTypeValidationSucceeded })
	return append(others, cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, Reason: refused.Reason, Message: refused.Message})
}

// stands reports whether a condition was found to be met for the class as it is written now. A service that can't be
// asked takes nothing away from that: instances can be launched from what is known.
func (c *Controller) stands(class *awsv1.EC2NodeClass, condition string) bool {
	was := class.StatusConditions(c.ReservedCapacity).Get(condition)
	return was.IsTrue() && was.ObservedGeneration == class.Generation
}

// unused sets the condition of a feature that the cloud did not speak of: fine when the class does not ask for it, and
// never passed over in silence when it does.
func (c *Controller) unused(class *awsv1.EC2NodeClass, condition string, notAsked bool, reason, field string) {
	conditions := class.StatusConditions(c.ReservedCapacity).WithClock(c.Clock.Now)
	if notAsked {
		conditions.SetTrue(condition)
		return
	}
	conditions.SetFalse(condition, reason, fmt.Sprintf("this release of Kerf can't serve %s; remove the field to use the class", field))
}

// finalize waits until no claim uses the class, gives back what was made for it, and lets it go.
func (c *Controller) finalize(ctx context.Context, class *awsv1.EC2NodeClass) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(class, awsv1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	claims, err := c.claims(ctx, class.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) > 0 {
		c.Recorder.Eventf(class, corev1.EventTypeNormal, events.WaitingOnNodeClaimTermination, "%d NodeClaims still use this class, among them %s", len(claims), claims[0].Name)
		return reconcile.Result{RequeueAfter: 10 * time.Minute}, nil
	}
	if err := c.Cloud.Release(ctx, class); err != nil {
		return reconcile.Result{}, fmt.Errorf("giving back what was made for ec2nodeclass %q: %w", class.Name, err)
	}
	stored := class.DeepCopy()
	class = class.DeepCopy()
	controllerutil.RemoveFinalizer(class, awsv1.TerminationFinalizer)
	if err := c.Client.Patch(ctx, class, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("releasing ec2nodeclass %q: %w", class.Name, err))
	}
	c.Recorder.Event(class, corev1.EventTypeNormal, events.Finalized, "Finalized "+awsv1.TerminationFinalizer)
	return reconcile.Result{}, nil
}

// notReady is what keeps a class from being ready, in the words of its conditions; those that only wait for another are left
// out.
func notReady(class *awsv1.EC2NodeClass, reservedCapacity bool) string {
	root := class.StatusConditions(reservedCapacity).Root()
	if root.IsTrue() {
		return ""
	}
	var out []string
	for i := range class.Status.Conditions {
		if c := &class.Status.Conditions[i]; c.Type != root.Type && !c.IsTrue() && c.Reason != awsv1.ReasonDependenciesNotReady {
			out = append(out, fmt.Sprintf("%s is %s, %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(out, "; ")
}
