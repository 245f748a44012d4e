package bound

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// spreadRow is a row of the certificate whose pods are worth different amounts in different zones.
type spreadRow struct {
	members     []int // of checker.classes, one for each zone
	fewest, top []int64
	pods        int64
}

// territory is where classes with the same demands of a node can run.
type territory struct {
	launch  map[string]bool // zones in which a pool launches instances for them
	reach   map[string]bool // and those of existing nodes
	onNode  []bool
	unclear bool // an existing node that would do may turn out to be in one of several zones
}

// addSpreadRow makes one class for each zone that the row's pods can be in.
func (k *checker) addSpreadRow(src *cluster.Class, row *Row) error {
	if row.Value != 0 {
		return fmt.Errorf("row %s: has a value and values by zone", row.Class)
	}
	t := k.territoryOf(src)
	fewest, top, err := k.spreadLimits(src, row.Class, int64(row.Count), t)
	if err != nil {
		return fmt.Errorf("row %s: values by zone: %w", row.Class, err)
	}
	for zone, value := range row.Zones {
		if value < 0 {
			return fmt.Errorf("row %s: value %d in zone %s is below zero", row.Class, value, zone)
		}
		if !t.reach[zone] {
			return fmt.Errorf("row %s: none of its pods can be in zone %s", row.Class, zone)
		}
	}
	sr := &spreadRow{pods: int64(row.Count)}
	for i, zone := range slices.Sorted(maps.Keys(t.reach)) {
		sr.members = append(sr.members, len(k.classes))
		sr.fewest, sr.top = append(sr.fewest, fewest[zone]), append(sr.top, top[zone])
		k.classes = append(k.classes, &valued{src: src, count: top[zone], value: uint64(row.Zones[zone]), zone: zone, again: i > 0})
	}
	k.spreadRows = append(k.spreadRows, sr)
	return nil
}

// territoryOf finds it, once for all classes with the same demands.
func (k *checker) territoryOf(src *cluster.Class) *territory {
	key := asText(src.Selector, src.Affinity, src.Volumes, src.Tolerations)
	if t := k.territories[key]; t != nil {
		return t
	}
	t := &territory{launch: map[string]bool{}, reach: map[string]bool{}, onNode: make([]bool, len(k.p.Nodes))}
	k.territories[key] = t
	ch := choice{src.Tolerations, k.alternatives(src.Selector, src.Affinity, src.Volumes)}
	for _, pool := range k.p.Pools {
		s := k.openSale(pool)
		if s == nil {
			continue
		}
		for at, types := range k.soldTo(s, ch) {
			if !types.Any() {
				continue
			}
			cell := &s.cat.Cells[at]
			t.reach[cell.Zone] = true
			t.launch[cell.Zone] = t.launch[cell.Zone] || cell.CapacityType != catalog.Reserved
		}
	}
	for i, n := range k.p.Nodes {
		labels, open := k.labelsOn(n)
		if n.Deleting || !k.runsOn(n, labels, open, ch) {
			continue
		}
		t.onNode[i] = true
		zone, sure := k.zoneOn(labels)
		if sure && zone != "" {
			t.reach[zone] = true
		} else if !sure || open {
			t.unclear = true
		}
	}
	return t
}

// zoneOn is the zone of a node; empty if it has none. It is false when the node may turn out to be in one of several.
func (k *checker) zoneOn(labels requirement.Requirements) (string, bool) {
	set, has := labels.Get(k.vocab.Key(requirement.Zone))
	if !has {
		return "", true
	}
	zone, sure := set.Single()
	return zone, sure && zone != ""
}

// spreadLimits are the fewest and the most pods that a zone gets of n, by what the class's spreads over zones demand.
//
// A placed pod may be in a zone only if there are, of the pods that its spread counts, at most maxSkew more than in each
// zone in which a node is or an instance is launched. What the spread counts must be pods of the class and pods that run.
func (k *checker) spreadLimits(src *cluster.Class, id string, n int64, t *territory) (fewest, top map[string]int64, err error) {
	switch {
	case t.unclear:
		return nil, nil, errors.New("the zone of a node is not certain")
	case t.reach[""]:
		return nil, nil, errors.New("an instance has no zone")
	}
	fewest, top = map[string]int64{}, map[string]int64{}
	for zone := range t.reach {
		top[zone] = n
	}
	spreads := 0
	for _, sp := range src.Spreads {
		key := requirement.Normalize(sp.Key)
		if sp.Soft || sp.MaxSkew <= 0 || key == requirement.Hostname {
			continue
		}
		if key != requirement.Zone {
			return nil, nil, fmt.Errorf("the class has a spread over %s besides", key)
		}
		if !sp.Selector.Matches(src.Labels) {
			return nil, nil, errors.New("a spread does not count the class")
		}
		spreads++
		sure, all, err := k.counted(src, id, sp, t)
		if err != nil {
			return nil, nil, err
		}
		skew := int64(sp.MaxSkew)
		for zone := range t.reach {
			if t.launch[zone] {
				fewest[zone] = max(fewest[zone], fewestIn(zone, n, skew, t, sure, all))
			}
			top[zone] = min(top[zone], topIn(zone, n, skew, t, sure, all))
		}
	}
	if spreads == 0 {
		return nil, nil, errors.New("the class has no spread over zones")
	}
	sumFewest, sumTop := int64(0), int64(0)
	for zone := range t.reach {
		sumFewest, sumTop = sumFewest+fewest[zone], sumTop+top[zone]
	}
	if sumFewest > n || sumTop < n {
		return nil, nil, errors.New("so many pods can't be spread")
	}
	return fewest, top, nil
}

