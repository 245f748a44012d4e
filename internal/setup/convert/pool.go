package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// poolDraft is a NodePool on its way. What it has for the kubelet belongs to its class.
type poolDraft struct {
	object  *karpv1.NodePool
	fields  *fields
	kubelet *awsv1.KubeletConfiguration
	limits  map[string]string // as they were written
	// kubeletAt is where the pool had its settings of the kubelet.
	kubeletAt string
}

// additions are what a class asks of the pools that use it: what its user data told the kubelet of labels and taints, and
// what a launch template said of instances.
type additions struct {
	fields       *fields // to report to
	labels       map[string]string
	taints       []corev1.Taint
	requirements []karpv1.NodeSelectorRequirementWithMinValues
}

func (a *additions) none() bool {
	return len(a.labels) == 0 && len(a.taints) == 0 && len(a.requirements) == 0
}

func newPool(name string) *karpv1.NodePool {
	return &karpv1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: karpv1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func (c *converter) addPool(p *poolDraft) { c.items = append(c.items, item{pool: p}) }

// classRef is the reference to a class of ours.
func classRef(name string) *karpv1.NodeClassReference {
	return &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: name}
}

// joinPools gives each class what its pools have for it, and each pool what its class has. Where the pools of a class want
// different kubelets, the class becomes several.
func (c *converter) joinPools() {
	users := map[string][]*poolDraft{}
	for _, it := range c.items {
		if it.pool == nil {
			continue
		}
		if ref := it.pool.object.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Kind == "EC2NodeClass" {
			users[ref.Name] = append(users[ref.Name], it.pool)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if class := c.classes[name]; class != nil {
			c.joinClass(class, users[name])
			continue
		}
		for _, p := range users[name] {
			c.foreignClass(name, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.classes)) {
		if class := c.classes[name]; len(users[name]) == 0 {
			c.flatPods(class)
			class.nodes.homeless()
			class.stays.mislead(nil)
		}
	}
}

// foreignClass is for pools whose class is not among what is converted.
func (c *converter) foreignClass(name string, p *poolDraft) {
	where := "is not in the input"
	if c.current[name] {
		where = "is of v1 already and is left unchanged"
	}
	if p.kubelet != nil {
		raw, _ := json.Marshal(p.kubelet)
		p.fields.lost(p.kubeletAt, "it belongs to the EC2NodeClass now, and EC2NodeClass "+name+" "+where, "put this under spec.kubelet of EC2NodeClass "+name+": "+string(raw))
	}
	if !c.current[name] {
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("NodePool %s refers to EC2NodeClass %s, which %s: convert its AWSNodeTemplate or EC2NodeClass as well", p.object.Name, name, where))
	}
}

func (c *converter) joinClass(class *classDraft, pools []*poolDraft) {
	var order []string
	groups := map[string][]*poolDraft{}
	for _, p := range pools {
		raw, _ := json.Marshal(p.kubelet)
		key := string(raw)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], p)
		class.nodes.give(p)
		class.stays.mislead(p)
	}
	original := class.object.DeepCopy()
	// The pool of the same name keeps the class that there is, else pools without preferences, else the first pool.
	slices.SortStableFunc(order, func(a, b string) int { return rank(class, groups[a]) - rank(class, groups[b]) })
	for i, key := range order {
		of := class
		if i > 0 {
			of = c.variant(class, original, groups[key])
		}
		c.giveKubelet(of, groups[key], i == 0)
		c.flatPods(of)
	}
}

func rank(class *classDraft, pools []*poolDraft) int {
	switch {
	case slices.ContainsFunc(pools, func(p *poolDraft) bool { return p.object.Name == class.object.Name }):
		return 0
	case pools[0].kubelet == nil:
		return 1
	}
	return 2
}

// at is where the pool had its settings of the kubelet, or would have had them.
func (p *poolDraft) at() string {
	if p.kubelet == nil {
		return p.kubeletAt + " (not set)"
	}
	return p.kubeletAt
}

// variant makes a class like another for pools with another kubelet.
func (c *converter) variant(class *classDraft, original *awsv1.EC2NodeClass, pools []*poolDraft) *classDraft {
	name := c.freeName(original.Name + "-" + pools[0].object.Name)
	out := &classDraft{object: original.DeepCopy(), fields: class.fields, told: class.told, booted: class.booted}
	out.object.Name = name
	c.classes[name] = out
	for _, p := range pools {
		p.object.Spec.Template.Spec.NodeClassRef.Name = name
		p.fields.translated(p.at(), "EC2NodeClass "+name, "the class is a copy of EC2NodeClass "+original.Name+": the kubelet's settings belong to the class now, and other pools of it have others")
	}
	at := slices.IndexFunc(c.items, func(it item) bool { return it.class == class })
	c.items = slices.Insert(c.items, at+1, item{class: out})
	return out
}

