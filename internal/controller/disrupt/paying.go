package disrupt

import (
	"fmt"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/apply"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
)

const (
	// longestPaying is the most for which the machines of a move stay so that it pays back.
	longestPaying = 6 * time.Hour
	// loosePercent of the bill is what must have been spent on more than the pods are worth for these machines to go as well.
	loosePercent = 30
)

// Paying notes that the machines which a command has bought are to stay for some time: the next decision finds them not as
// full as planned, because the scheduler puts pods elsewhere, and would replace them again before they were of any use.
func (g *Governor) Paying(command string, stay time.Duration, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, until := range g.paid {
		if !now.Before(until) {
			delete(g.paid, id)
		}
	}
	g.paid[command] = now.Add(min(stay, longestPaying))
}

// Undone forgets a command that was taken back: its machines are of no use to it.
func (g *Governor) Undone(command string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.paid, command)
}

// paying says whether the node is one that a move has bought which has not paid back yet, and until when it stays for that.
// Nodes without pods are of no use to a move, and nodes of a loose cluster not much: the load that it was made for has gone.
func (g *Governor) paying(n *cluster.Node, claim *karpv1.NodeClaim, loose bool, now time.Time) (r disrupt.Reason, until time.Time) {
	if claim == nil || loose || empty(n) {
		return r, until
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.paid[claim.Annotations[apply.CommandAnnotation]]
	if !ok || !now.Before(until) {
		return r, time.Time{}
	}
	return disrupt.Reason{Code: disrupt.Other, Detail: fmt.Sprintf("a consolidation bought it that has not paid back yet; it stays until %s for that", until.UTC().Format(time.RFC3339))}, until
}
