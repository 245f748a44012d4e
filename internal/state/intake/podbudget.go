package intake

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maxBudgetAnswers bounds how many answers are remembered for a namespace. Reached only where budgets select by labels
// that hardly two pods share; then the answers are worked out again.
const maxBudgetAnswers = 1 << 13

// PodBudgets are the PodDisruptionBudgets of a cluster, read once for each version that says something new. The zero value
// is ready for use.
//
// Concurrency: one goroutine at a time.
type PodBudgets struct {
	namespaces map[string]*namespaceBudgets
	changed    map[string]bool // see Changed
}

// namespaceBudgets are the budgets of a namespace that select anything.
type namespaceBudgets struct {
	budgets map[string]*podBudget // by name
	// keys are the labels that some selector looks at, sorted: pods that don't differ in them are selected alike.
	keys    []string
	answers map[string]answer // by the values of keys
	scratch []byte
}

// podBudget is a PodDisruptionBudget in the form in which pods are looked up.
type podBudget struct {
	name     string
	spec     policyv1.PodDisruptionBudgetSpec // what it was made from
	selector labels.Selector
	guard    guard
	// allowed, healthy and wantsAll are of its status: how many pods may go now, whether as many are ready as it wants, and
	// whether it wants as many as there are to be.
	allowed  int32
	healthy  bool
	wantsAll bool
}

// means is what the budget means for a pod that it selects.
func (b *podBudget) means() guard {
	if b.wantsAll {
		return b.guard | allowsNone
	}
	return b.guard
}

// answer is what budgets say about pods with the same labels.
type answer struct {
	guard guard
	only  *podBudget // when guarded by one
}

// guard is what budgets mean for the eviction of a pod.
type guard uint8

const (
	guarded      guard = 1 << iota // a budget selects the pod
	twice                          // and another, too
	allowsNone                     // no pod may be missing
	freesUnready                   // pods that are not ready may go
)

// Set takes in a version of a budget and reports whether it says anything new about any pod. Of its status only counts whether it
// wants all pods that there are to be.
func (b *PodBudgets) Set(pdb *policyv1.PodDisruptionBudget) (changed bool) {
	if pdb.DeletionTimestamp != nil {
		return b.Remove(pdb)
	}
	ns := b.namespaces[pdb.Namespace]
	if ns != nil {
		if old := ns.budgets[pdb.Name]; old != nil && equality.Semantic.DeepEqual(old.spec, pdb.Spec) {
			wanted := old.wantsAll
			b.recount(old, pdb)
			if wanted == old.wantsAll {
				return false
			}
			ns.answers = map[string]answer{}
			return true
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector) // nil selects nothing, empty all
	if err != nil {
		return b.Remove(pdb) // the eviction API passes over it
	}
	if _, selectable := selector.Requirements(); !selectable {
		return b.Remove(pdb)
	}
	if ns == nil {
		ns = &namespaceBudgets{budgets: map[string]*podBudget{}}
		if b.namespaces == nil {
			b.namespaces = map[string]*namespaceBudgets{}
		}
		b.namespaces[pdb.Namespace] = ns
	}
	one := &podBudget{name: pdb.Name, spec: pdb.Spec, selector: selector, guard: guardOf(&pdb.Spec)}
	one.count(pdb)
	ns.budgets[pdb.Name] = one
	b.note(pdb.Namespace)
	ns.renew()
	return true
}

// Remove takes in a budget's deletion and reports whether that says anything new about any pod.
func (b *PodBudgets) Remove(pdb *policyv1.PodDisruptionBudget) (changed bool) {
	ns := b.namespaces[pdb.Namespace]
	if ns == nil || ns.budgets[pdb.Name] == nil {
		return false
	}
	delete(ns.budgets, pdb.Name)
	b.note(pdb.Namespace)
	if len(ns.budgets) == 0 {
		delete(b.namespaces, pdb.Namespace)
		return true
	}
	ns.renew()
	return true
}

// Hold reports whether the eviction API refuses the pod as it and the budgets of its namespace are, and will until one
// of them is changed: more than one budget selects it, which the API does not support, or one does that allows no
// disruption at all, as minAvailable: 1 does for one replica. A budget that is merely used up for the moment holds nothing. As for the API, a pod that has not
// started, or is over or going already, is guarded by no budget, and one that is not ready by none whose
// unhealthyPodEvictionPolicy is AlwaysAllow.
//
// Cost: a lookup of the labels that the namespace's budgets look at; selectors are asked once for each set of values.
func (b *PodBudgets) Hold(pod *corev1.Pod) bool {
	ns := b.namespaces[pod.Namespace]
	if ns == nil || pod.DeletionTimestamp != nil {
		return false
	}
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return false
	}
	g := ns.guard(pod.Labels).guard
	switch {
	case g&twice != 0:
		return true // the API counts the budgets before it looks at what they say
	case g&freesUnready != 0 && !ready(pod):
		return false
	default:
		return g&allowsNone != 0
	}
}

// guard is what the budgets mean for pods with these labels.
func (ns *namespaceBudgets) guard(of map[string]string) answer {
	key := ns.scratch[:0]
	for _, k := range ns.keys {
		if v, ok := of[k]; ok {
			key = append(append(key, '='), v...) // a label's value has neither sign
		}
		key = append(key, ',')
	}
	ns.scratch = key
	if g, ok := ns.answers[string(key)]; ok {
		return g
	}
	var g answer
	for _, one := range ns.budgets {
		switch {
		case !one.selector.Matches(labels.Set(of)):
		case g.guard&guarded != 0:
			g.guard, g.only = g.guard|twice, nil
		default:
			g.guard, g.only = g.guard|one.means(), one
		}
	}
	if len(ns.answers) >= maxBudgetAnswers {
		clear(ns.answers)
	}
	ns.answers[string(key)] = g
	return g
}

// renew forgets what was found out with other budgets.
func (ns *namespaceBudgets) renew() {
	ns.answers, ns.keys = map[string]answer{}, nil
	for _, one := range ns.budgets {
		requirements, _ := one.selector.Requirements()
		for i := range requirements {
			ns.keys = append(ns.keys, requirements[i].Key())
		}
	}
	slices.Sort(ns.keys)
	ns.keys = slices.Compact(ns.keys)
}

// guardOf is what a budget by itself means for a pod that it selects.
func guardOf(spec *policyv1.PodDisruptionBudgetSpec) guard {
	is := func(v *intstr.IntOrString, number int32, percent string) bool {
		return v != nil && (v.Type == intstr.Int && number >= 0 && v.IntVal == number || v.Type == intstr.String && v.StrVal == percent)
	}
	g := guarded
	if is(spec.MaxUnavailable, 0, "0%") || is(spec.MinAvailable, -1, "100%") {
		g |= allowsNone
	}
	if p := spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		g |= freesUnready
	}
	return g
}

// ready reports whether the pod's condition Ready is true.
func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
