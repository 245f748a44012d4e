package overview

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// stalled joins the drains that wait for pods which may not be evicted: their nodes cost on until they may.
func stalled(d *Document) []Problem {
	var lines []string
	var longest *Stall
	price, all := catalog.MicroUSD(0), 0
	for i := range d.Stalls {
		s := &d.Stalls[i]
		if d.At.Sub(s.Since) < stallsFor {
			continue
		}
		all, price = all+1, price+s.Price
		if len(lines) < namedNodes {
			lines = append(lines, s.Node+": "+strings.TrimSuffix(s.Text, ".")+"; "+s.why())
		}
		if longest == nil || s.Since.Before(longest.Since) {
			longest = s
		}
	}
	if longest == nil {
		return nil
	}
	text := strings.Join(lines, "\n")
	if price > 0 {
		text += "; the wait costs " + d.Currency.Amount(price) + "/h"
	}
	remedy := "let the PodDisruptionBudget allow an eviction: fewer minAvailable, more maxUnavailable, or more replicas"
	if !strings.Contains(text, "PodDisruptionBudget") {
		remedy += ", or take karpenter.sh/do-not-disrupt off the pod"
	}
	return []Problem{{
		Code: DrainStalls, Level: Warn, Title: counted(all, "node is to go and can't: a pod on it", "nodes are to go and can't: pods on them") + " may not be evicted", Text: text, Since: longest.Since, Kind: "Node", Object: longest.Node,
		Remedy: remedy + "; or leave it: the pods run on until then; kubectl get pdb -A; kerf explain node " + longest.Node,
	}}
}

// why says what the node is removed for.
func (s *Stall) why() string {
	if s.Reason != "" {
		return "Kerf removes it: " + s.Reason
	}
	return "its NodeClaim was deleted: by hand, or for its age, its health or an interruption"
}
