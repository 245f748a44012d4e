package main

import (
	"bytes"

	"github.com/kerf-sh/kerf/internal/controller/conditions"
)

func conditionsPage(b *bytes.Buffer, _ string) error {
	b.WriteString(`# Conditions

What stands in ` + "`status.conditions`" + ` of the objects that Kerf serves. Conditions marked *Kerf* are Kerf's own; the others are those of
Karpenter. A condition that is False or Unknown says why in its reason and message. Ready sums the conditions of an object up. One
package of the controller writes each condition; the last column names it.

When the status of a condition changes, [an event](events.md#conditions) says so.

`)
	all := conditions.All()
	for i, c := range all {
		if i == 0 || all[i-1].Kind != c.Kind {
			b.WriteString("## " + c.Kind + "\n\n")
			head(b, "condition", "True when", "", "written by")
		}
		mark := ""
		if c.Own {
			mark = "Kerf"
		}
		row(b, code(c.Type), c.True, mark, "[controller/"+c.Writer+"](../../internal/controller/"+c.Writer+")")
		if i+1 < len(all) && all[i+1].Kind != c.Kind {
			b.WriteString("\n")
		}
	}
	return nil
}
