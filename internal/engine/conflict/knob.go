package conflict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/pack"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// knob is one constraint that can be turned off.
type knob struct {
	is    plan.Constraint
	relax edit
	// set puts another value in its place; nil where there is nothing to choose.
	set func(value string) edit
	// term is what knobs on labels are about.
	term requirement.Term
}

// knobs are all constraints between the class and the pool, those first that are to be blamed first.
func (e *explainer) knobs(pool *cluster.Pool) []knob {
	var out []knob
	out = append(out, e.readinessKnobs(pool)...)
	out = append(out, e.taintKnobs(pool)...)
	out = append(out, e.requestKnobs()...)
	out = append(out, e.volumeKnobs()...)
	out = append(out, e.termKnobs()...)
	out = append(out, e.topologyKnobs()...)
	out = append(out, e.requirementKnobs(pool)...)
	out = append(out, limitKnobs(pool)...)
	out = append(out, e.surroundingKnobs(pool)...)
	return out
}

func (e *explainer) readinessKnobs(pool *cluster.Pool) []knob {
	if pool.NotReady == "" {
		return nil
	}
	return []knob{{is: plan.Constraint{Kind: plan.PoolReadiness, Pool: pool.Name, Want: pool.NotReady}, relax: func(v *variant) { v.pool.NotReady = "" }}}
}

func (e *explainer) taintKnobs(pool *cluster.Pool) []knob {
	var out []knob
	for i, t := range pool.Taints {
		if t.Effect == cluster.PreferNoSchedule || slices.ContainsFunc(e.class.Tolerations, func(x cluster.Toleration) bool { return x.Tolerates(t) }) {
			continue
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.PoolTaint, Pool: pool.Name, Key: t.Key, Want: t.String()},
			relax: func(v *variant) { v.pool.Taints[i].Key = "" },
			set: func(string) edit {
				return func(v *variant) {
					v.class.Tolerations = append(v.class.Tolerations, cluster.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
				}
			}})
	}
	return out
}

func (e *explainer) requestKnobs() []knob {
	var out []knob
	for _, r := range slices.Sorted(maps.Keys(e.class.Requests)) {
		if r == res.Pods || e.class.Requests[r] <= 0 {
			continue
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.ResourceRequest, Key: r, Want: res.Format(r, e.class.Requests[r])},
			relax: func(v *variant) { delete(v.class.Requests, r) }})
	}
	for i, h := range e.class.HostPorts {
		out = append(out, knob{is: plan.Constraint{Kind: plan.HostPortDemand, Want: h.String()}, relax: func(v *variant) { v.class.HostPorts[i].Port = 0 }})
	}
	return out
}

// volumeKnobs are the numbers of volumes by driver, shared ones included.
func (e *explainer) volumeKnobs() []knob {
	count := e.class.Attach.Clone()
	if count == nil {
		count = res.List{}
	}
	for _, x := range e.class.Shared {
		count[x.Driver]++
	}
	var out []knob
	for _, driver := range slices.Sorted(maps.Keys(count)) {
		none := func(v *variant) {
			delete(v.class.Attach, driver)
			v.class.Shared = slices.DeleteFunc(v.class.Shared, func(x cluster.SharedVolume) bool { return x.Driver == driver })
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.VolumeCount, Key: driver, Want: strconv.FormatInt(count[driver], 10)}, relax: none})
	}
	return out
}

func (e *explainer) termKnobs() []knob {
	var out []knob
	for i, t := range e.class.Selector {
		out = append(out, knob{is: plan.Constraint{Kind: plan.NodeSelector, Key: requirement.Normalize(t.Key), Want: t.String()}, term: t,
			relax: func(v *variant) { v.class.Selector[i].Key = "" },
			set:   func(value string) edit { return func(v *variant) { v.class.Selector[i] = only(t.Key, value) } }})
	}
	if len(e.class.Affinity) == 1 {
		for i, t := range e.class.Affinity[0] {
			out = append(out, knob{is: plan.Constraint{Kind: plan.NodeAffinity, Key: requirement.Normalize(t.Key), Want: t.String()}, term: t,
				relax: func(v *variant) { v.class.Affinity[0][i].Key = "" },
				set:   func(value string) edit { return func(v *variant) { v.class.Affinity[0][i] = only(t.Key, value) } }})
		}
	} else if len(e.class.Affinity) > 1 {
		out = append(out, knob{is: plan.Constraint{Kind: plan.NodeAffinity, Want: alternativesText(e.class.Affinity)}, relax: func(v *variant) { v.class.Affinity = nil }})
	}
	if len(e.class.Volumes) > 0 {
		out = append(out, knob{is: plan.Constraint{Kind: plan.VolumeTopology, Want: alternativesText(e.class.Volumes)}, relax: func(v *variant) { v.class.Volumes = nil }})
	}
	return out
}

