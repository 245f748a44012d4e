// Package budget is the arithmetic of disruption budgets: how many nodes of a pool may be under way for a reason now, and
// when that changes. The controller disrupts by it, and a change plan foresees by it what the controller will do.
package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Budget bounds how many nodes of a pool may be under way.
type Budget struct {
	Share Share
	// Reasons that it is for; none: for all.
	Reasons []string
	// Window is when it applies; nil: always.
	Window *Window
	// BadShare and BadWindow say why a part of it can't be read. Where the part matters, it allows nothing.
	BadShare, BadWindow error
}

// Share is a number of nodes, or a percentage of those that a pool has.
type Share struct {
	N       int
	Percent bool
}

// ParseShare reads a number or a percentage from 0% to 100%.
func ParseShare(text string) (Share, error) {
	if pct, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.Atoi(pct)
		if err != nil || p < 0 || p > 100 {
			return Share{}, fmt.Errorf("%q: want a percentage from 0%% to 100%%", text)
		}
		return Share{p, true}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return Share{}, fmt.Errorf("%q: want a whole number or a percentage", text)
	}
	return Share{N: n}, nil
}

// Of is the share of so many nodes. Percentages round up (Karpenter v1 API).
func (s Share) Of(nodes int) int {
	if s.Percent {
		return (nodes*s.N + 99) / 100
	}
	return s.N
}

// Allowed is how many nodes of a pool that has so many may be under way for a reason at a time: the least over all budgets
// that apply, math.MaxInt without any.
//
// Errors: a budget that can't be read; it allows nothing.
func Allowed(budgets []Budget, reason string, nodes int, now time.Time) (int, error) {
	least := math.MaxInt
	for i, b := range budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		if b.BadWindow != nil {
			return 0, fmt.Errorf("spec.disruption.budgets[%d]: %w", i, b.BadWindow)
		}
		if b.Window != nil && !b.Window.open(now) {
			continue
		}
		if b.BadShare != nil {
			return 0, fmt.Errorf("spec.disruption.budgets[%d].nodes: %w", i, b.BadShare)
		}
		least = min(least, b.Share.Of(nodes))
	}
	return least, nil
}

// Counts reports whether the budgets of the node's pool count it: it has joined.
func Counts(n *cluster.Node) bool { return n.Claim != "" && n.Initialized }

// Uses reports whether a node that counts uses its pool's budgets up: it is going, or not ready.
func Uses(n *cluster.Node) bool { return n.Deleting || n.Leaving || !n.Ready }
