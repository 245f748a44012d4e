// Package repair replaces nodes that show for too long that they do not work: not ready, or what the node monitoring agent
// finds of disks, network, kernel, container runtime or accelerators. It asks neither budgets nor the pods: what runs on
// such a node does not run well. A breaker keeps it from replacing half a cluster for a fault that is not the nodes'.
//
// Nothing is kept here that matters: how long a node has shown a sign is on the node.
package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

const (
	// period is how often all nodes are looked at; the shortest toleration is 60 times as long.
	period = 10 * time.Second
	// again is how soon the same is said again of a node that may not be replaced (Karpenter v1 API).
	again = 15 * time.Minute
)

// Loop is the loop.
type Loop struct {
	Client   client.Client
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	// Policies say which signs count; see Policies.
	Policies []Policy
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool

	// begun holds the claims that were deleted here and that the cache may not show as going yet.
	begun map[types.UID]bool
	// told is when it was last said of an object that it may not be replaced, or may not replace.
	told map[types.UID]time.Time
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	return obs.Rounds{Metrics: l.Metrics, Log: l.Log, Clock: l.Clock, Name: "repair", Doing: "replacing unhealthy nodes", Every: period}.Run(ctx, l.Round)
}

// patient is an unhealthy node whose time is over.
type patient struct {
	node  *corev1.Node
	claim *karpv1.NodeClaim
	sign  corev1.NodeCondition
	due   time.Time
}

// Round looks at every node once.
func (l *Loop) Round(ctx context.Context) error {
	claims, err := l.claims(ctx)
	if err != nil {
		return err
	}
	var nodes corev1.NodeList
	// The nodes are only read here.
	if err := l.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	now := l.Clock.Now()
	cluster := &ward{name: "the cluster"}
	pools := map[string]*ward{}
	var patients []patient
	for i := range nodes.Items {
		node := &nodes.Items[i]
		claim := claims[node.Spec.ProviderID]
		if claim == nil {
			continue
		}
		sign, due, ill := diagnose(node, l.Policies)
		// An instance that boots is not ill of not being ready, until that takes too long.
		counts := ill && (node.Labels[karpv1.NodeInitializedLabelKey] == "true" || !now.Before(due))
		going := !claim.DeletionTimestamp.IsZero() || l.begun[claim.UID]
		zone, pool := node.Labels[corev1.LabelTopologyZone], claim.Labels[karpv1.NodePoolLabelKey]
		cluster.add(zone, counts, going)
		if pool != "" {
			if pools[pool] == nil {
				pools[pool] = &ward{name: "NodePool " + pool}
			}
			pools[pool].add(zone, counts, going)
		}
		if ill && !now.Before(due) && (!going || l.lingers(claim, now)) {
			patients = append(patients, patient{node, claim, sign, due})
		}
	}
	slices.SortFunc(patients, func(a, b patient) int { return a.due.Compare(b.due) })
	l.forget(now)
	var errs []error
	for _, p := range patients {
		w := cluster
		if pool := p.claim.Labels[karpv1.NodePoolLabelKey]; pool != "" {
			w = pools[pool]
		}
		if l.LeftAlone != nil && l.LeftAlone(p.claim.Status.ProviderID) {
			l.blocked(ctx, p, "traffic is shifted away from its zone, and instances there are left alone until it is not", now)
			continue
		}
		if ok, why := w.admit(p.node.Labels[corev1.LabelTopologyZone], !p.claim.DeletionTimestamp.IsZero()); !ok {
			l.blocked(ctx, p, why, now)
			continue
		}
		errs = append(errs, l.replace(ctx, p, now))
	}
	return errors.Join(errs...)
}

// claims are the managed ones that have an instance, by its provider ID.
func (l *Loop) claims(ctx context.Context) (map[string]*karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := l.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	out := make(map[string]*karpv1.NodeClaim, len(list.Items))
	begun := map[types.UID]bool{}
	for i := range list.Items {
		c := &list.Items[i]
		if !index.Managed(c) || c.Status.ProviderID == "" {
			continue
		}
		out[c.Status.ProviderID] = c
		if l.begun[c.UID] {
			begun[c.UID] = true
		}
	}
	l.begun = begun
	return out, nil
}