func only(key, value string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: []string{value}}
}

func alternativesText(lists [][]requirement.Term) string {
	var out []string
	for _, terms := range lists {
		var parts []string
		for _, t := range terms {
			parts = append(parts, t.String())
		}
		out = append(out, strings.Join(parts, " and "))
	}
	return strings.Join(out, ", or ")
}

func (e *explainer) topologyKnobs() []knob {
	var out []knob
	for i, s := range e.class.Spreads {
		want := "maxSkew " + strconv.Itoa(s.MaxSkew)
		if s.MinDomains > 0 {
			want += ", minDomains " + strconv.Itoa(s.MinDomains)
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.SpreadDemand, Key: s.Key, Want: want}, relax: func(v *variant) { v.class.Spreads[i].Soft = true }})
	}
	for i, t := range e.class.PodAffinity {
		out = append(out, knob{is: plan.Constraint{Kind: plan.AffinityDemand, Key: t.Key, Want: t.Selector.Words()}, relax: func(v *variant) { v.class.PodAffinity[i].Weight = 1 }})
	}
	for i, t := range e.class.AntiAffinity {
		out = append(out, knob{is: plan.Constraint{Kind: plan.ApartDemand, Key: t.Key, Want: t.Selector.Words()},
			// Pods of the same making would lose it too.
			relax: func(v *variant) {
				v.class.AntiAffinity[i].Weight = 1
				v.nodes = e.withoutKin(v.nodes)
			}})
	}
	return out
}

// requirementKnobs are the pool's requirements and labels but for its own name, which is what makes it the pool. A label
// that only the pool knows is not taken away but left open, because without it the pod's demand would fail all the more.
func (e *explainer) requirementKnobs(pool *cluster.Pool) []knob {
	var out []knob
	for i, t := range pool.Requirements {
		key := requirement.Normalize(t.Key)
		if key == requirement.NodePool {
			continue
		}
		open := requirement.Term{Key: t.Key, Operator: requirement.Exists}
		if t.MinValues == 0 && slices.Contains(e.p.Options.WellKnown, key) {
			open.Key = ""
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.PoolRequirement, Pool: pool.Name, Key: key, Want: bare(t).String()}, term: t,
			relax: func(v *variant) {
				open.MinValues = v.pool.Requirements[i].MinValues
				v.pool.Requirements[i] = open
				delete(v.pool.Labels, t.Key)
			},
			set: func(value string) edit {
				return func(v *variant) {
					v.pool.Requirements[i] = allowing(t, value)
					delete(v.pool.Labels, t.Key)
				}
			}})
	}
	for i, t := range pool.Requirements {
		if t.MinValues > 0 {
			out = append(out, knob{is: plan.Constraint{Kind: plan.PoolMinValues, Pool: pool.Name, Key: requirement.Normalize(t.Key), Want: strconv.Itoa(t.MinValues)}, term: t,
				relax: func(v *variant) { v.pool.Requirements[i].MinValues = 0 }})
		}
	}
	return out
}

func bare(t requirement.Term) requirement.Term {
	t.MinValues = 0
	return t
}

// allowing is the term with one value more.
func allowing(t requirement.Term, value string) requirement.Term {
	switch t.Operator {
	case requirement.In:
		t.Values = slices.Sorted(slices.Values(append(slices.Clone(t.Values), value)))
	case requirement.NotIn:
		t.Values = slices.DeleteFunc(slices.Clone(t.Values), func(v string) bool { return v == value })
		if len(t.Values) == 0 {
			t = requirement.Term{Key: t.Key, Operator: requirement.Exists, MinValues: t.MinValues}
		}
	case requirement.Gt, requirement.Gte, requirement.Lt, requirement.Lte:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return t
		}
		t.Operator = map[requirement.Operator]requirement.Operator{requirement.Gt: requirement.Gte, requirement.Gte: requirement.Gte,
			requirement.Lt: requirement.Lte, requirement.Lte: requirement.Lte}[t.Operator]
		t.Values = []string{strconv.FormatInt(n, 10)}
	}
	return t
}

func limitKnobs(pool *cluster.Pool) []knob {
	var out []knob
	for _, r := range slices.Sorted(maps.Keys(pool.Limits)) {
		out = append(out, knob{is: plan.Constraint{Kind: plan.PoolLimit, Pool: pool.Name, Key: r, Want: res.Format(r, pool.Limits[r]), Have: res.Format(r, pool.Used[r])},
			relax: func(v *variant) { delete(v.pool.Limits, r) }})
	}
	return out
}

