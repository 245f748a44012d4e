// Package reserved follows the instances that were launched out of capacity reservations to the end of those: when a
// reservation ends, EC2 lets its instances run on as on-demand ones, and their NodeClaims and Nodes have to say so; when a
// capacity block ends, EC2 takes its instances, and their pods have to be gone before.
package reserved

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/reservation"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// period of the loop. It asks EC2 for nothing that others have not asked for within a minute.
	period = 15 * time.Second
	maxAge = time.Minute
	// settled is how old an instance must be before what EC2 says of its reservation is believed: 30 s when it was said, and
	// that may be as old as maxAge.
	settled = maxAge + 30*time.Second
)

// metricReason is the reason under which given-up instances are counted, and which their claims bear.
const metricReason = "capacity_block_expiring"

// Reservations is where those are known that no class selects.
type Reservations interface {
	// Reservations finds those of the given ones that are active. Errors: *cloud.Error.
	Reservations(ctx context.Context, ids []string) ([]awsv1.CapacityReservation, error)
}

// Loop is the loop.
type Loop struct {
	Client       client.Client
	Cloud        cloud.Provider
	Reservations Reservations
	Recorder     record.EventRecorder
	Metrics      *obs.Metrics
	Log          *slog.Logger
	Clock        clock.Clock

	blocks blocks
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	return obs.Rounds{Metrics: l.Metrics, Log: l.Log, Clock: l.Clock, Name: "reserved", Doing: "following reserved instances", Every: period}.Run(ctx, l.Round)
}

// Round looks at all reserved instances once. While there are none it asks nobody.
func (l *Loop) Round(ctx context.Context) error {
	var list karpv1.NodeClaimList
	if err := l.Client.List(ctx, &list, client.MatchingLabels{karpv1.CapacityTypeLabelKey: catalog.Reserved}); err != nil {
		return fmt.Errorf("listing the nodeclaims of reserved instances: %w", err)
	}
	var claims, staying []*karpv1.NodeClaim
	for i := range list.Items {
		c := &list.Items[i]
		if !index.Managed(c) || c.Status.ProviderID == "" {
			continue
		}
		claims = append(claims, c)
		if c.DeletionTimestamp.IsZero() {
			staying = append(staying, c)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	errs := []error{l.expire(ctx, claims)}
	if len(staying) > 0 {
		errs = append(errs, l.demote(ctx, staying))
	}
	return errors.Join(errs...)
}

// expire gives up the instances of capacity blocks that are about to end, those whose nodes are being drained already
// included: EC2 takes these as well.
func (l *Loop) expire(ctx context.Context, claims []*karpv1.NodeClaim) error {
	ends, err := l.ends(ctx, claims)
	errs := []error{err} // of those that are known all the same, the instances are given up
	for _, c := range claims {
		if end, ok := ends[c.Labels[awsv1.LabelCapacityReservationID]]; ok {
			errs = append(errs, l.giveUp(ctx, c, end))
		}
	}
	return errors.Join(errs...)
}

// giveUp deletes a claim, and sees to it that its drain ends before EC2 takes the instance. Where it is cut short in between,
// the next round finds a claim that is going without that end. The other way round a claim would keep the end of a block
// whose end was put off before it was deleted.
func (l *Loop) giveUp(ctx context.Context, claim *karpv1.NodeClaim, end time.Time) error {
	begins := claim.DeletionTimestamp.IsZero()
	if begins {
		// Its drain waits for the instances that take the pods over: nobody asked for it, and there is time.
		why := map[string]string{index.InterruptedAnnotation: metricReason}
		if _, err := deadline.Mark(ctx, l.Client, claim, l.Clock.Now(), time.Time{}, why); err != nil {
			return client.IgnoreNotFound(err)
		}
		if begun, err := deadline.Delete(ctx, l.Client, claim); err != nil || !begun {
			return err
		}
	}
	reclaimed := end.Add(-reservation.Reclaim)
	written, err := deadline.Mark(ctx, l.Client, claim, l.Clock.Now(), reclaimed, nil)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !begins && written.IsZero() {
		return nil // it ends by then
	}
	id := claim.Labels[awsv1.LabelCapacityReservationID]
	index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeWarning, events.CapacityBlockExpiring, fmt.Sprintf("capacity block %s ends at %s and EC2 takes its instances at %s; the pods are moved",
		id, end.UTC().Format(time.RFC3339), reclaimed.UTC().Format(time.RFC3339)))
	if !begins {
		return nil
	}
	l.Metrics.NodeClaimsDisrupted.WithLabelValues(metricReason, claim.Labels[karpv1.NodePoolLabelKey], catalog.Reserved, "", "eventual").Inc()
	l.Log.Info("giving up an instance of a capacity block that is about to end", append(story.Of(claim), "nodeclaim", claim.Name, "reservation", id, "end", end)...)
	return nil
}

// demote relabels the claims and nodes of instances whose reservation has ended.
func (l *Loop) demote(ctx context.Context, claims []*karpv1.NodeClaim) error {
	instances, err := l.Cloud.List(ctx, maxAge)
	if err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	byID := make(map[string]*cloud.Instance, len(instances))
	for _, m := range instances {
		byID[m.ProviderID] = m
	}
	var errs []error
	for _, c := range claims {
		m := byID[c.Status.ProviderID]
		// An instance that is not in the list is not known; one that ends needs no labels.
		if m == nil || m.CapacityType != catalog.OnDemand || m.State != "running" || l.Clock.Now().Sub(m.LaunchedAt) < settled {
			continue
		}
		errs = append(errs, l.relabel(ctx, c))
	}
	return errors.Join(errs...)
}

// relabel says of a claim, and before that of its nodes, that it is on demand: a crash in between is made good by the next
// round, which goes by the claim.
func (l *Loop) relabel(ctx context.Context, claim *karpv1.NodeClaim) error {
	nodes, err := index.NodesOfClaim(ctx, l.Client, claim)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := l.patch(ctx, n, n.DeepCopy()); err != nil {
			return fmt.Errorf("relabelling node %q: %w", n.Name, err)
		}
	}
	id := claim.Labels[awsv1.LabelCapacityReservationID]
	if err := l.patch(ctx, claim, claim.DeepCopy()); err != nil {
		return fmt.Errorf("relabelling nodeclaim %q: %w", claim.Name, err)
	}
	index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeNormal, events.CapacityReservationEnded, fmt.Sprintf("capacity reservation %s has ended; the instance runs on and is paid on demand", id))
	l.Log.Info("capacity reservation has ended, its instance is on demand now", "nodeclaim", claim.Name, "node", claim.Status.NodeName, "reservation", id)
	return nil
}

func (l *Loop) patch(ctx context.Context, stored, changed client.Object) error {
	labels := changed.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[karpv1.CapacityTypeLabelKey] = catalog.OnDemand
	for _, key := range []string{awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible} {
		delete(labels, key)
	}
	changed.SetLabels(labels)
	return client.IgnoreNotFound(l.Client.Patch(ctx, changed, client.MergeFrom(stored)))
}
