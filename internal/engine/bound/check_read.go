package bound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// choice is what decides on which instances a class may run. Many classes share one.
type choice struct {
	tolerations []cluster.Toleration
	alts        []requirement.Requirements
}

// hostGroup is classes of whose pods one host takes only so many together. A class is in one group at most.
type hostGroup struct {
	rule    string
	most    int64
	members int // classes of the certificate that are in it
	// counts tells which running pods matter to the group on an existing node, ghosts whether those that terminate do.
	counts func(*cluster.Class) bool
	ghosts bool
	// excludes: one such pod leaves no room for the group; otherwise each takes the room of one.
	excludes bool
}

func (k *checker) readClasses() {
	choices := map[string]int{}
	rules := make([][]hostGroup, len(k.classes))
	members := map[string]int{}
	for i, v := range k.classes {
		v.req = k.schema.Vector(v.src.Requests)
		key := asText(v.src.Selector, v.src.Affinity, v.src.Volumes, v.src.Tolerations, v.zone)
		at, ok := choices[key]
		if !ok {
			at = len(k.choices)
			choices[key] = at
			ch := choice{v.src.Tolerations, k.alternatives(v.src.Selector, v.src.Affinity, v.src.Volumes)}
			for i := range ch.alts {
				if v.zone != "" {
					ch.alts[i] = ch.alts[i].And(k.vocab.Only(requirement.Zone, v.zone))
				}
			}
			k.choices = append(k.choices, ch)
		}
		v.choice = at
		rules[i] = hostRules(v.src)
		for _, g := range rules[i] {
			if !v.again {
				members[g.rule]++
			}
		}
	}
	index := map[string]int{}
	for i, v := range k.classes {
		v.group = -1
		if len(rules[i]) == 0 {
			continue
		}
		g := slices.MinFunc(rules[i], func(a, b hostGroup) int {
			return cmp.Or(cmp.Compare(a.most, b.most), cmp.Compare(members[b.rule], members[a.rule]), cmp.Compare(a.rule, b.rule))
		})
		at, ok := index[g.rule]
		if !ok {
			at = len(k.groups)
			index[g.rule] = at
			k.groups = append(k.groups, g)
		}
		if !v.again {
			k.groups[at].members++
		}
		v.group = at
	}
	kinds := map[string]int{}
	for _, v := range k.classes {
		key := fmt.Sprint(v.choice, v.value, v.req)
		at, ok := kinds[key]
		if !ok {
			at = len(kinds)
			kinds[key] = at
		}
		v.kind = at
	}
}

func asText(parts ...any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprint(parts...) // only strings, numbers and lists: can't happen
	}
	return string(b)
}

// alternatives are the requirements any of which will do: the selector with one term list of each kind. Lists that don't
// parse are left out; none are left when the selector does not.
func (k *checker) alternatives(selector []requirement.Term, kinds ...[][]requirement.Term) []requirement.Requirements {
	base, err := k.vocab.Parse(selector)
	if err != nil {
		return nil
	}
	alts := []requirement.Requirements{base}
	for _, lists := range kinds {
		if len(lists) == 0 {
			continue
		}
		var longer []requirement.Requirements
		for _, terms := range lists {
			r, err := k.vocab.Parse(terms)
			if err != nil {
				continue
			}
			for _, a := range alts {
				longer = append(longer, a.And(r))
			}
		}
		alts = longer
	}
	return alts
}

// hostRules are the limits that a class sets to itself on one host.
func hostRules(c *cluster.Class) []hostGroup {
	var out []hostGroup
	if len(c.HostPorts) > 0 {
		ports := make([]string, 0, len(c.HostPorts))
		for _, p := range c.HostPorts {
			ports = append(ports, p.String())
		}
		slices.Sort(ports)
		out = append(out, hostGroup{rule: "ports " + strings.Join(ports, " "), most: 1, excludes: true, ghosts: true,
			counts: func(o *cluster.Class) bool {
				return slices.ContainsFunc(c.HostPorts, func(p cluster.HostPort) bool {
					return slices.ContainsFunc(o.HostPorts, p.Conflicts)
				})
			}})
	}
	for _, t := range c.AntiAffinity {
		namespaces := t.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{c.Namespace}
		}
		selects := func(o *cluster.Class) bool {
			return c.Counts(o) && slices.Contains(namespaces, o.Namespace) && t.Selector.Matches(o.Labels)
		}
		if t.Weight != 0 || requirement.Normalize(t.Key) != requirement.Hostname || !selects(c) {
			continue
		}
		out = append(out, hostGroup{rule: "apart " + asText(c.Virtual, namespaces, t.Selector), most: 1, excludes: true, counts: selects})
	}
	var hard []string // spreads count for each other only if they look at the same nodes
	for _, sp := range c.Spreads {
		if !sp.Soft && sp.MaxSkew > 0 {
			hard = append(hard, requirement.Normalize(sp.Key))
		}
	}
	slices.Sort(hard)
	for _, sp := range c.Spreads {
		selects := func(o *cluster.Class) bool {
			return c.Counts(o) && c.Namespace == o.Namespace && sp.Selector.Matches(o.Labels)
		}
		if sp.Soft || sp.MaxSkew <= 0 || requirement.Normalize(sp.Key) != requirement.Hostname || !selects(c) {
			continue
		}
		out = append(out, hostGroup{rule: "spread " + asText(c.Virtual, c.Namespace, sp.MaxSkew, sp.MinDomains, sp.Selector, c.Selector, c.Affinity,
			sp.HonorTaints, sp.IgnoreAffinity, hard),
			most: int64(sp.MaxSkew), counts: selects})
	}
	return out
}

