// Package peer puts upstream Karpenter's engine behind the same problem that Kerf's engine takes.
//
// Objects, instance types and cluster state are made from the problem before the clock starts; what is measured is
// the scheduler that upstream makes anew for each pass, and its Solve, or the passes of its consolidation. Reads of the
// API come from memory.
package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// Version of upstream that go.mod pins.
const Version = "v1.14.1"

var groupKind = schema.GroupKind{Group: v1alpha1.Group, Kind: "TestNodeClass"}

func init() {
	// Upstream registers its own types where a process starts, which is here.
	scheme.Scheme.AddKnownTypes(schema.GroupVersion{Group: v1alpha1.Group, Version: "v1alpha1"}, &v1alpha1.TestNodeClass{}, &v1alpha1.TestNodeClassList{})
	log.SetLogger(logr.Discard())
}

// Engine is upstream's state for one problem. It serves one call of Solve or Consolidate, as both may change the objects.
type Engine struct {
	problem *pack.Problem
	procs   int
	clock   clock.Clock
	reader  *reader
	cloud   *cloud
	cluster *state.Cluster
	prov    *provisioning.Provisioner
	pending []*corev1.Pod
}

// New makes upstream's state for a problem; procs is how many cores it may reckon with.
//
// Errors name what of the problem can't be carried over.
func New(ctx context.Context, p *pack.Problem, procs int) (*Engine, error) {
	ctx = settings(ctx, p)
	if len(p.Daemons) > 0 {
		return nil, fmt.Errorf("daemons are not carried over to the peer")
	}
	e := &Engine{problem: p, procs: procs, clock: clock.RealClock{}, reader: newReader(), cloud: newCloud(p)}
	e.cluster = state.NewCluster(e.clock, e.reader, e.cloud)
	e.prov = provisioning.NewProvisioner(e.reader, silent{}, e.cloud, e.cluster, e.clock, deviceallocation.NewController(e.reader), virtualpods.NewVirtualPodCache(e.reader))
	nc := &v1alpha1.TestNodeClass{}
	nc.Name = "default"
	nc.StatusConditions().SetTrue(status.ConditionReady)
	e.reader.add(nc)
	for _, pool := range p.Pools {
		np, err := poolOf(pool)
		if err != nil {
			return nil, err
		}
		e.reader.add(np)
	}
	if err := e.addNodes(ctx); err != nil {
		return nil, err
	}
	for _, pod := range p.Pending {
		out, err := podOf(pod)
		if err != nil {
			return nil, err
		}
		e.reader.add(out)
		e.pending = append(e.pending, out.DeepCopy())
	}
	return e, nil
}

