package overview

import (
	"cmp"
	"fmt"
	"time"
)

// Unjoined is about instances that run and have not become ready nodes though they had time to: not a problem yet (SlowToJoin), and what
// the pods that are on their way wait for.
type Unjoined struct {
	// Node is the oldest of them, Since when it was asked for.
	Node  string    `json:"node"`
	Since time.Time `json:"since"`
	Count int       `json:"count"`
	// Usual is how many seconds half of the nodes here took; 0 where that is not known.
	Usual int `json:"usual,omitempty"`
}

// joinsSoon is how old an instance is of which is said that it has not joined, where it is not known what is usual: images of EKS
// take one to two minutes. Else it is twice what is usual.
const joinsSoon = time.Minute

// usual is how long half of the nodes took, as it was read at a time. All nodes are read for it, so that is done once a minute at most.
type usual struct {
	at   time.Time
	took time.Duration
}

func (o *Overview) usually(now time.Time) time.Duration {
	if o.from.Joins == nil {
		return 0
	}
	if o.usual.at.IsZero() || now.Sub(o.usual.at) >= time.Minute {
		o.usual = usual{now, o.from.Joins(o.seen.snapshot)}
	}
	return o.usual.took
}

// joining are the instances that are to become nodes and had time to; nil for none.
func (o *Overview) joining(now time.Time) *Unjoined {
	var out *Unjoined
	for _, k := range o.seen.unwell {
		n := k.shown
		if n.State != Joining && n.State != Starting || now.Sub(n.Created) < cmp.Or(2*o.usually(now), joinsSoon) {
			continue
		}
		if out == nil {
			out = &Unjoined{Node: n.Name, Since: n.Created}
		}
		out.Count++
		if n.Created.Before(out.Since) {
			out.Node, out.Since = n.Name, n.Created
		}
	}
	if out != nil {
		out.Usual = int(o.usually(now).Round(time.Second).Seconds())
	}
	return out
}

// Text says what has not joined, for how long, and what is usual.
func (j *Unjoined) Text(now time.Time) string {
	out := counted(j.Count, "instance has", "instances have") + " not joined for " + now.Sub(j.Since).Round(time.Second).String()
	if j.Usual > 0 {
		out += fmt.Sprintf("; %s is usual here", time.Duration(j.Usual)*time.Second)
	}
	return out
}
