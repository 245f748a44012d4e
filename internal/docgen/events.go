package main

import (
	"bytes"

	"github.com/kerf-sh/kerf/internal/controller/events"
)

func eventsPage(b *bytes.Buffer, _ string) error {
	b.WriteString(`# Events

They come from the component ` + "`karpenter`" + `. The same event on the same object is published once in two minutes. Reasons marked
*Kerf* are Kerf's own; the others are those of Karpenter, with texts of Kerf's.

## Conditions

When a condition of a NodePool, NodeClaim or EC2NodeClass changes its status, an event on the object says so. Its type is
Normal, its reason the type of the condition, its message in Karpenter's form:

    Status condition transitioned, Type: Registered, Status: Unknown -> True, Reason: Registered

A message of the condition follows as ` + "`, Message: …`" + `. A condition that an object of the kind always has counts as Unknown before it
is written. One that comes and goes, such as Consolidatable and Drifted, has an event when it changes, not when it comes. A
condition of an EC2NodeClass that stays Unknown has a Warning when it gets a cause, such as a role that does not exist: ` + "`Status: Unknown -> Unknown`" + `. No
more than 20 of these events are published a second, and 1,000 at once; the rest is left out. Conditions of Nodes have no
events here: the node controller of Kubernetes publishes those that matter.

## Reasons

`)
	head(b, "reason", "on", "when", "")
	for _, r := range events.Reasons() {
		mark := ""
		if r.Own {
			mark = "Kerf"
		}
		row(b, code(r.Name), r.On, r.When, mark)
	}
	b.WriteString(`
Karpenter declares ` + "`FailedTermination`" + ` and does not publish it; neither does Kerf.
`)
	return nil
}
