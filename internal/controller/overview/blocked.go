package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

const (
	// blockedNames is how many nodes a line of Blocked names, blockedMost how many lines are served.
	blockedNames, blockedMost = 20, 100
	// blockedFor is for how long what blocks a node is told of while decisions say something else of it that passes. Moves come to
	// their end, and pods to their place, within two minutes or so.
	blockedFor = 2 * time.Minute
	// leastSaving is the least that a line of Blocked saves, in millionths of a dollar per hour: readers write amounts to the hundredth of
	// a cent, and a line of $0.0000 tells nobody to do anything.
	leastSaving = 100
)

// blocker is what last blocked the removal of a node. Each decision finds the first reason that
// keeps a node, and while moves are under way that is often one that passes: pods are expected on it, or go through it. A list that
// is made of one decision alone would flicker.
type blocker struct {
	reason *disrupt.Reason
	saves  catalog.MicroUSD
	// until is when it is told of no more, because decisions say something else meanwhile; the zero time while they say this.
	until time.Time
}

// passing are the reasons that pass by themselves: nobody has to do anything about them, and they block nothing for long.
var passing = map[disrupt.Code]bool{
	disrupt.NotInitialized: true, disrupt.Nominated: true, disrupt.ConsolidateAfter: true, disrupt.NotReady: true, disrupt.Held: true,
	disrupt.PendingPods: true, disrupt.TakesPods: true, disrupt.OthersFollow: true, disrupt.NotLookedAt: true,
}

// certain are the reasons that each decision asks for before those that pass, but for the two of nodes that are not ready: once it finds
// another that passes, they are gone, and nobody is to be told of a PodDisruptionBudget that allows evictions again.
var certain = map[disrupt.Code]bool{disrupt.DoNotDisrupt: true, disrupt.DisruptionBudget: true}

// after is what blocks the node once a decision has said something of it. The one before it was the newest until last.
func (b *blocker) after(k disrupt.Kept, last, now time.Time) *blocker {
	if len(k.Reasons) == 0 {
		return nil
	}
	r := &k.Reasons[0]
	switch {
	case r.Code == disrupt.InProgress || r.Code == disrupt.Deleting:
		return nil // it is being saved
	case !passing[r.Code] && k.Saves > 0:
		return &blocker{reason: r, saves: k.Saves}
	case b == nil || !passing[r.Code] && r.Code != b.reason.Code:
		return nil // it is kept for a better reason, and saves nothing
	case certain[b.reason.Code] && passing[r.Code] && r.Code != disrupt.NotInitialized && r.Code != disrupt.NotReady:
		return nil
	case b.until.IsZero():
		b.until = last.Add(blockedFor)
	}
	if b.over(now) {
		return nil
	}
	return b
}

// over reports whether it is told of no more.
func (b *blocker) over(now time.Time) bool {
	return b != nil && !b.until.IsZero() && !now.Before(b.until)
}

// passes reports whether one of the blockers is over now.
func (s *look) passes(now time.Time) bool {
	return slices.ContainsFunc(s.nodes, func(k *known) bool { return k.blocker.over(now) })
}

// blocked adds up what could be saved, by what stands against it.
func blocked(nodes []*known, now time.Time) []Blocked {
	type key struct {
		code disrupt.Code
		by   string
	}
	out, at := []Blocked{}, map[key]int{}
	var most []*known
	for _, k := range nodes {
		if k.blocker.over(now) {
			k.blocker = nil
		}
		if k.blocker != nil && !k.from.Deleting && !k.from.Leaving {
			most = append(most, k)
		}
	}
	slices.SortStableFunc(most, func(a, b *known) int { return cmp.Compare(b.blocker.saves, a.blocker.saves) })
	for _, k := range most {
		is, n := k.blocker, k.from
		of := key{is.reason.Code, byWhom(is.reason, n.Pool)}
		i, ok := at[of]
		if !ok {
			i, at[of] = len(out), len(out)
			out = append(out, Blocked{Code: string(of.code), By: of.by, Text: inWords(is.reason), Remedy: unblock(is.reason)})
		}
		out[i].Count++
		out[i].Saves += is.saves
		if len(out[i].Nodes) < blockedNames {
			out[i].Nodes = append(out[i].Nodes, n.Name)
		}
	}
	out = slices.DeleteFunc(out, func(b Blocked) bool { return b.Saves < leastSaving })
	slices.SortStableFunc(out, func(a, b Blocked) int {
		return cmp.Or(cmp.Compare(b.Saves, a.Saves), strings.Compare(a.Code+a.By, b.Code+b.By))
	})
	return out[:min(len(out), blockedMost)]
}

// ofAll are the reasons whose own words hold figures of one node.
var ofAll = map[disrupt.Code]string{
	disrupt.SpotToSpotOff:  "cheaper spot instances would do, and the feature gate SpotToSpotConsolidation is off",
	disrupt.SavesTooLittle: "replacing one saves less than is asked of a move",
	disrupt.NotPaidBack:    "moving the pods is assumed to cost more than it saves in the time left",
	disrupt.NotBalanced:    "the saving is less than the policy Balanced asks for the disruption",
	disrupt.FewSpotTypes:   "too few types would be cheaper on spot",
}

// byWhom names the object that blocks; empty where none does.
func byWhom(r *disrupt.Reason, pool string) string {
	switch {
	case r.Code == disrupt.SpotToSpotOff:
		return ""
	case r.Code == disrupt.DisruptionBudget && r.Want != "":
		return r.Want
	case r.Pod != "":
		return r.Pod
	}
	return pool
}

// inWords says what blocks, in words that hold for all nodes that it blocks.
func inWords(r *disrupt.Reason) string {
	if r.Code == disrupt.DisruptionBudget && r.Want != "" {
		return fmt.Sprintf("PodDisruptionBudget %s lets no pod be evicted now", r.Want)
	}
	if words, ok := ofAll[r.Code]; ok && r.Pod == "" {
		return words
	}
	return r.Text()
}