// addNodes adds nodes, claims and running pods, first to the API and then to the state, which reads them back.
func (e *Engine) addNodes(ctx context.Context) error {
	var claims []*karpv1.NodeClaim
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	for _, n := range e.problem.Nodes {
		node, claim, err := nodeOf(n)
		if err != nil {
			return err
		}
		e.reader.add(node)
		e.reader.add(claim)
		nodes, claims = append(nodes, node), append(claims, claim)
		for _, pod := range n.Pods {
			out, err := podOf(pod)
			if err != nil {
				return err
			}
			out.Spec.NodeName, out.Status.Phase, out.Status.Conditions = n.Name, corev1.PodRunning, nil
			e.reader.add(out)
			pods = append(pods, out)
		}
	}
	for i, claim := range claims {
		e.cluster.UpdateNodeClaim(claim.DeepCopy())
		if err := e.cluster.UpdateNode(ctx, nodes[i].DeepCopy()); err != nil {
			return fmt.Errorf("tell the peer of node %s: %w", claim.Name, err)
		}
	}
	for _, pod := range pods {
		if err := e.cluster.UpdatePod(ctx, pod.DeepCopy()); err != nil {
			return fmt.Errorf("tell the peer of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	e.cluster.SetSynced(true)
	return nil
}

// settings are upstream's defaults, with the preference policy of the problem.
func settings(ctx context.Context, p *pack.Problem) context.Context {
	o := &options.Options{PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		FeatureGates: options.DefaultFeatureGates(), CPURequests: 1000, IgnoreDRARequests: true, BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second}
	if p.Options.IgnorePreferences {
		o.PreferencePolicy = options.PreferencePolicyIgnore
	}
	if p.Options.MinValuesBestEffort {
		o.MinValuesPolicy = options.MinValuesPolicyBestEffort
	}
	return options.ToContext(log.IntoContext(ctx, logr.Discard()), o)
}

// Solve is one provisioning pass. The context may end it early; the pods that were not looked at then are unplaced.
func (e *Engine) Solve(ctx context.Context) (scheduling.Results, error) {
	ctx = settings(ctx, e.problem)
	nodes := e.cluster.DeepCopyNodes()
	opts := []scheduling.Options{scheduling.NumConcurrentReconciles(e.procs)}
	if e.problem.Options.IgnorePreferences {
		opts = append(opts, scheduling.IgnorePreferences)
	}
	s, err := e.prov.NewScheduler(ctx, e.pending, nodes.Active(), sets.New[types.UID](), opts...)
	if err != nil {
		return scheduling.Results{}, fmt.Errorf("make the peer's scheduler: %w", err)
	}
	out, err := s.Solve(ctx, e.pending)
	if err != nil && ctx.Err() == nil {
		return scheduling.Results{}, fmt.Errorf("solve by the peer: %w", err)
	}
	return out.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), nil
}

// cloud sells the instance types of the problem.
type cloud struct {
	types map[string][]*cloudprovider.InstanceType
}

func newCloud(p *pack.Problem) *cloud {
	wellKnown := wellKnownOf(p)
	c := &cloud{types: map[string][]*cloudprovider.InstanceType{}}
	for i, pool := range p.Pools {
		// Upstream's cloud shares the list of types between pools that look alike; so do we.
		if i > 0 && len(pool.Types) > 0 && len(p.Pools[0].Types) == len(pool.Types) && &p.Pools[0].Types[0] == &pool.Types[0] {
			c.types[pool.Name] = c.types[p.Pools[0].Name]
			continue
		}
		for _, t := range pool.Types {
			c.types[pool.Name] = append(c.types[pool.Name], typeOf(t, wellKnown))
		}
	}
	return c
}

// baseLabels are the label keys that upstream's core knows without a provider.
var baseLabels = karpv1.WellKnownLabels.Clone()

// wellKnownOf registers the labels that the problem's types carry, as a provider does for its own, and no other: every
// type must say something about every such label, and more of them would slow upstream down.
func wellKnownOf(p *pack.Problem) sets.Set[string] {
	known := baseLabels.Clone()
	for _, pool := range p.Pools {
		for _, t := range pool.Types {
			for _, r := range t.Requirements {
				known.Insert(r.Key)
			}
		}
	}
	karpv1.WellKnownLabels = known
	return known
}

func (c *cloud) GetInstanceTypes(_ context.Context, np *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return c.types[np.Name], nil
}

func (c *cloud) Create(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return nil, fmt.Errorf("nothing is launched in a comparison")
}
func (c *cloud) Delete(context.Context, *karpv1.NodeClaim) error {
	return fmt.Errorf("nothing is sold in a comparison")
}
func (c *cloud) Get(context.Context, string) (*karpv1.NodeClaim, error) {
	return nil, fmt.Errorf("nothing is launched in a comparison")
}
func (c *cloud) List(context.Context) ([]*karpv1.NodeClaim, error) { return nil, nil }
func (c *cloud) IsDrifted(context.Context, *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}
func (c *cloud) RepairPolicies() []cloudprovider.RepairPolicy { return nil }
func (c *cloud) Name() string                                 { return "comparison" }
func (c *cloud) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.TestNodeClass{}}
}

type silent struct{}

func (silent) Publish(...events.Event) {}
