package witness

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	// Person is the value of taints that a person puts on nodes in a run.
	Person = "a-person"
	// FitsLabel is on pods that some pool can serve.
	FitsLabel = "endurance/fits"
)

func objects(list client.ObjectList) []client.Object {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil // not a list: the compiler has seen that it is one
	}
	var out []client.Object
	for _, i := range items {
		if o, ok := i.(client.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

func pool(p *karpv1.NodePool) *invariant.Pool {
	out := &invariant.Pool{Name: p.Name, Deleting: !p.DeletionTimestamp.IsZero(), Replicas: p.IsStatic()}
	for _, b := range p.Spec.Disruption.Budgets {
		if b.Schedule != nil {
			continue // the driver makes none
		}
		budget := invariant.Budget{Nodes: b.Nodes}
		for _, r := range b.Reasons {
			budget.Reasons = append(budget.Reasons, string(r))
		}
		out.Budgets = append(out.Budgets, budget)
	}
	return out
}

// instanceOf is the id in a provider ID.
func instanceOf(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

func finalizers(o client.Object) int {
	n := 0
	for _, f := range o.GetFinalizers() {
		if f == karpv1.TerminationFinalizer {
			n++
		}
	}
	return n
}

func claim(c *karpv1.NodeClaim) *invariant.Claim {
	conditions := c.StatusConditions()
	out := &invariant.Claim{
		Name: c.Name, UID: string(c.UID), Pool: c.Labels[karpv1.NodePoolLabelKey], Instance: instanceOf(c.Status.ProviderID),
		Created: c.CreationTimestamp.Time, Deleting: !c.DeletionTimestamp.IsZero(),
		Registered: conditions.IsTrue(karpv1.ConditionTypeRegistered), Initialized: conditions.IsTrue(karpv1.ConditionTypeInitialized),
		Interrupted: c.Annotations[index.InterruptedAnnotation] != "" || c.Annotations[index.MaintenanceAnnotation] != "",
		Expired:     c.Annotations[index.ExpiredAnnotation] != "",
		Held:        c.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true", Finalizers: finalizers(c),
	}
	if conditions.IsTrue(karpv1.ConditionTypeDisruptionReason) {
		out.Reason = conditions.Get(karpv1.ConditionTypeDisruptionReason).Reason
	}
	if d := c.Spec.ExpireAfter.Duration; d != nil {
		out.ExpireAfter = *d
	}
	if g := c.Spec.TerminationGracePeriod; g != nil {
		out.Grace = g.Duration
	}
	if at, err := time.Parse(time.RFC3339, c.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]); err == nil {
		out.Deadline = at
	}
	return out
}

func node(n *corev1.Node) *invariant.Node {
	disrupted := karpv1.DisruptedNoScheduleTaint()
	out := &invariant.Node{
		Name: n.Name, UID: string(n.UID), Instance: instanceOf(n.Spec.ProviderID), Pool: n.Labels[karpv1.NodePoolLabelKey],
		Deleting: !n.DeletionTimestamp.IsZero(), Mark: n.Annotations[intake.DisruptingAnnotation],
		Held: n.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true", Finalizers: finalizers(n),
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Value == Person {
			out.Persons = append(out.Persons, t.Key+"="+t.Value+":"+string(t.Effect))
		} else if t.MatchTaint(&disrupted) {
			out.Disrupted = true
		}
	}
	return out
}

func pod(p *corev1.Pod, g *guards) *invariant.Pod {
	out := &invariant.Pod{
		Key: p.Namespace + "/" + p.Name, UID: string(p.UID), Node: p.Spec.NodeName, Phase: string(p.Status.Phase), Deleting: !p.DeletionTimestamp.IsZero(),
		// Protection for a time ends without a word of the API; only the one without end is judged.
		Held: p.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true", Fits: p.Labels[FitsLabel] == "true", Guards: g.of(p), Grace: 30 * time.Second,
	}
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		out.Grace = time.Duration(*s) * time.Second
	}
	disrupted := karpv1.DisruptedNoScheduleTaint()
	out.Stays = slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" || o.Kind == "Node" }) ||
		slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == "" || t.Key == disrupted.Key) && t.Operator == corev1.TolerationOpExists && (t.Effect == "" || t.Effect == disrupted.Effect)
		})
	return out
}

// guards are the disruption budgets that are known.
type guards struct {
	mu  sync.Mutex
	all map[string]*policyv1.PodDisruptionBudget
}

func newGuards() *guards { return &guards{all: map[string]*policyv1.PodDisruptionBudget{}} }

func (g *guards) keep(b *policyv1.PodDisruptionBudget, gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if key := b.Namespace + "/" + b.Name; gone {
		delete(g.all, key)
	} else {
		g.all[key] = b
	}
}

// of lists the budgets that select a pod.
func (g *guards) of(p *corev1.Pod) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for key, b := range g.all {
		if b.Namespace != p.Namespace || b.Spec.Selector == nil {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && s.Matches(labels.Set(p.Labels)) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
