package fleet

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func byKey(terms []requirement.Term) map[string][]requirement.Term {
	out := map[string][]requirement.Term{}
	for _, t := range terms {
		out[t.Key] = append(out[t.Key], t)
	}
	return out
}

// meets reports whether a node of the type can meet all demands. Labels that the type does not speak of are the claim's
// own to set.
func meets(t *catalog.Type, demands map[string][]requirement.Term) bool {
	for _, has := range t.Requirements {
		terms, asked := demands[has.Key]
		if !asked {
			continue
		}
		switch has.Operator {
		case requirement.In:
			if !slices.ContainsFunc(has.Values, func(v string) bool { return admits(terms, v) }) {
				return false
			}
		case requirement.DoesNotExist:
			if !admitsAbsence(terms) {
				return false
			}
		}
	}
	return true
}

func offeringMeets(o *catalog.Offering, demands map[string][]requirement.Term) bool {
	return admits(demands[corev1.LabelTopologyZone], o.Zone) &&
		admits(demands[karpv1.CapacityTypeLabelKey], o.CapacityType) &&
		(o.ZoneID == "" || admits(demands[awsv1.LabelTopologyZoneID], o.ZoneID)) &&
		reservationMeets(o, demands) &&
		(o.Partition == 0 || admits(demands[awsv1.LabelPlacementGroupPartition], catalog.PartitionLabel(o.Partition)))
}

// Allows reports whether demands allow instances of a type in a zone, in whatever capacity type, reservation or placement group. What is free
// now does not matter.
func Allows(demands []requirement.Term, t *catalog.Type, zone, zoneID string) bool {
	of := byKey(demands)
	if !admits(of[requirement.Zone], zone) || zoneID != "" && !admits(of[requirement.ZoneID], zoneID) {
		return false
	}
	for _, k := range catalog.CellKeys() {
		delete(of, k)
	}
	delete(of, awsv1.LabelPlacementGroupID)
	return meets(t, of)
}

// holds reports whether a node of the type has room for requests.
func holds(t *catalog.Type, requests res.List) bool {
	for k, v := range requests {
		has := max(0, t.Capacity[k]-t.Overhead[k])
		if k == res.Memory {
			has -= hugePages(t)
		}
		if v > has {
			return false
		}
	}
	return true
}

// admits reports whether a label may have a value.
func admits(terms []requirement.Term, value string) bool {
	for _, t := range terms {
		switch t.Operator {
		case requirement.In:
			if !slices.Contains(t.Values, value) {
				return false
			}
		case requirement.NotIn:
			if slices.Contains(t.Values, value) {
				return false
			}
		case requirement.Exists:
		case requirement.DoesNotExist:
			return false
		default:
			if !withinBound(t, value) {
				return false
			}
		}
	}
	return true
}

func admitsAbsence(terms []requirement.Term) bool {
	return !slices.ContainsFunc(terms, func(t requirement.Term) bool {
		return t.Operator != requirement.NotIn && t.Operator != requirement.DoesNotExist
	})
}

func withinBound(t requirement.Term, value string) bool {
	if len(t.Values) != 1 {
		return false
	}
	v, err1 := strconv.ParseInt(value, 10, 64)
	bound, err2 := strconv.ParseInt(t.Values[0], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	switch t.Operator {
	case requirement.Gt:
		return v > bound
	case requirement.Lt:
		return v < bound
	case requirement.Gte:
		return v >= bound
	case requirement.Lte:
		return v <= bound
	}
	return false
}

// hugePages is the memory that a node of the type sets aside for huge pages.
func hugePages(t *catalog.Type) int64 {
	var sum int64
	for k, v := range t.Capacity {
		if strings.HasPrefix(k, corev1.ResourceHugePagesPrefix) {
			sum += v
		}
	}
	return sum
}
