package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// launch is a planned node that was admitted.
type launching struct {
	node    *plan.NewNode
	pool    *karpv1.NodePool
	offered *cluster.Pool
	pods    []cluster.PodRef
	claim   *karpv1.NodeClaim
	err     error
	unsure  bool // with err: the claim may come to exist all the same
}

func (p *launching) action() string { return launchAction(p.node) }

func launchAction(node *plan.NewNode) string {
	return fmt.Sprintf("launch a node of pool %s for %d pods", node.Pool, len(node.Pods))
}

// checker judges actions against the newest state, and counts what it has admitted itself.
type checker struct {
	pools   map[string]*karpv1.NodePool
	changed map[string]bool // pools that are others than those that were planned with
	offered map[string]*cluster.Pool
	nodes   map[string]*cluster.Node
	pending map[cluster.PodRef]bool
	used    map[string]res.List
	taken   map[string]res.List // of nodes on which pods are placed, with what these ask for
	bound   int64               // Options.PriceBound
}

func newChecker(state State, pools []*cluster.Pool, bound int64) *checker {
	snapshot := state.Snapshot()
	c := &checker{
		pools: map[string]*karpv1.NodePool{}, changed: map[string]bool{}, offered: map[string]*cluster.Pool{}, nodes: map[string]*cluster.Node{},
		pending: map[cluster.PodRef]bool{}, used: Usage(snapshot), taken: map[string]res.List{}, bound: bound,
	}
	for _, p := range state.Pools() {
		c.pools[p.Name] = p
	}
	for _, p := range pools {
		newest := c.pools[p.Name]
		c.offered[p.Name] = lowered(p, newest)
		c.changed[p.Name] = newest != nil && p.Version != "" && p.Version != intake.PoolVersion(newest)
	}
	for _, n := range snapshot.Nodes {
		c.nodes[n.Name] = n
	}
	for _, p := range snapshot.Pending {
		c.pending[p.PodRef] = true
	}
	return c
}

// Usage sums up the capacity of each pool's instances, in flight or not, res.Nodes included; those that are going away
// do not count.
func Usage(snapshot *cluster.Snapshot) map[string]res.List {
	out := map[string]res.List{}
	for _, n := range snapshot.Nodes {
		if n.Pool == "" || n.Deleting {
			continue
		}
		sum := out[n.Pool]
		if sum == nil {
			sum = res.List{}
			out[n.Pool] = sum
		}
		sum.Add(n.Capacity)
		sum[res.Nodes]++
	}
	return out
}

// takes notes which of the pods are to be placed on an existing node, and says why the others are not: a decision is made on a snapshot,
// and until it is carried out the node may have begun to go, or another decision may have given its room away. What they ask for of
// its amounts counts, not their volumes, host ports and wishes.
func (c *checker) takes(state State, name string, pods []cluster.PodRef) (placed []cluster.PodRef, refused *Refusal) {
	node := c.nodes[name]
	if node == nil || node.Deleting || node.Leaving {
		return nil, &Refusal{Action: "place pods on node " + name, Code: NodeGone, Detail: "the node is gone or going"}
	}
	used := c.taken[name]
	if used == nil {
		used = node.Used.Clone()
	}
	if used == nil {
		used = res.List{}
	}
	c.taken[name] = used
	why, more := "", 0 // of the first that is refused, and how many more are
	for _, ref := range pods {
		asked := res.List{}
		if pod := state.Pod(ref); pod != nil {
			asked = intake.PodRequests(pod)
		}
		switch lacks := lacks(asked, used, node.Allocatable); {
		case lacks == "":
			used.Add(asked)
			placed = append(placed, ref)
		case why == "":
			why = "pod " + ref.String() + " " + lacks
		default:
			more++
		}
	}
	if more > 0 {
		why += fmt.Sprintf("; and %s more", plan.Count(more, "pod"))
	}
	if why != "" {
		refused = &Refusal{Action: "place pods on node " + name, Code: RoomTaken, Detail: "other pods have got its room: " + why}
	}
	return placed, refused
}

// lacks says for what there is no room; empty where there is for all.
func lacks(asked, used, allocatable res.List) string {
	for _, k := range slices.Sorted(maps.Keys(asked)) {
		if free := max(0, allocatable[k]-used[k]); asked[k] > free {
			return fmt.Sprintf("asks for %s of %s, and %s of %s are free", res.Format(k, asked[k]), k, res.Format(k, free), res.Format(k, allocatable[k]))
		}
	}
	return ""
}

func (c *checker) stillPending(pods []cluster.PodRef) []cluster.PodRef {
	return slices.DeleteFunc(slices.Clone(pods), func(p cluster.PodRef) bool { return !c.pending[p] })
}

// launch judges a planned node for pending pods.
func (c *checker) launching(node *plan.NewNode) (*launching, *Refusal) {
	pods := c.stillPending(node.Pods)
	if len(pods) == 0 {
		return nil, &Refusal{Action: launchAction(node), Code: PodsGone, Detail: "none of the pods waits any more"}
	}
	return c.admit(node, pods)
}

// admit judges a planned node by its pool, and counts it as launched if that allows it.
func (c *checker) admit(node *plan.NewNode, pods []cluster.PodRef) (*launching, *Refusal) {
	refuse := func(code RefusalCode, format string, args ...any) (*launching, *Refusal) {
		return nil, &Refusal{Action: launchAction(node), Code: code, Detail: fmt.Sprintf(format, args...)}
	}
	pool, offered := c.pools[node.Pool], c.offered[node.Pool]
	switch {
	case pool == nil || offered == nil || pool.DeletionTimestamp != nil:
		return refuse(PoolGone, "NodePool %s is gone or being deleted", node.Pool)
	case c.changed[node.Pool]: // the claim would have requirements and taints of one template, and the hash of another
		return refuse(PoolChanged, "NodePool %s was changed while this was decided", node.Pool)
	case !pool.StatusConditions().IsTrue():
		return refuse(PoolNotReady, "NodePool %s is not ready any more", node.Pool)
	case len(node.Types) == 0:
		return refuse(PoolNotReady, "the plan names no instance type")
	}
	adds := leastCapacity(node, offered)
	used := c.used[node.Pool]
	for k, limit := range offered.Limits {
		if used[k]+adds[k] > limit {
			return refuse(LimitReached, "%s of NodePool %s: %d in use, at least %d more, limit %d", k, node.Pool, used[k], adds[k], limit)
		}
	}
	if used == nil {
		used = res.List{}
		c.used[node.Pool] = used
	}
	used.Add(adds)
	return &launching{node: node, pool: pool, offered: offered, pods: pods, claim: NodeClaim(node, pool, offered)}, nil
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
