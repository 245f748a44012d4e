package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	categoryLabel   = "karpenter.k8s.aws/instance-category"
	generationLabel = "karpenter.k8s.aws/instance-generation"
	familyLabel     = "karpenter.k8s.aws/instance-family"
)

// generalCategories are those of the instance types that an assumed pool may launch, besides the ones that run: what Karpenter's
// and Kerf's own first steps recommend. Generations below oldestGeneration cost more for less.
var generalCategories = []string{"c", "m", "r"}

const oldestGeneration = 5

// mostCPU is how many vCPUs an instance of an assumed pool has at most, unless a larger one runs: on larger ones too many pods would
// go at once, whatever they save. Bare metal, which boots for ten minutes, is left out as well.
const mostCPU = 64

const (
	cpuLabel        = "karpenter.k8s.aws/instance-cpu"
	hypervisorLabel = "karpenter.k8s.aws/instance-hypervisor"
)

// assumedTaint keeps pods of NodePools off the pools that are assumed for other nodes: what a NodePool may launch is its owner's
// decision. Pods of other nodes may go to NodePools. Its value is a capacity type: pods that run on demand stay on demand, and what
// spot would save them is told apart.
const assumedTaint = "kerf.sh/assumed-pool"

func taintOf(capacityType string) cluster.Taint {
	if capacityType != catalog.Spot {
		capacityType = catalog.OnDemand
	}
	return cluster.Taint{Key: assumedTaint, Value: capacityType, Effect: cluster.NoSchedule}
}

// nodePools are the NodePools that Kerf would serve, with the types that they may launch now. notes say what had to be assumed.
func (st *state) nodePools(m *market) (out []*cluster.Pool, notes []string) {
	classes := map[string]*awsv1.EC2NodeClass{}
	for _, c := range st.from.NodeClasses {
		classes[c.Name] = c
	}
	types := map[string][]*catalog.Type{}
	for _, name := range sortedKeys(st.pools) {
		p := st.pools[name]
		if p.IsStatic() {
			continue
		}
		ref := p.Spec.Template.Spec.NodeClassRef.Name
		class := classes[ref]
		if class == nil {
			notes = append(notes, fmt.Sprintf("EC2NodeClass %s of NodePool %s is not known: its nodes are reckoned as AL2023 in the zones in which its nodes run", ref, name))
			class = &awsv1.EC2NodeClass{}
			class.Name = ref
		}
		if types[ref] == nil {
			config, err := instancetype.ConfigOf(class, m.options())
			if err != nil {
				notes = append(notes, fmt.Sprintf("%v: the class is reckoned without it", err))
				config, _ = instancetype.ConfigOf(&awsv1.EC2NodeClass{}, m.options())
			}
			subnets := class.Status.Subnets
			if len(subnets) == 0 {
				subnets = m.subnetsIn(st.zones(func(a *audited) bool { return a.from == ofPool && a.Pool == name }))
			}
			types[ref] = m.types(config, subnets, false)
		}
		pool := intake.Pool(p, class, m.layer(p).Types(types[ref]))
		pool.NotReady = "" // whether it can launch at this moment is no matter of cost
		out = append(out, pool)
	}
	return out, notes
}

// zones are those in which nodes run.
func (st *state) zones(of func(*audited) bool) []string {
	seen := map[string]bool{}
	for _, a := range st.nodes {
		if of(a) && a.Zone != "" {
			seen[a.Zone] = true
		}
	}
	return sortedKeys(seen)
}

// subnetsIn is a subnet in each of the zones; in all of the region where there are none.
func (m *market) subnetsIn(zones []string) []awsv1.Subnet {
	var out []awsv1.Subnet
	for _, z := range zones {
		one := awsv1.Subnet{ID: "subnet-" + z, Zone: z}
		for _, known := range m.zones {
			if known.Zone == z {
				one.ZoneID = known.ZoneID
			}
		}
		out = append(out, one)
	}
	if out == nil {
		return m.zones
	}
	return out
}