// certainDaemon is a DaemonSet's pod with what it demands of a node.
type certainDaemon struct {
	tolerations []cluster.Toleration
	req         res.Vector
	alts        []requirement.Requirements
}

func (k *checker) readDaemons() {
	for _, d := range k.p.Daemons {
		if d.Class == nil {
			continue
		}
		req := k.schema.Vector(d.Class.Requests)
		for r := range req {
			req[r] = max(0, req[r])
		}
		k.daemons = append(k.daemons, certainDaemon{d.Class.Tolerations, req, k.alternatives(d.Class.Selector, d.Class.Affinity)})
	}
}

// bearable reports whether pods with the tolerations may be put on a node with the taints.
func bearable(taints []cluster.Taint, tolerations []cluster.Toleration) bool {
	_, refused := cluster.Untolerated(taints, tolerations, cluster.NoSchedule, cluster.NoExecute)
	return !refused
}

// certain reports whether something that satisfies node is sure to satisfy one of the alternatives.
func (k *checker) certain(node requirement.Requirements, alts []requirement.Requirements) bool {
	return slices.ContainsFunc(alts, func(alt requirement.Requirements) bool {
		return node.Implies(alt, func(key requirement.Key) bool { return !k.wellKnown[key] })
	})
}

// chargeNode takes what an existing node can carry for free off the bound.
func (k *checker) chargeNode(i int, n *cluster.Node) error {
	if n.Deleting || n.Leaving {
		return nil
	}
	labels, open := k.labelsOn(n)
	m := &carrier{allowed: make([]bool, len(k.classes)), most: k.groupsOn(n)}
	verdicts := make([]bool, len(k.choices))
	for i, ch := range k.choices {
		verdicts[i] = k.runsOn(n, labels, open, ch)
	}
	for at, v := range k.classes {
		m.allowed[at] = verdicts[v.choice]
		k.onNode[at] = k.onNode[at] || verdicts[v.choice]
	}
	m.room = k.roomOn(n, labels, open)
	each, ok := k.least(m)
	if !ok {
		return fmt.Errorf("what it carries is worth more than can be written")
	}
	if each > 0 {
		k.charges[asText("node", i)] = &charge{times: 1, each: each}
	}
	return nil
}

// nodeLabels is what is known of a node's labels, and whether they are still open.
type nodeLabels struct {
	labels requirement.Requirements
	open   bool
}

func (k *checker) labelsOn(n *cluster.Node) (requirement.Requirements, bool) {
	if known, ok := k.nodeLabels[n]; ok {
		return known.labels, known.open
	}
	labels := k.vocab.Labels(n.Labels)
	if n.Labels[requirement.Hostname] == "" {
		labels = labels.And(k.vocab.Only(requirement.Hostname, cmp.Or(n.Hostname, n.Name)))
	}
	labels = labels.And(k.vocab.Only(requirement.NodeName, n.Name))
	open := len(n.Requirements) > 0
	if open {
		if more, err := k.vocab.Parse(n.Requirements); err == nil {
			labels = labels.And(more)
		}
	}
	if k.nodeLabels == nil {
		k.nodeLabels = map[*cluster.Node]nodeLabels{}
	}
	k.nodeLabels[n] = nodeLabels{labels, open}
	return labels, open
}

// runsOn reports whether classes of the choice may run on the node.
func (k *checker) runsOn(n *cluster.Node, labels requirement.Requirements, open bool, ch choice) bool {
	return bearable(n.Taints, ch.tolerations) && slices.ContainsFunc(ch.alts, func(alt requirement.Requirements) bool {
		if open {
			return labels.Compatible(alt, k.isWellKnown)
		}
		return labels.Compatible(alt, nil)
	})
}

// roomOn is what a node has left for pods, less the daemons that are sure to come.
func (k *checker) roomOn(n *cluster.Node, labels requirement.Requirements, open bool) res.Vector {
	used := n.Used
	if used == nil {
		used = res.List{}
		for _, pod := range n.Pods {
			if pod.Class != nil {
				used.Add(pod.Class.Requests)
			}
		}
	}
	room := k.schema.Vector(n.Allocatable)
	room.Sub(k.schema.Vector(used), 1)
	reserve := make(res.Vector, k.schema.Len())
	for _, d := range k.daemons {
		comes := bearable(n.Taints, d.tolerations)
		if open {
			comes = comes && k.certain(labels, d.alts)
		} else {
			comes = comes && slices.ContainsFunc(d.alts, func(alt requirement.Requirements) bool { return labels.Compatible(alt, nil) })
		}
		if comes {
			reserve.Add(d.req, 1)
		}
	}
	there := k.schema.Vector(n.DaemonUsed)
	for r := range room {
		room[r] -= max(0, reserve[r]-there[r])
	}
	return room
}

// groupsOn is how many pods of each group the node takes, next to those that run there.
func (k *checker) groupsOn(n *cluster.Node) []int64 {
	most := make([]int64, len(k.groups))
	for i := range k.groups {
		most[i] = k.groups[i].most
	}
	for _, pod := range n.Pods {
		if pod.Class == nil || k.pending[pod.PodRef] {
			continue
		}
		for _, i := range k.groupsCounting(pod.Class) {
			switch g := &k.groups[i]; {
			case pod.Terminating && !g.ghosts:
			case g.excludes:
				most[i] = 0
			default:
				most[i] = max(0, most[i]-1)
			}
		}
	}
	return most
}

// groupsCounting are the groups to which running pods of the class matter.
func (k *checker) groupsCounting(c *cluster.Class) []int {
	known, ok := k.counting[c]
	if !ok {
		for i := range k.groups {
			if k.groups[i].counts(c) {
				known = append(known, i)
			}
		}
		k.counting[c] = known
	}
	return known
}
