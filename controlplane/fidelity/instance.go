package fidelity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// logger is where helpers of the scheduler may write what no one reads.
var logger = klog.Background()

// instance is the Node that a type makes when it is launched at an offering, as it looks once it is initialized.
func instance(name string, t *catalog.Type, o catalog.Offering, custom map[string]string, taints []corev1.Taint) *corev1.Node {
	labels := typeLabels(t)
	maps.Copy(labels, offeringLabels(o))
	maps.Copy(labels, custom)
	labels[corev1.LabelHostname] = name
	labels[karpv1.NodeRegisteredLabelKey] = "true"
	labels[karpv1.NodeInitializedLabelKey] = "true"
	labels[awsv1.LabelNodeClass] = "default"
	labels[caseLabel] = "node"
	// What kubelet, cloud provider and storage driver write besides.
	labels["beta.kubernetes.io/arch"] = labels[corev1.LabelArchStable]
	labels["beta.kubernetes.io/os"] = labels[corev1.LabelOSStable]
	labels[corev1.LabelInstanceType] = t.Name
	labels[corev1.LabelFailureDomainBetaZone] = o.Zone
	labels[corev1.LabelFailureDomainBetaRegion] = region
	labels[driverZone] = o.Zone
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: slices.Clone(taints), ProviderID: "aws:///" + o.Zone + "/" + name},
		Status: corev1.NodeStatus{
			Capacity: intake.ResourceList(t.Capacity), Allocatable: intake.ResourceList(t.Allocatable()),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
}

// typeLabels are the labels that are certain of a type.
func typeLabels(t *catalog.Type) map[string]string {
	out := map[string]string{awsv1.LabelInstanceTenancy: "default"}
	for _, r := range t.Requirements {
		if r.Operator == requirement.In && len(r.Values) == 1 {
			out[r.Key] = r.Values[0]
		}
	}
	return out
}

func offeringLabels(o catalog.Offering) map[string]string {
	out := map[string]string{requirement.Zone: o.Zone, requirement.CapacityType: o.CapacityType}
	if o.ZoneID != "" {
		out[requirement.ZoneID] = o.ZoneID
	}
	if o.ReservationID != "" {
		out[requirement.ReservationID] = o.ReservationID
	}
	return out
}

func csiNode(name string, limit int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{caseLabel: "node"}}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: name, TopologyKeys: []string{driverZone},
			Allocatable: &storagev1.VolumeNodeResources{Count: new(limit)}}}}}
}

// csiNodeOf is what the storage driver reports of an instance of the type; nil when no limit is known.
func csiNodeOf(name string, t *catalog.Type) *storagev1.CSINode {
	limit, ok := t.AttachLimits[driver]
	if !ok {
		return nil
	}
	return csiNode(name, int32(limit))
}

// daemonPods are the pods that the daemon sets put onto the instance, judged as the DaemonSet controller judges.
func daemonPods(sets []*appsv1.DaemonSet, n *corev1.Node) []*corev1.Pod {
	free := intake.Resources(n.Status.Allocatable)
	var out []*corev1.Pod
	for _, ds := range sets {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ds.Namespace, Name: ds.Name + "-" + n.Name,
			Labels: maps.Clone(ds.Spec.Template.Labels)}, Spec: *ds.Spec.Template.Spec.DeepCopy()}
		pod.Labels[daemonLabel] = ds.Name
		pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
		if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n); err != nil || !ok {
			continue
		}
		tolerations := append([]corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}, pod.Spec.Tolerations...)
		if untolerated(n, tolerations) || !fits(pod, free) {
			continue
		}
		take(pod, free)
		pod.Spec.NodeName = n.Name
		out = append(out, pod)
	}
	return out
}

func untolerated(n *corev1.Node, tolerations []corev1.Toleration) bool {
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !corev1helpers.TolerationsTolerateTaint(logger, tolerations, t, false) {
			return true
		}
	}
	return false
}

func fits(pod *corev1.Pod, free res.List) bool {
	for k, v := range intake.PodRequests(pod) {
		if free[k] < v {
			return false
		}
	}
	return true
}

func take(pod *corev1.Pod, free res.List) {
	for k, v := range intake.PodRequests(pod) {
		free[k] -= v
	}
}

// launched is a planned instance as it was launched.
type launched struct {
	node *corev1.Node
	csi  *storagev1.CSINode
	typ  *catalog.Type
}

// launch makes the instances of the plan, each of the first type at the first offering, or of any that the plan allows.
//
// Errors: a planned node that can't be launched.
func (c *Case) launch(p *plan.Plan, pools []*cluster.Pool) ([]launched, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 0xb0))
	var out []launched
	for i := range p.NewNodes {
		nn := &p.NewNodes[i]
		at := slices.IndexFunc(pools, func(x *cluster.Pool) bool { return x.Name == nn.Pool })
		if at < 0 {
			return nil, fmt.Errorf("new node %d is of pool %s, which does not exist", i+1, nn.Pool)
		}
		t, o, err := c.choose(nn, pools[at], rng)
		if err != nil {
			return nil, fmt.Errorf("new node %d: %w", i+1, err)
		}
		pool := c.Pools[slices.IndexFunc(c.Pools, func(x *karpv1.NodePool) bool { return x.Name == nn.Pool })]
		claim := apply.NodeClaim(nn, pool, pools[at])
		name := fmt.Sprintf("new-%d-%d", c.Seed, i+1)
		out = append(out, launched{instance(name, t, o, claim.Labels, claim.Spec.Taints), csiNodeOf(name, t), t})
	}
	return out, nil
}

