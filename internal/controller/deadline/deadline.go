// Package deadline begins the end of NodeClaims. Delete is how each loop that ends a node does it; package terminate takes it from
// there. Where somebody else has set the time (EC2 takes the instance, its node is dead), Mark writes it on the claim first: the
// drain ends then whatever budgets say, because the instance does.
package deadline

import (
	"context"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Of is when the last pod of a claim's node has to be gone; ok is false while no such time is written on it.
func Of(claim *karpv1.NodeClaim) (by time.Time, ok bool) {
	by, err := time.Parse(time.RFC3339, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	return by, err == nil
}

// Within reports whether a claim's deadline is at or before the given one.
func Within(claim *karpv1.NodeClaim, by time.Time) bool {
	was, ok := Of(claim)
	return ok && !was.After(by)
}

// Mark writes on a claim by when its last pod has to be gone, and the other annotations with it, in one patch. A sooner
// end stays: one that is there already, or the one that terminationGracePeriod gives from now on. The zero time leaves the
// end as it is. It returns the end that it wrote, zero for none; claim is left as it is.
func Mark(ctx context.Context, c client.Client, claim *karpv1.NodeClaim, now, by time.Time, others map[string]string) (written time.Time, err error) {
	return write(ctx, c, claim, now, by, others, client.MergeFrom(claim))
}

func write(ctx context.Context, c client.Client, claim *karpv1.NodeClaim, now, by time.Time, others map[string]string, patch client.Patch) (written time.Time, err error) {
	marks := maps.Clone(others)
	if !by.IsZero() && !Within(claim, by) {
		if grace := claim.Spec.TerminationGracePeriod; grace != nil {
			if end := now.Add(grace.Duration); end.Before(by) {
				by = end
			}
		}
		if marks == nil {
			marks = map[string]string{}
		}
		written, marks[karpv1.NodeClaimTerminationTimestampAnnotationKey] = by, by.UTC().Format(time.RFC3339)
	}
	maps.DeleteFunc(marks, func(k, v string) bool { was, ok := claim.Annotations[k]; return ok && was == v })
	if len(marks) == 0 {
		return written, nil
	}
	marked := claim.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	maps.Copy(marked.Annotations, marks)
	if err := c.Patch(ctx, marked, patch); err != nil {
		return time.Time{}, fmt.Errorf("writing on nodeclaim %q by when it has to be gone: %w", claim.Name, err)
	}
	return written, nil
}

// Stamp writes on a claim that is being deleted when its terminationGracePeriod ends, unless an end is written there
// already, whoever wrote it. It returns the end that it wrote, zero for none.
//
// Errors: a conflict where the claim was changed since it was read, for the change may be a sooner end.
func Stamp(ctx context.Context, c client.Client, claim *karpv1.NodeClaim) (written time.Time, err error) {
	grace := claim.Spec.TerminationGracePeriod
	if _, has := Of(claim); has || grace == nil || claim.DeletionTimestamp.IsZero() {
		return time.Time{}, nil
	}
	patch := client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})
	return write(ctx, c, claim, claim.DeletionTimestamp.Time, claim.DeletionTimestamp.Add(grace.Duration), nil, patch)
}

// Delete deletes the claim that was looked at and not another one of its name. It reports whether there was one left to
// delete.
func Delete(ctx context.Context, c client.Client, claim *karpv1.NodeClaim) (bool, error) {
	err := c.Delete(ctx, claim.DeepCopy(), client.Preconditions{UID: &claim.UID})
	if err == nil {
		return true, nil
	}
	if client.IgnoreNotFound(err) == nil {
		return false, nil
	}
	return false, fmt.Errorf("deleting nodeclaim %q: %w", claim.Name, err)
}
