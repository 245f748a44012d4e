package statemetrics

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Values of the zone label for pods that no single zone is left for.
const (
	severalZones = "flexible"
	noZone       = "none"
)

// scheduler makes the metrics of pods that wait for a decision.
func (p *pass) scheduler() {
	ignored, zones, known := 0, map[string]int{}, map[*cluster.Class]string{}
	for _, pod := range p.view.Snapshot.Pending {
		if pod.Class.Virtual {
			continue
		}
		if pod.Class.Unplaceable != "" {
			ignored++
			continue
		}
		zone, ok := known[pod.Class]
		if !ok {
			zone = zoneOf(pod.Class)
			known[pod.Class] = zone
		}
		zones[zone]++
	}
	p.add(ignoredPods, nil, float64(ignored))
	for zone, n := range zones {
		p.add(podsByZone, p.labels.set("controller", "provisioner", "zone", zone), float64(n))
	}
}

// zoneOf is the one zone that the pod's selector, affinity and volumes leave.
func zoneOf(class *cluster.Class) string {
	vocabulary := requirement.NewVocabulary()
	selected, err := vocabulary.Parse(zonesIn(class.Selector))
	if err != nil {
		return noZone
	}
	left := map[string]bool{}
	contradicted := true
	for _, affinity := range alternatives(class.Affinity) {
		for _, volume := range alternatives(class.Volumes) {
			terms, err := vocabulary.Parse(zonesIn(slices.Concat(affinity, volume)))
			if err != nil {
				continue
			}
			both := selected.And(terms)
			if _, empty := both.FirstEmpty(); empty {
				continue
			}
			contradicted = false
			found := false
			for _, t := range both.Terms() {
				if t.Operator != requirement.In {
					return severalZones // it excludes zones, and does not name those that are left
				}
				found = true
				for _, zone := range t.Values {
					left[zone] = true
				}
			}
			if !found {
				return severalZones
			}
		}
	}
	if contradicted {
		return noZone
	}
	if len(left) == 1 {
		for zone := range left {
			return zone
		}
	}
	return severalZones
}

// alternatives are the lists, or one empty list where there is no demand.
func alternatives(lists [][]requirement.Term) [][]requirement.Term {
	if len(lists) == 0 {
		return [][]requirement.Term{nil}
	}
	return lists
}

// zonesIn are the terms about zones.
func zonesIn(terms []requirement.Term) []requirement.Term {
	var out []requirement.Term
	for _, t := range terms {
		if requirement.Normalize(t.Key) == corev1.LabelTopologyZone {
			out = append(out, t)
		}
	}
	return out
}
