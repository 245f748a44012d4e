package scenario

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// roll prints how the nodes that it names are replaced because they drifted, in the order of their urgency, and what an
// independent check finds wrong with it; with apply it is also carried out.
//
// Example: roll n1,n2 apply
func (e *Env) roll(a *args, _ []string) (string, error) {
	due := strings.Split(a.word(), ",")
	p := e.disruption(disrupt.Options{Work: int64(a.number("work", 0))})
	d := disrupt.Replace(p, disrupt.Drifted, due)
	text := d.String()
	for _, v := range verify.Replace(p, disrupt.Drifted, due, d) {
		text += "VIOLATION " + v.String() + "\n"
	}
	if a.flag("apply") {
		e.Problem = CarryOut(e.Problem, d)
	}
	return text, nil
}