// choose is the launch's choice.
func (c *Case) choose(nn *plan.NewNode, pool *cluster.Pool, rng *rand.Rand) (*catalog.Type, catalog.Offering, error) {
	first := nn.Types[0]
	name := first.Name
	if c.AnyOffering {
		name = nn.Types[rng.IntN(len(nn.Types))].Name
	}
	at := slices.IndexFunc(pool.Types, func(t *catalog.Type) bool { return t.Name == name })
	if at < 0 {
		return nil, catalog.Offering{}, fmt.Errorf("pool %s has no type %s", pool.Name, name)
	}
	t := pool.Types[at]
	var able []catalog.Offering
	for _, o := range t.Offerings {
		if buyable(o) && admits(nn.Requirements, offeringLabels(o)) && (c.AnyOffering || o.Zone == first.Zone && o.CapacityType == first.CapacityType) {
			able = append(able, o)
		}
	}
	if len(able) == 0 {
		return nil, catalog.Offering{}, fmt.Errorf("type %s of pool %s has no offering that the plan allows (%s %s first)", name, pool.Name, first.Zone, first.CapacityType)
	}
	if c.AnyOffering {
		return t, able[rng.IntN(len(able))], nil
	}
	return t, able[0], nil
}

func buyable(o catalog.Offering) bool {
	return o.Available && (o.CapacityType != catalog.Reserved || o.Reservable > 0)
}

// admits reports whether an offering's labels meet those of the terms that are about labels that offerings decide.
func admits(terms []requirement.Term, labels map[string]string) bool {
	for _, t := range terms {
		switch t.Key {
		case requirement.Zone, requirement.ZoneID, requirement.CapacityType, requirement.ReservationID:
			if !meets(t, labels) {
				return false
			}
		}
	}
	return true
}

// meets reports whether a node with the labels meets the term of a pool.
func meets(t requirement.Term, labels map[string]string) bool {
	value, has := labels[t.Key]
	switch t.Operator {
	case requirement.In:
		return has && slices.Contains(t.Values, value)
	case requirement.NotIn:
		return !has || !slices.Contains(t.Values, value)
	case requirement.Exists:
		return has
	case requirement.DoesNotExist:
		return !has
	}
	var have, bound int
	if n, err := fmt.Sscan(value+" "+strings.Join(t.Values, " "), &have, &bound); n != 2 || err != nil {
		return false
	}
	switch t.Operator {
	case requirement.Gt:
		return have > bound
	case requirement.Lt:
		return have < bound
	case requirement.Gte:
		return have >= bound
	case requirement.Lte:
		return have <= bound
	}
	return false
}

// offers are all instances that the pools could launch, one of each type, offering and label that a pool leaves open.
func (c *Case) offers(pools []*cluster.Pool) []launched {
	var out []launched
	for i, pool := range c.Pools {
		for _, custom := range openLabels(pool) {
			for _, t := range c.Types {
				for _, o := range t.Offerings {
					if !buyable(o) {
						continue
					}
					name := fmt.Sprintf("offer-%d-%d", c.Seed, len(out)+1)
					n := instance(name, t, o, custom, pool.Spec.Template.Spec.Taints)
					if !slices.ContainsFunc(pools[i].Requirements, func(r requirement.Term) bool { return !meets(r, n.Labels) }) {
						n.Labels[caseLabel] = "offer"
						out = append(out, launched{n, csiNodeOf(name, t), t})
					}
				}
			}
		}
	}
	return out
}

// openLabels are the ways in which a pool can label its instances: each value of those labels that it leaves open.
func openLabels(pool *karpv1.NodePool) []map[string]string {
	base := maps.Clone(pool.Spec.Template.Labels)
	if base == nil {
		base = map[string]string{}
	}
	base[karpv1.NodePoolLabelKey] = pool.Name
	out := []map[string]string{base}
	lower, upper := 0, 0
	for _, r := range pool.Spec.Template.Spec.Requirements {
		switch {
		case r.Key == tierKey:
			out = times(out, tierKey, r.Values)
		case r.Key == anyKey:
			out = times(out, anyKey, []string{"x"})
		case r.Key == rankKey && r.Operator == corev1.NodeSelectorOpGt:
			lower, _ = strconv.Atoi(r.Values[0]) // the generator writes numbers only
		case r.Key == rankKey && r.Operator == corev1.NodeSelectorOpLt:
			upper, _ = strconv.Atoi(r.Values[0])
		}
	}
	if upper > 0 {
		var ranks []string
		for n := lower + 1; n < upper; n++ {
			ranks = append(ranks, fmt.Sprint(n))
		}
		out = times(out, rankKey, ranks)
	}
	return out
}

func times(in []map[string]string, key string, values []string) []map[string]string {
	var out []map[string]string
	for _, m := range in {
		for _, v := range values {
			with := maps.Clone(m)
			with[key] = v
			out = append(out, with)
		}
	}
	return out
}

// couldTake reports whether nothing but neighbours and what runs on the instance speaks against the pod, in the
// scheduler's own reading.
func couldTake(n *corev1.Node, pod *corev1.Pod) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n)
	return err == nil && ok && !untolerated(n, pod.Spec.Tolerations) && fits(pod, intake.Resources(n.Status.Allocatable))
}