// lingers reports whether a claim that is being deleted may still wait for its pods: they do not leave a node that does
// not work.
func (l *Loop) lingers(claim *karpv1.NodeClaim, now time.Time) bool {
	if l.begun[claim.UID] || claim.DeletionTimestamp.IsZero() {
		return false
	}
	return !deadline.Within(claim, now)
}

// replace deletes the claim and sets the end of its drain to now. In this order: where it is cut short in between, the
// next round finds a claim that lingers. The other way round a node that gets well would keep the mark, and its pods would
// be deleted past their budgets whenever it goes.
func (l *Loop) replace(ctx context.Context, p patient, now time.Time) error {
	claim, begins := p.claim, p.claim.DeletionTimestamp.IsZero()
	if begins {
		if begun, err := deadline.Delete(ctx, l.Client, claim); err != nil || !begun {
			return err
		}
	}
	if _, err := deadline.Mark(ctx, l.Client, claim, now, now, nil); client.IgnoreNotFound(err) != nil {
		return err
	}
	text := fmt.Sprintf("the node is replaced: its condition %s has been %s since %s (%s)", p.sign.Type, p.sign.Status, p.sign.LastTransitionTime.UTC().Format(time.RFC3339), detail(p.sign))
	if !begins {
		index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeWarning, events.DisruptionTerminating, text+"; it no longer waits for its pods")
		return nil
	}
	l.begun[claim.UID] = true
	index.Tell(ctx, l.Client, l.Recorder, claim, corev1.EventTypeWarning, events.DisruptionTerminating, text)
	pool, capacityType := claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey]
	index.Disrupted(ctx, l.Client, l.Metrics, claim, "unhealthy", "forceful")
	l.Metrics.NodeClaimsRepaired.WithLabelValues(string(p.sign.Type), pool, capacityType, claim.Status.ImageID).Inc()
	l.Log.Warn("replacing an unhealthy node; it is drained, and its pods get room elsewhere", append(story.Of(claim), "nodeclaim", claim.Name, "node", p.node.Name, "condition", p.sign.Type, "status", p.sign.Status, "since", p.sign.LastTransitionTime.Time, "reason", p.sign.Reason)...)
	return nil
}

func detail(c corev1.NodeCondition) string {
	switch {
	case c.Reason != "" && c.Message != "":
		return c.Reason + ": " + c.Message
	case c.Reason != "":
		return c.Reason
	case c.Message != "":
		return c.Message
	}
	return "no reason given"
}

// blocked says on the node, its claim and its pool that it is not replaced.
func (l *Loop) blocked(ctx context.Context, p patient, why string, now time.Time) {
	if l.speak(p.claim.UID, now) {
		text := fmt.Sprintf("the node's condition %s is %s (%s), and it is not replaced: %s", p.sign.Type, p.sign.Status, detail(p.sign), why)
		index.Tell(ctx, l.Client, l.Recorder, p.claim.DeepCopy(), corev1.EventTypeWarning, events.NodeRepairBlocked, text)
		l.Log.Warn("an unhealthy node is not replaced; it is as soon as that no longer holds", append(story.Of(p.claim), "nodeclaim", p.claim.Name, "node", p.node.Name, "condition", p.sign.Type, "why", why)...)
	}
	name := p.claim.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return
	}
	pool := &karpv1.NodePool{}
	if err := l.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err == nil && l.speak(pool.UID, now) {
		l.Recorder.Event(pool, corev1.EventTypeWarning, events.NodeRepairBlocked, "unhealthy nodes are not replaced: "+why)
	}
}

// speak reports whether it is time to say something of an object again.
func (l *Loop) speak(uid types.UID, now time.Time) bool {
	if last, ok := l.told[uid]; ok && now.Sub(last) < again {
		return false
	}
	l.told[uid] = now
	return true
}

func (l *Loop) forget(now time.Time) {
	if l.told == nil {
		l.told = map[types.UID]time.Time{}
	}
	for uid, at := range l.told {
		if now.Sub(at) >= again {
			delete(l.told, uid)
		}
	}
}