// assumed makes pools for the nodes that no NodePool governs: one for each capacity type, set of taints and of labels that pods ask for. The nodes
// get the pool's name and taint, and their pods and all daemons tolerate it.
func (st *state) assumed(m *market) (pools []*cluster.Pool, told []AssumedPool) {
	asked := st.askedLabels()
	flavours := map[string][]*audited{}
	for _, a := range st.nodes {
		if a.from == ofGroup && a.movable() {
			key := flavour(a, asked)
			flavours[key] = append(flavours[key], a)
		}
	}
	if len(flavours) == 0 {
		return nil, nil
	}
	config, _ := instancetype.ConfigOf(&awsv1.EC2NodeClass{}, m.options())
	var types []*catalog.Type
	zones := st.zones(func(a *audited) bool { return a.from == ofGroup })
	types = m.types(config, m.subnetsIn(zones), false)
	for i, key := range sortedKeys(flavours) {
		nodes := flavours[key]
		name := fmt.Sprintf("assumed-%d", i+1)
		pool, tell := assumedPool(name, nodes, asked, m)
		pool.Types, tell.Zones = types, zones
		pools, told = append(pools, pool), append(told, tell)
		for _, a := range nodes {
			a.Pool = name
		}
	}
	st.tolerateAssumed()
	slices.SortStableFunc(told, func(a, b AssumedPool) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return pools, told
}

// askedLabels are the label keys that pods and daemons ask nodes for, but for those that an instance type or a place decides.
func (st *state) askedLabels() map[string]bool {
	out := map[string]bool{}
	terms := func(list []requirement.Term) {
		for _, t := range list {
			out[t.Key] = true
		}
	}
	class := func(c *cluster.Class) {
		terms(c.Selector)
		for _, a := range c.Affinity {
			terms(a)
		}
		for _, s := range c.Spreads {
			out[s.Key] = true
		}
		for _, p := range append(slices.Clone(c.PodAffinity), c.AntiAffinity...) {
			out[p.Key] = true
		}
	}
	seen := map[*cluster.Class]bool{}
	for _, n := range st.cluster.Nodes {
		for _, p := range n.Pods {
			if !seen[p.Class] {
				seen[p.Class] = true
				class(p.Class)
			}
		}
	}
	for _, d := range st.cluster.Daemons {
		class(d.Class)
	}
	for key := range out {
		if isDecided(key) {
			delete(out, key)
		}
	}
	return out
}

// isDecided reports whether instance type, zone or the node itself decide a label.
func isDecided(key string) bool {
	rules := karpv1.CoreLabelRules().With(awsv1.WellKnownLabels(), nil, awsv1.LabelAliases())
	return rules.IsWellKnown(rules.Normalize(key)) || key == corev1.LabelHostname || key == eksComputeType
}

// flavour is what tells the nodes of one assumed pool from those of another.
func flavour(a *audited, asked map[string]bool) string {
	parts := []string{taintOf(a.CapacityType).String()}
	for _, t := range a.Taints {
		parts = append(parts, "taint "+t.String())
	}
	for _, key := range sortedKeys(asked) {
		if v, ok := a.Labels[key]; ok {
			parts = append(parts, key+"="+v)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "|")
}

func assumedPool(name string, nodes []*audited, asked map[string]bool, m *market) (*cluster.Pool, AssumedPool) {
	groups, categories, archs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range generalCategories {
		categories[c] = true
	}
	largest, metal := mostCPU, false
	for _, a := range nodes {
		groups[a.group] = true
		if t := m.all[a.InstanceType]; t != nil {
			categories[label(t, categoryLabel)] = true
			archs[label(t, corev1.LabelArchStable)] = true
			if n, err := strconv.Atoi(label(t, cpuLabel)); err == nil {
				largest = max(largest, n)
			}
			metal = metal || label(t, hypervisorLabel) == ""
		}
	}
	first := nodes[0]
	taint := taintOf(first.CapacityType)
	pool := &cluster.Pool{Name: name, Labels: map[string]string{}, Taints: append(slices.Clone(first.Taints), taint)}
	tell := AssumedPool{Groups: sortedKeys(groups), Nodes: len(nodes), Categories: sortedKeys(categories), Architectures: sortedKeys(archs), CapacityTypes: []string{taint.Value}}
	for _, t := range first.Taints {
		tell.Taints = append(tell.Taints, t.String())
	}
	for key := range asked {
		if v, ok := first.Labels[key]; ok {
			pool.Labels[key] = v
		}
	}
	if len(pool.Labels) > 0 {
		tell.Labels = maps.Clone(pool.Labels)
	}
	pool.Requirements = []requirement.Term{
		{Key: categoryLabel, Operator: requirement.In, Values: tell.Categories},
		{Key: corev1.LabelArchStable, Operator: requirement.In, Values: tell.Architectures},
		{Key: karpv1.CapacityTypeLabelKey, Operator: requirement.In, Values: tell.CapacityTypes},
		{Key: corev1.LabelOSStable, Operator: requirement.In, Values: []string{"linux"}},
		{Key: generationLabel, Operator: requirement.Gt, Values: []string{fmt.Sprint(oldestGeneration - 1)}},
	}
	pool.Requirements = append(pool.Requirements, requirement.Term{Key: cpuLabel, Operator: requirement.Lt, Values: []string{strconv.Itoa(largest + 1)}})
	if !metal {
		pool.Requirements = append(pool.Requirements, requirement.Term{Key: hypervisorLabel, Operator: requirement.Exists})
	}
	tell.MostCPU = largest
	for _, key := range sortedKeys(pool.Labels) {
		pool.Requirements = append(pool.Requirements, requirement.Term{Key: key, Operator: requirement.In, Values: []string{pool.Labels[key]}})
	}
	slices.SortFunc(pool.Requirements, func(a, b requirement.Term) int { return cmp.Compare(a.Key, b.Key) })
	return pool, tell
}

// tolerateAssumed puts the taint of assumed pools on their nodes, and a toleration of it on the pods that run there and on daemons.
func (st *state) tolerateAssumed() {
	type key struct {
		class *cluster.Class
		any   bool
	}
	made := map[key]*cluster.Class{}
	tolerant := func(c *cluster.Class, anyType bool) *cluster.Class {
		if out := made[key{c, anyType}]; out != nil {
			return out
		}
		out := new(*c)
		t := cluster.Toleration{Key: assumedTaint, Exists: anyType}
		if !anyType {
			t.Value = catalog.OnDemand
		}
		out.Tolerations = append(slices.Clone(c.Tolerations), t)
		out.ID = out.Hash()
		made[key{c, anyType}] = out
		return out
	}
	for _, a := range st.nodes {
		group := a.from == ofGroup
		if group {
			a.Taints = append(slices.Clone(a.Taints), taintOf(a.CapacityType))
		}
		pods := make([]*cluster.Pod, len(a.Pods))
		for i, p := range a.Pods {
			pods[i] = p
			if group || p.Daemon {
				own := *p
				own.Class = tolerant(p.Class, p.Daemon || a.CapacityType == catalog.Spot)
				pods[i] = &own
			}
		}
		a.Pods = pods
	}
	daemons := slices.Clone(st.cluster.Daemons)
	for i := range daemons {
		daemons[i].Class = tolerant(daemons[i].Class, true)
	}
	own := *st.cluster
	own.Daemons = daemons
	st.cluster = &own
}