// giveKubelet moves what pools have for the kubelet into their class. What user data told the kubelet is what held, so it
// wins.
func (c *converter) giveKubelet(class *classDraft, pools []*poolDraft, tell bool) {
	asked := pools[0].kubelet
	if class.booted != nil {
		asked = class.booting(asked, pools)
	}
	if asked == nil {
		return
	}
	spec := &class.object.Spec
	if spec.Kubelet == nil {
		spec.Kubelet = asked.DeepCopy()
		for _, p := range pools {
			if !tell {
				break
			}
			p.fields.translated(p.at(), "EC2NodeClass "+class.object.Name+" spec.kubelet", "the kubelet's settings belong to the class now")
		}
		return
	}
	merged := map[string]any{}
	for _, k := range []*awsv1.KubeletConfiguration{asked, spec.Kubelet} {
		raw, _ := json.Marshal(k)
		_ = json.Unmarshal(raw, &merged)
	}
	raw, _ := json.Marshal(merged)
	out := &awsv1.KubeletConfiguration{}
	_ = json.Unmarshal(raw, out)
	spec.Kubelet = out
	for _, p := range pools {
		p.fields.translated(p.at(), "EC2NodeClass "+class.object.Name+" spec.kubelet", "the kubelet's settings belong to the class now; where user data told the kubelet otherwise, that held and holds")
	}
}

// flatPods spells out a number of pods that did not follow from the instance.
func (c *converter) flatPods(class *classDraft) {
	k := class.object.Spec.Kubelet
	if !c.global.flatPods || k != nil && (k.MaxPods != nil || k.PodsPerCore != nil) || class.booted != nil && class.booted.MaxPods != nil {
		return
	}
	if k == nil {
		k = &awsv1.KubeletConfiguration{}
		class.object.Spec.Kubelet = k
	}
	k.MaxPods = new(int32(110))
}

// give hands a pool what its class has for it.
func (a *additions) give(p *poolDraft) {
	if a.none() {
		return
	}
	template := &p.object.Spec.Template
	pool := "NodePool " + p.object.Name
	for _, k := range slices.Sorted(maps.Keys(a.labels)) {
		if had, ok := template.Labels[k]; ok {
			if had != a.labels[k] {
				a.fields.lost("label "+k+"="+a.labels[k], pool+" gives its nodes the value "+had, "see which of the two is right")
			}
			continue
		}
		if template.Labels == nil {
			template.Labels = map[string]string{}
		}
		template.Labels[k] = a.labels[k]
		a.label(k, p)
	}
	for _, t := range a.taints {
		same := func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }
		if !slices.ContainsFunc(template.Spec.Taints, same) && !slices.ContainsFunc(template.Spec.StartupTaints, same) {
			template.Spec.Taints = append(template.Spec.Taints, t)
			a.fields.translated("taint "+t.Key, pool+" spec.template.spec.taints", "the kubelet was told; now it is the pool's")
		}
	}
	for _, r := range a.requirements {
		if !slices.ContainsFunc(template.Spec.Requirements, func(o karpv1.NodeSelectorRequirementWithMinValues) bool { return o.Key == r.Key }) {
			template.Spec.Requirements = append(template.Spec.Requirements, r)
		}
	}
}

// oldCapacityType chose between spot and on-demand in the first releases.
const oldCapacityType = "node.k8s.aws/capacity-type"

// likeAnyOther is what became of that label.
const likeAnyOther = "in the first releases this label chose what was launched, and now it is a label like any other"

func (a *additions) label(k string, p *poolDraft) {
	do := ""
	why := "the kubelet was told; now it is the pool's"
	if k == oldCapacityType {
		why += "; " + likeAnyOther
		if value := a.labels[k]; !p.launchesOnly(value) {
			do = "if the pool is to launch " + value + " instances, set its requirement " + karpv1.CapacityTypeLabelKey + " to In [" + value + "]; if not, drop the label, which says of other instances that they are " + value
		}
	}
	a.fields.decide("label "+k, "NodePool "+p.object.Name+" spec.template.metadata.labels", why, do)
}

// buysOnly tells whether all instances of the pool are of a capacity type.
func (p *poolDraft) launchesOnly(capacityType string) bool {
	return slices.ContainsFunc(p.object.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == karpv1.CapacityTypeLabelKey && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 && r.Values[0] == capacityType
	})
}

// homeless reports what no pool was there for.
func (a *additions) homeless() {
	if a.none() {
		return
	}
	what := map[string]any{}
	if len(a.labels) > 0 {
		what["labels"] = a.labels
	}
	if len(a.taints) > 0 {
		what["taints"] = a.taints
	}
	if len(a.requirements) > 0 {
		what["requirements"] = a.requirements
	}
	raw, _ := json.Marshal(what)
	a.fields.lost("labels, taints and requirements", "they belong to NodePools now, and none in the input uses the class", "put these into spec.template of the NodePools that use it: "+string(raw))
}
