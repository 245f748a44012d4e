package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Interruption is an instance that AWS takes back, or works on at a time that it has named.
type Interruption struct {
	Node  string `json:"node"`
	Claim string `json:"claim"`
	// Kind is why. Event is the reason of the events that tell of it.
	Kind  InterruptionKind `json:"kind"`
	Event string           `json:"event,omitempty"`
	// Until is when the instance ends, or when the work on it begins; the zero time where it is not known.
	Until time.Time `json:"until,omitzero"`
	// From is when its pods begin to move, where that is to come.
	From time.Time `json:"from,omitzero"`
	// Since is when the node began to drain; the zero time before.
	Since time.Time `json:"since,omitzero"`
	// Pods are still on it, daemons left out. Waiting are those of the cluster that were created since and wait for a node: pods that
	// were evicted come back as such.
	Pods    int `json:"pods"`
	Waiting int `json:"waiting,omitempty"`
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
		if !out[i].Since.IsZero() {
			out[i].Waiting = o.waitingSince(out[i].Since)
		}
	}
	slices.SortFunc(out, func(a, b Interruption) int {
		return cmp.Or(rankOf(a.Until).Compare(rankOf(b.Until)), strings.Compare(a.Node, b.Node))
	})
	return out
}

// waitingSince counts the pods that wait and were created since a time, in whole seconds as the API has it.
func (o *Overview) waitingSince(t time.Time) (n int) {
	count := func(pod *cluster.Pod) {
		if !pod.CreatedAt.Before(t.Truncate(time.Second)) && !pod.Class.Virtual {
			n++
		}
	}
	for _, pod := range o.seen.snapshot.Pending {
		count(pod)
	}
	for _, k := range o.seen.coming {
		for _, pod := range k.waiting {
			count(pod)
		}
	}
	return n
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
	case i.Pods == 0 && i.Waiting > 0:
		return "its pods were evicted; " + counted(i.Waiting, "pod created since waits", "pods created since wait") + " for a node that is ready"
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

// kindsOfInterruptions are the kinds in the order of their problems, with what AWS does to instances of each.
var kindsOfInterruptions = []struct {
	kind            InterruptionKind
	does, one, many string
}{
	{SpotTaken, "AWS takes back", "spot instance", "spot instances"},
	{RiskRaised, "AWS may take back", "spot instance soon", "spot instances soon"},
	{ReservationTaken, "AWS takes back", "reserved instance", "reserved instances"},
	{TakenOtherwise, "AWS takes back", "instance", "instances"},
	{WorkScheduled, "AWS works on", "instance", "instances"},
}

// interrupted are the problems that interruptions are: one for each kind.
func interrupted(d *Document) (out []Problem) {
	for _, k := range kindsOfInterruptions {
		var all []Interruption
		for _, i := range d.Interruptions {
			if i.Kind == k.kind {
				all = append(all, i)
			}
		}
		if len(all) == 0 {
			continue
		}
		first := &all[0] // the soonest
		p := Problem{
			Code: TakenBack, Level: Warn, Title: k.does + " " + counted(len(all), k.one, k.many), Text: progress(all), Until: first.Until, Kind: "Node", Object: first.Node,
			Remedy: "none needed: pods move first; kubectl describe nodeclaim " + first.Claim,
		}
		if first.Event != "" {
			p.Remedy = "none needed: pods move first; kubectl get events -A --field-selector reason=" + first.Event
		}
		if k.kind == WorkScheduled {
			p.Code, p.Until = Maintenance, time.Time{} // it is no end
			if at := first.Until; !at.IsZero() {
				p.Title += " at " + at.UTC().Format("2 Jan 15:04 MST")
				if len(all) > 1 {
					p.Title += " and later"
				}
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
