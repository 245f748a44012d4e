package disrupt

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// notices tell nodes, claims and pools why what drifted stays, each the same thing once in a while only, and so many in a
// second at most.
//
// Concurrency: none.
type notices struct {
	nodes, pools map[string]notice
	limit        *rate.Limiter
}

type notice struct {
	text string
	at   time.Time
}

// node tells a node and its claim.
func (t *notices) node(ctx context.Context, d *Drift, g Going, now time.Time, why string) {
	if t.nodes == nil {
		t.nodes, t.limit = map[string]notice{}, rate.NewLimiter(5, 50)
	}
	if !isNew(t.nodes, g.Node, why, now) || !t.limit.AllowN(now, 2) {
		return
	}
	t.nodes[g.Node] = notice{why, now}
	why = "it drifted, and stays: " + why
	node := &corev1.Node{}
	if err := d.Queue.Client.Get(ctx, client.ObjectKey{Name: g.Node}, node); err == nil {
		d.Recorder.Event(node, corev1.EventTypeNormal, events.DisruptionBlocked, why)
	}
	if claim := d.State.Claim(g.Claim); claim != nil {
		d.Recorder.Event(claim.DeepCopy(), corev1.EventTypeNormal, events.DisruptionBlocked, why)
	}
}

// pool tells a pool.
func (t *notices) pool(d *Drift, pool *karpv1.NodePool, now time.Time, text string) {
	if pool == nil {
		return
	}
	if t.pools == nil {
		t.pools = map[string]notice{}
	}
	if isNew(t.pools, pool.Name, text, now) {
		t.pools[pool.Name] = notice{text, now}
		d.Recorder.Event(pool.DeepCopy(), corev1.EventTypeNormal, events.DisruptionBlocked, text)
	}
}

func isNew(of map[string]notice, name, text string, now time.Time) bool {
	last := of[name]
	return last.text != text || now.Sub(last.at) >= sayAgain
}

// forget drops nodes and pools that are gone.
func (t *notices) forget(nodes []*cluster.Node, pools map[string]*karpv1.NodePool) {
	for name := range t.pools {
		if pools[name] == nil {
			delete(t.pools, name)
		}
	}
	if len(t.nodes) <= len(nodes) {
		return
	}
	there := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		there[n.Name] = true
	}
	for name := range t.nodes {
		if !there[name] {
			delete(t.nodes, name)
		}
	}
}
