package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/events"
)

// Interruption is an instance that AWS takes back, or works on at a time that it has named.
type Interruption struct {
	Node  string `json:"node"`
	Claim string `json:"claim"`
	// Kind is why.
	Kind InterruptionKind `json:"kind"`
	// Until is when the instance ends, or when the work on it begins; the zero time where it is not known.
	Until time.Time `json:"until,omitzero"`
	// From is when its pods begin to move, where that is to come.
	From time.Time `json:"from,omitzero"`
	// Pods are still on it, daemons left out.
	Pods int `json:"pods"`
	// Room says whether its pods have room elsewhere. It is empty before they are to move.
	Room Room `json:"room,omitempty"`
	// Work is AWS's word for scheduled work, such as instance-retirement.
	Work string `json:"work,omitempty"`
}

// InterruptionKind is why AWS interrupts an instance.
type InterruptionKind string

// The kinds of interruptions.
const (
	SpotTaken        InterruptionKind = "spot"        // with two minutes' notice
	RiskRaised       InterruptionKind = "rebalance"   // AWS sees a raised risk that it takes the instance back
	ReservationTaken InterruptionKind = "reservation" // AWS takes the capacity reservation back
	WorkScheduled    InterruptionKind = "maintenance"
	TakenOtherwise   InterruptionKind = "other"
)

// Room is how far it is with room elsewhere for the pods of a node.
type Room string

// The steps.
const (
	RoomSought Room = "sought" // some have none yet
	RoomComing Room = "coming" // the instance is on its way
	RoomReady  Room = "ready"
)

// interruptions are those of now with what becomes of their pods, the soonest first.
func (o *Overview) interruptions() []Interruption {
	out := slices.Clone(o.seen.interrupted)
	for i := range out {
		k := o.nodes[out[i].Node]
		if k == nil {
			continue
		}
		for _, pod := range k.from.Pods {
			if pod.Node != "" && !pod.Daemon && !pod.Mirror {
				out[i].Pods++
			}
		}
	}
	slices.SortFunc(out, func(a, b Interruption) int {
		return cmp.Or(rankOf(a.Until).Compare(rankOf(b.Until)), strings.Compare(a.Node, b.Node))
	})
	return out
}

// rankOf puts what has no time behind all that has.
func rankOf(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return t
}

// Progress says how far the pods of an interrupted node are.
func (i *Interruption) Progress() string {
	switch {
	case !i.From.IsZero():
		return fmt.Sprintf("%s from %s on", counted(i.Pods, "pod moves", "pods move"), i.From.UTC().Format("2 Jan 15:04 MST"))
	case i.Pods == 0:
		return "its pods have moved"
	case i.Room == RoomSought:
		return counted(i.Pods, "pod", "pods") + " still on it; room elsewhere is being looked for"
	case i.Room == RoomComing:
		return counted(i.Pods, "pod", "pods") + " still on it; the node that replaces it is on its way"
	case i.Room == RoomReady:
		return counted(i.Pods, "pod", "pods") + " still on it; room elsewhere is ready, and they move now"
	}
	return counted(i.Pods, "pod", "pods") + " still on it"
}

// interrupted are the problems that interruptions are: one for instances that AWS takes back, one for scheduled work.
func interrupted(d *Document) (out []Problem) {
	var taken, work []Interruption
	for _, i := range d.Interruptions {
		if i.Kind == WorkScheduled {
			work = append(work, i)
		} else {
			taken = append(taken, i)
		}
	}
	if n := len(taken); n > 0 {
		what := counted(n, "instance", "instances")
		if !slices.ContainsFunc(taken, func(i Interruption) bool { return i.Kind != SpotTaken }) {
			what = counted(n, "spot instance", "spot instances")
		}
		out = append(out, Problem{
			Code: TakenBack, Level: Warn, Title: "AWS takes back " + what, Text: progress(taken), Until: taken[0].Until, Kind: "Node", Object: taken[0].Node,
			Remedy: "none needed: pods move first; kubectl get events -A --field-selector reason=" + events.SpotInterrupted,
		})
	}
	if n := len(work); n > 0 {
		p := Problem{
			Code: Maintenance, Level: Warn, Title: "AWS works on " + counted(n, "instance", "instances"), Text: progress(work), Kind: "Node", Object: work[0].Node,
			Remedy: "none needed: pods move first; kubectl describe nodeclaim " + work[0].Claim,
		}
		if at := work[0].Until; !at.IsZero() {
			p.Title += " at " + at.UTC().Format("2 Jan 15:04 MST")
			if n > 1 {
				p.Title += " and later"
			}
		}
		out = append(out, p)
	}
	return out
}

// progress has some of the interruptions in words.
func progress(all []Interruption) string {
	var out []string
	for i := range all[:min(len(all), namedNodes)] {
		out = append(out, all[i].Node+": "+all[i].Progress())
	}
	if more := len(all) - namedNodes; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "\n")
}