// surroundingKnobs are what neither the pod nor the pool says.
func (e *explainer) surroundingKnobs(pool *cluster.Pool) []knob {
	var out []knob
	if words := unavailable(pool); words != "" {
		out = append(out, knob{is: plan.Constraint{Kind: plan.Availability, Pool: pool.Name, Key: pack.FirstOpens(pool.Types), Want: words}, relax: e.makeAvailable})
	}
	if len(e.p.Daemons) > 0 {
		var names []string
		for _, d := range e.p.Daemons {
			names = append(names, d.Name)
		}
		slices.Sort(names)
		text := strings.Join(names[:min(3, len(names))], ", ")
		if len(names) > 3 {
			text += fmt.Sprintf(" and %d more", len(names)-3)
		}
		out = append(out, knob{is: plan.Constraint{Kind: plan.DaemonOverhead, Pool: pool.Name, Want: text}, relax: func(v *variant) { v.daemons = nil }})
	}
	if e.repelled() {
		out = append(out, knob{is: plan.Constraint{Kind: plan.OthersApart}, relax: func(v *variant) { v.nodes = e.withoutOthers(v.nodes) }})
	}
	return out
}

// unavailable words why offerings can't be had; empty when all can.
func unavailable(pool *cluster.Pool) string {
	words := map[string]int{}
	for _, t := range pool.Types {
		for _, o := range t.Offerings {
			if !o.Available && o.Price > 0 {
				word := o.Unavailable
				if word == "" {
					word = "no reason given"
				}
				words[word]++
			}
		}
	}
	return strings.Join(slices.SortedFunc(maps.Keys(words), func(a, b string) int {
		return cmp.Or(cmp.Compare(words[b], words[a]), strings.Compare(a, b))
	}), ", ")
}

// makeAvailable puts on sale all that has a price, wherever there are addresses for it.
func (e *explainer) makeAvailable(v *variant) {
	v.pool.Subnets = nil
	key := keyOfTypes(v.pool.Types)
	if known, ok := e.onSale[key]; ok {
		v.pool.Types = known
		return
	}
	types := make([]*catalog.Type, len(v.pool.Types))
	for i, t := range v.pool.Types {
		all := *t
		all.Offerings = slices.Clone(t.Offerings)
		for j := range all.Offerings {
			if o := &all.Offerings[j]; o.Price > 0 {
				o.Available = true
				o.Reservable = max(1, o.Reservable)
			}
		}
		types[i] = &all
	}
	e.onSale[key] = types
	v.pool.Types = types
}

// repelled reports whether pods on nodes that are not of the same making keep away from the class.
func (e *explainer) repelled() bool {
	for _, n := range e.nodes {
		for _, pod := range n.Pods {
			if pod.Class == nil || !pod.InCompany() || e.kin(pod.Class) {
				continue
			}
			for _, t := range pod.Class.AntiAffinity {
				if t.Weight == 0 && t.Selects(pod.Class, e.class) {
					return true
				}
			}
		}
	}
	return false
}

// kin reports whether pods of the class keep away from the same pods as the one asked about, which says that the same
// hand wrote both.
func (e *explainer) kin(c *cluster.Class) bool {
	if known, ok := e.kinship[c]; ok {
		return known
	}
	own, _ := json.Marshal(e.class.AntiAffinity)
	theirs, _ := json.Marshal(hardOnly(c).AntiAffinity)
	e.kinship[c] = c.Namespace == e.class.Namespace && string(own) == string(theirs)
	return e.kinship[c]
}

func (e *explainer) withoutKin(nodes []*cluster.Node) []*cluster.Node {
	return calmed(nodes, e.kin)
}

func (e *explainer) withoutOthers(nodes []*cluster.Node) []*cluster.Node {
	return calmed(nodes, func(c *cluster.Class) bool { return !e.kin(c) })
}

// calmed are the nodes where pods of some classes keep away from nobody.
func calmed(nodes []*cluster.Node, which func(*cluster.Class) bool) []*cluster.Node {
	calm := map[*cluster.Class]*cluster.Class{}
	out := make([]*cluster.Node, len(nodes))
	for i, n := range nodes {
		c := *n
		c.Pods = slices.Clone(n.Pods)
		for j, pod := range c.Pods {
			if pod.Class == nil || len(pod.Class.AntiAffinity) == 0 || !which(pod.Class) {
				continue
			}
			if calm[pod.Class] == nil {
				class := *pod.Class
				class.AntiAffinity = nil
				calm[pod.Class] = &class
			}
			p := *pod
			p.Class = calm[pod.Class]
			c.Pods[j] = &p
		}
		out[i] = &c
	}
	return out
}
