package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Clause words one or several reasons that are the same but for the pool.
type Clause struct {
	Text  string
	Count int // how many reasons it words
}

// namedPools is how many pools a clause names.
const namedPools = 3

// Summary words reasons for people who read the first of them only: the pools that came nearest to serving the pod first;
// pools that fail the same demand of the pod, as those that it does not select, share one clause.
func Summary(reasons []Reason) []Clause {
	reasons = slices.Clone(reasons)
	slices.SortStableFunc(reasons, byDistance)
	var out []Clause
	for len(reasons) > 0 {
		first := reasons[0]
		same := []Reason{first}
		if first.shared() != "" {
			same = slices.DeleteFunc(slices.Clone(reasons), func(r Reason) bool { return r.distance() != first.distance() || r.shared() != first.shared() })
		}
		if len(same) == 1 {
			out, reasons = append(out, Clause{first.Text(), 1}), reasons[1:]
			continue
		}
		var names []string
		for _, r := range same[:min(namedPools, len(same))] {
			names = append(names, r.Pool)
		}
		text := "pools " + strings.Join(names, ", ")
		if more := len(same) - len(names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, Clause{text + ": " + first.shared(), len(same)})
		reasons = slices.DeleteFunc(reasons, func(r Reason) bool { return r.distance() == first.distance() && r.shared() == first.shared() })
	}
	return out
}

// Nearest is the reason of the pool that came nearest to serving the pod, the first in Summary; ok is false without any.
func Nearest(reasons []Reason) (r Reason, ok bool) {
	if len(reasons) == 0 {
		return Reason{}, false
	}
	return slices.MinFunc(reasons, byDistance), true
}

func byDistance(a, b Reason) int { return cmp.Compare(a.distance(), b.distance()) }

// shared is what several pools may have in common, worded for all of them; empty when the reason stands for itself.
func (r Reason) shared() string {
	switch {
	case r.Pool == "":
		return ""
	case r.Code == LabelMismatch:
		return fmt.Sprintf("the pod wants %s, which their nodes do not match", demandText(r.Key, r.Want))
	case r.Code == TaintNotTolerated:
		return fmt.Sprintf("the pod does not tolerate their taint %s", taintText(r.Key, r.Value))
	}
	return ""
}

// distance is how far a pool is from serving a pod. One that its owner keeps the pod away from, or that the pod does not
// select, tells the least; one that would serve it but is not ready tells the most.
func (r Reason) distance() int {
	switch r.Code {
	case TaintNotTolerated:
		return 3
	case LabelMismatch, LabelUnknown:
		return 2
	case NodesFull:
		return 1
	}
	return 0
}
