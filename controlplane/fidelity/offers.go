package fidelity

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Most instances that are offered at once, and how many of them are such as can't take any of the pods whatever runs on
// them.
const (
	mostOffers = 160
	vainOffers = 12
)

// inVain offers one instance of everything to the impossible pods and reports whether all of them stay where they are.
func (c *Cluster) inVain(ctx context.Context, r *Run, impossible []*corev1.Pod) (bool, error) {
	if err := c.holdAll(ctx, r.Case, impossible); err != nil {
		return false, err
	}
	if err := c.begun(ctx, r.Case, r.offered(impossible)); err != nil {
		return false, err
	}
	if err := c.release(ctx, impossible); err != nil {
		return false, err
	}
	bound, refused, err := c.bindings(ctx, impossible)
	if err != nil {
		return false, err
	}
	maps.Copy(r.Bound, bound)
	maps.Copy(r.Refused, refused)
	return len(bound) == 0, nil
}

// withdraw takes back what was offered.
func (c *Cluster) withdraw(ctx context.Context) error {
	c.mu.Lock()
	var gone []*corev1.Pod
	var nodes []string
	for _, n := range c.nodes {
		if n.Labels[caseLabel] == "offer" {
			nodes = append(nodes, n.Name)
		}
	}
	for _, p := range c.pods {
		if slices.Contains(nodes, p.Spec.NodeName) && p.Labels[daemonLabel] != "" {
			gone = append(gone, p)
		}
	}
	c.mu.Unlock()
	if err := c.remove(ctx, gone); err != nil {
		return err
	}
	err := each(nodes, func(name string) error {
		return missing(c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	})
	if err != nil {
		return fmt.Errorf("take nodes back: %w", err)
	}
	err = each(nodes, func(name string) error {
		return missing(c.client.StorageV1().CSINodes().Delete(ctx, name, metav1.DeleteOptions{}))
	})
	if err != nil {
		return fmt.Errorf("take nodes back: %w", err)
	}
	return c.await(ctx, "offered nodes are gone", func() bool {
		return !slices.ContainsFunc(nodes, func(name string) bool { return c.nodes["/"+name] != nil })
	})
}

// offered are the instances to offer: those that labels, taints and size let any of the pods have, and some of the others.
func (r *Run) offered(impossible []*corev1.Pod) []launched {
	var able, vain []launched
	for _, m := range r.Case.distinct(r.Case.offers(r.Problem.Pools)) {
		if slices.ContainsFunc(impossible, func(p *corev1.Pod) bool { return couldTake(m.node, p) }) {
			able = append(able, m)
		} else {
			vain = append(vain, m)
		}
	}
	rng := rand.New(rand.NewPCG(r.Case.Seed, 0x0f))
	rng.Shuffle(len(able), func(i, j int) { able[i], able[j] = able[j], able[i] })
	rng.Shuffle(len(vain), func(i, j int) { vain[i], vain[j] = vain[j], vain[i] })
	return append(able[:min(len(able), mostOffers)], vain[:min(len(vain), vainOffers)]...)
}

// distinct leaves out instances beside which there is one that is at least as large, and that no pod, daemon or volume of
// the case can tell from them by a label or a taint: what finds no room on the larger finds none on the smaller.
func (c *Case) distinct(all []launched) []launched {
	keys := c.labelsThatMatter()
	kinds := map[string][]launched{}
	var order []string
	for _, m := range all {
		var b strings.Builder
		for _, k := range keys {
			v, ok := m.node.Labels[k]
			fmt.Fprintf(&b, "%t=%s,", ok, v)
		}
		fmt.Fprint(&b, m.node.Spec.Taints)
		kind := b.String()
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		at := kinds[kind]
		if slices.ContainsFunc(at, func(o launched) bool { return o.covers(m) }) {
			continue
		}
		kinds[kind] = append(slices.DeleteFunc(at, func(o launched) bool { return m.covers(o) }), m)
	}
	var out []launched
	for _, kind := range order {
		out = append(out, kinds[kind]...)
	}
	return out
}

// covers reports whether everything that fits onto o fits onto m, as far as size goes.
func (m launched) covers(o launched) bool {
	have := intake.Resources(m.node.Status.Allocatable)
	for k, v := range intake.Resources(o.node.Status.Allocatable) {
		if have[k] < v {
			return false
		}
	}
	return m.csi == nil || o.csi != nil && *m.csi.Spec.Drivers[0].Allocatable.Count >= *o.csi.Spec.Drivers[0].Allocatable.Count
}

// labelsThatMatter are the keys of node labels, but for the host's name, by which anything in the case can tell one
// instance from another.
func (c *Case) labelsThatMatter() []string {
	// Volumes and storage classes speak of zones.
	keys := map[string]bool{corev1.LabelTopologyZone: true, driverZone: true}
	selector := func(s *corev1.NodeSelector) {
		if s == nil {
			return
		}
		for _, t := range s.NodeSelectorTerms {
			for _, e := range t.MatchExpressions {
				keys[e.Key] = true
			}
		}
	}
	terms := func(ts []corev1.PodAffinityTerm) {
		for _, t := range ts {
			keys[t.TopologyKey] = true
		}
	}
	spec := func(s *corev1.PodSpec) {
		for k := range s.NodeSelector {
			keys[k] = true
		}
		for _, t := range s.TopologySpreadConstraints {
			keys[t.TopologyKey] = true
		}
		a := s.Affinity
		if a == nil {
			return
		}
		if a.NodeAffinity != nil {
			selector(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAffinity != nil {
			terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for _, p := range slices.Concat(c.Pending, c.Running) {
		spec(&p.Spec)
	}
	for _, d := range c.DaemonSets {
		spec(&d.Spec.Template.Spec)
	}
	delete(keys, corev1.LabelHostname)
	return slices.Sorted(maps.Keys(keys))
}

func (r *Run) describe(node string, offered []launched) string {
	for _, m := range offered {
		if m.node.Name == node {
			l := m.node.Labels
			return fmt.Sprintf("an offered %s in %s (%s, pool %s)", m.typ.Name, l[corev1.LabelTopologyZone], l["karpenter.sh/capacity-type"], l["karpenter.sh/nodepool"])
		}
	}
	return node
}

func (r *Run) why(p *corev1.Pod) string {
	for _, u := range r.Plan.Unplaced {
		for _, ref := range u.Pods {
			if ref.Namespace == p.Namespace && ref.Name == p.Name {
				var out []string
				for _, x := range u.Reasons {
					out = append(out, x.Text())
				}
				return strings.Join(out, "; ")
			}
		}
	}
	return ""
}
