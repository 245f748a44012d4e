package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
)

// A kind of event is something that happened to a node or a pod.
type kind string

const (
	claimCreated  kind = "created"
	claimRemoved  kind = "removed"
	claimDrifted  kind = "drifted"   // the condition became true
	nodeDisrupted kind = "disrupted" // the node was tainted, or its claim deleted
	podRemoved    kind = "pod removed"
	podRestarted  kind = "pod restarted"
)

// An event is what the ledger saw.
type event struct {
	at   time.Time
	kind kind
	// claim that it happened to, or whose node the pod ran on.
	claim string
	pool  string
	pod   string
	// detail is the reason of a drift or the name of the instance.
	detail string
}

// ledger watches NodeClaims, nodes and pods, and keeps all that happens to them.
type ledger struct {
	mu     sync.Mutex
	events []event
	// claimOf is the claim of a node, by the node's name, that of removed ones too.
	claimOf  map[string]string
	drifted  map[string]bool
	departed map[string]bool // claims whose node is tainted or that are deleted
	restarts map[string]int32
	cache    cache.Cache
}

// watch begins a ledger and returns when it has seen what is there. It ends with the context.
func watch(ctx context.Context, config *rest.Config) (*ledger, error) {
	scheme, err := local.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("watch the cluster: %w", err)
	}
	l := &ledger{claimOf: map[string]string{}, drifted: map[string]bool{}, departed: map[string]bool{}, restarts: map[string]int32{}, cache: c}
	for _, o := range []client.Object{&karpv1.NodeClaim{}, &corev1.Node{}, &corev1.Pod{}} {
		informer, err := c.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.seen(o, false) },
			UpdateFunc: func(_, o any) { l.seen(o, false) },
			DeleteFunc: func(o any) {
				if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				l.seen(o, true)
			},
		}); err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	go func() { _ = c.Start(ctx) }() // ends with the context
	if !c.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch the cluster: %w", context.Cause(ctx))
	}
	return l, nil
}

func (l *ledger) seen(o any, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch o := o.(type) {
	case *karpv1.NodeClaim:
		l.seenClaim(o, gone)
	case *corev1.Node:
		l.seenNode(o)
	case *corev1.Pod:
		l.seenPod(o, gone)
	}
}

func (l *ledger) seenClaim(c *karpv1.NodeClaim, gone bool) {
	if c.Status.NodeName != "" {
		l.claimOf[c.Status.NodeName] = c.Name
	}
	add := func(k kind, detail string) {
		l.events = append(l.events, event{at: time.Now(), kind: k, claim: c.Name, pool: c.Labels[karpv1.NodePoolLabelKey], detail: detail})
	}
	if _, known := l.drifted[c.Name]; !known {
		l.drifted[c.Name] = false
		add(claimCreated, c.Labels[corev1.LabelInstanceTypeStable])
	}
	drift := c.StatusConditions().Get(karpv1.ConditionTypeDrifted)
	if is := drift != nil && drift.IsTrue(); is != l.drifted[c.Name] {
		if l.drifted[c.Name] = is; is {
			add(claimDrifted, drift.Reason)
		}
	}
	if c.DeletionTimestamp != nil && !l.departed[c.Name] {
		l.departed[c.Name] = true
		add(nodeDisrupted, "its NodeClaim is deleted")
	}
	if gone {
		add(claimRemoved, c.Status.ProviderID[strings.LastIndexByte(c.Status.ProviderID, '/')+1:])
	}
}

func (l *ledger) seenNode(n *corev1.Node) {
	name, ok := l.claimOf[n.Name]
	if !ok || l.departed[name] {
		return
	}
	if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey }) {
		l.departed[name] = true
		l.events = append(l.events, event{at: time.Now(), kind: nodeDisrupted, claim: name, pool: n.Labels[karpv1.NodePoolLabelKey], detail: "its node is tainted"})
	}
}

func (l *ledger) seenPod(p *corev1.Pod, gone bool) {
	if p.Namespace != "default" {
		return
	}
	add := func(k kind) {
		l.events = append(l.events, event{at: time.Now(), kind: k, claim: l.claimOf[p.Spec.NodeName], pod: p.Name, detail: p.Spec.NodeName})
	}
	var restarts int32
	for _, s := range p.Status.ContainerStatuses {
		restarts += s.RestartCount
	}
	if restarts > l.restarts[p.Name] {
		add(podRestarted)
	}
	l.restarts[p.Name] = restarts
	if gone {
		add(podRemoved)
	}
}

// mark is a place in the ledger.
func (l *ledger) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// since are the events from a place on.
func (l *ledger) since(mark int) []event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[mark:])
}

// count is how many events of a kind there were from a place on, in a pool or in all.
func (l *ledger) count(mark int, k kind, pool string) int {
	n := 0
	for _, e := range l.since(mark) {
		if e.kind == k && (pool == "" || e.pool == pool) {
			n++
		}
	}
	return n
}

// leaving is how many claims of a pool are disrupted and still there.
func (l *ledger) leaving(pool string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]bool{}
	for _, e := range l.events {
		switch {
		case e.pool == pool && e.kind == nodeDisrupted:
			there[e.claim] = true
		case e.kind == claimRemoved:
			delete(there, e.claim)
		}
	}
	return len(there)
}
