package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

const (
	// blockedNames is how many nodes a line of Blocked names, blockedMost how many lines are served.
	blockedNames, blockedMost = 20, 100
	// blockedFor is for how long what blocks a node is told of while decisions say something else of it that passes. Moves come to
	// their end, and pods to their place, within two minutes or so.
	blockedFor = 2 * time.Minute
)

// blockers are what last blocked the removal of each node, by its name. Each decision finds the first reason that keeps a node, and
// while moves are under way that is often one that passes: pods are expected on it, or go through it. A list that is made of one
// decision alone would flicker.
type blockers map[string]blocker

type blocker struct {
	reason disrupt.Reason
	saves  catalog.MicroUSD
	at     time.Time // of the last decision that said so
}

// passing are the reasons that pass by themselves: nobody has to do anything about them, and they block nothing for long.
var passing = map[disrupt.Code]bool{
	disrupt.NotInitialized: true, disrupt.Nominated: true, disrupt.ConsolidateAfter: true, disrupt.NotReady: true, disrupt.Held: true,
	disrupt.PendingPods: true, disrupt.TakesPods: true, disrupt.OthersFollow: true, disrupt.NotLookedAt: true,
}

// see takes in what a decision says of the nodes.
func (b blockers) see(d *disrupt.Decision, now time.Time) {
	kept := make(map[string]bool, len(d.Kept))
	for _, k := range d.Kept {
		if len(k.Reasons) == 0 {
			continue
		}
		r := k.Reasons[0]
		was, known := b[k.Node]
		switch {
		case r.Code == disrupt.InProgress || r.Code == disrupt.Deleting:
			continue // it is being saved
		case !passing[r.Code] && k.Saves > 0:
			b[k.Node] = blocker{reason: r, saves: k.Saves, at: now}
		case !known || now.Sub(was.at) >= blockedFor:
			continue
		case !passing[r.Code] && r.Code != was.reason.Code:
			continue // it is kept for a better reason, and saves nothing
		}
		kept[k.Node] = true
	}
	for name := range b {
		if !kept[name] {
			delete(b, name)
		}
	}
}

// lines adds up what could be saved, by what stands against it.
func (b *blockers) lines(d *disrupt.Decision, p *pack.Problem, now time.Time) []Blocked {
	out := []Blocked{}
	if d == nil {
		return out
	}
	if *b == nil {
		*b = blockers{}
	}
	b.see(d, now)
	at := map[[2]string]int{}
	for _, n := range p.Nodes {
		is, ok := (*b)[n.Name]
		if !ok || n.Deleting || n.Leaving {
			continue
		}
		by, text := byWhom(is.reason, n.Pool)
		key := [2]string{string(is.reason.Code), by}
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, Blocked{Code: key[0], By: by, Text: text})
		}
		out[i].Count++
		out[i].Saves += is.saves
		if len(out[i].Nodes) < blockedNames {
			out[i].Nodes = append(out[i].Nodes, n.Name)
		}
	}
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

// byWhom names the object that blocks, and says what it does in words that hold for all nodes that it blocks.
func byWhom(r disrupt.Reason, pool string) (by, text string) {
	switch {
	case r.Code == disrupt.DisruptionBudget && r.Want != "":
		return r.Want, fmt.Sprintf("PodDisruptionBudget %s lets no pod be evicted now", r.Want)
	case r.Pod != "":
		return r.Pod, r.Text()
	}
	if words, ok := ofAll[r.Code]; ok {
		return pool, words
	}
	return pool, r.Text()
}