// fewestIn raises the number of pods in the zone until the other zones can hold the rest.
func fewestIn(zone string, n, skew int64, t *territory, sure, all map[string]int64) int64 {
	x := int64(0)
	for ; x < n; x++ {
		others := int64(0)
		for z := range t.reach {
			if z != zone {
				others += max(0, x+all[zone]+skew-sure[z])
			}
		}
		if x+others >= n {
			break
		}
	}
	return x
}

// topIn lowers the number of pods in the zone until enough are left for what the other zones then need.
func topIn(zone string, n, skew int64, t *territory, sure, all map[string]int64) int64 {
	x := n
	for ; x > 0; x-- {
		others := int64(0)
		for z := range t.launch {
			if z != zone && t.launch[z] {
				others += max(0, x+sure[zone]-skew-all[z])
			}
		}
		if x+others <= n {
			break
		}
	}
	return x
}

// presentClass is a class of pods that are pending or run, with the nodes where.
type presentClass struct {
	id      string
	src     *cluster.Class
	pending bool
	// on lists nodes by place: once for each pod that runs there. Sure are the pods that don't terminate and are not
	// pending as well.
	on, sure []int
}

// counted is how many pods that run the spread counts, by zone: for sure, and at most.
func (k *checker) counted(src *cluster.Class, id string, sp cluster.Spread, t *territory) (sure, all map[string]int64, err error) {
	k.readPresent()
	sure, all = map[string]int64{}, map[string]int64{}
	if sp.Selector == nil {
		return sure, all, nil
	}
	candidates := k.present[asText(src.Namespace)]
	for _, term := range sp.Selector.Terms {
		if term.Operator == requirement.In && len(term.Values) == 1 {
			candidates = k.present[asText(src.Namespace, term.Key, term.Values[0])]
		}
	}
	for _, o := range candidates {
		if !src.Counts(o.src) || !sp.Selector.Matches(o.src.Labels) {
			continue
		}
		if o.pending && o.id != id {
			return nil, nil, fmt.Errorf("its spread counts pending pods of class %s", o.id)
		}
		for _, i := range o.on {
			n := k.p.Nodes[i]
			if n.Deleting {
				continue
			}
			labels, _ := k.labelsOn(n)
			zone, certain := k.zoneOn(labels)
			if certain {
				all[zone]++
				continue
			}
			for z := range t.reach {
				all[z]++
			}
		}
		for _, i := range o.sure {
			labels, open := k.labelsOn(k.p.Nodes[i])
			if zone, certain := k.zoneOn(labels); certain && t.onNode[i] && !open {
				sure[zone]++
			}
		}
	}
	return sure, all, nil
}

func (k *checker) readPresent() {
	if k.present != nil {
		return
	}
	k.present = map[string][]*presentClass{}
	known := map[*cluster.Class]*presentClass{}
	get := func(c *cluster.Class) *presentClass {
		o := known[c]
		if o == nil {
			o = &presentClass{id: cmp.Or(c.ID, c.Hash()), src: c}
			known[c] = o
			k.present[asText(c.Namespace)] = append(k.present[asText(c.Namespace)], o)
			for name, value := range c.Labels {
				key := asText(c.Namespace, name, value)
				k.present[key] = append(k.present[key], o)
			}
		}
		return o
	}
	for _, pod := range k.p.Pending {
		if pod.Class != nil {
			get(pod.Class).pending = true
		}
	}
	for i, n := range k.p.Nodes {
		for _, pod := range n.Pods {
			if pod.Class == nil {
				continue
			}
			o := get(pod.Class)
			o.on = append(o.on, i)
			if !pod.Terminating && !k.pending[pod.PodRef] {
				o.sure = append(o.sure, i)
			}
		}
	}
}

// worthAtLeast is what the row's pods are worth wherever their spread lets them be: each zone has its fewest, and the rest
// are where they are worth least.
func (k *checker) worthAtLeast(sr *spreadRow) wide {
	order := slices.Clone(sr.members)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(k.classes[a].value, k.classes[b].value) })
	rest := sr.pods
	for _, n := range sr.fewest {
		rest -= n
	}
	var sum wide
	for _, class := range order {
		i := slices.Index(sr.members, class)
		n := sr.fewest[i] + min(rest, sr.top[i]-sr.fewest[i])
		rest -= n - sr.fewest[i]
		sum = sum.add(product(k.classes[class].value, uint64(n)))
	}
	return sum
}
