package disrupt

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cluster"
)

// repeat is how often the same notice is given again.
const repeat = 15 * time.Minute

// notices tell nodes, claims and pools why they are not disrupted, each the same thing once in a while only.
//
// Concurrency: none.
type notices struct {
	nodes, pools map[string]notice
}

type notice struct {
	text string
	at   time.Time
}

// node tells a node and its claim.
func (t *notices) node(to record.EventRecorder, state LoopState, g Going, now time.Time, text string) {
	if t.nodes == nil {
		t.nodes = map[string]notice{}
	}
	if !isNew(t.nodes, g.Node, text, now) {
		return
	}
	node := &corev1.Node{}
	node.Name, node.UID = g.Node, "" // events of nodes are found by name
	about := []runtime.Object{node}
	if claim := state.Claim(g.Claim); claim != nil {
		about = append(about, claim)
	}
	for _, o := range about {
		to.Event(o, corev1.EventTypeNormal, "DisruptionBlocked", text)
	}
}

// pool tells a pool.
func (t *notices) pool(to record.EventRecorder, pool *karpv1.NodePool, now time.Time, text string) {
	if pool == nil {
		return
	}
	if t.pools == nil {
		t.pools = map[string]notice{}
	}
	if isNew(t.pools, pool.Name, text, now) {
		to.Event(pool, corev1.EventTypeNormal, "DisruptionBlocked", text)
	}
}

func isNew(of map[string]notice, name, text string, now time.Time) bool {
	last := of[name]
	if last.text == text && now.Sub(last.at) < repeat {
		return false
	}
	of[name] = notice{text, now}
	return true
}

// forget drops nodes that are gone.
func (t *notices) forget(nodes []*cluster.Node) {
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
