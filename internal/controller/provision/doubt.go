package provision

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

const (
	// doubted is how many times in a row the scheduler must leave pods of a class where they are, although the nodes that were chosen
	// for them have room, before they are doubted. Others may change what a spread counts once; the next decision knows of that.
	doubted = 2
	// firstDoubt and lastDoubt bound the pause after which the next pod of a doubted class takes part.
	firstDoubt = time.Minute
	lastDoubt  = 15 * time.Minute
	// oneRound is within how long misses count as one: those of the pods that were planned together.
	oneRound = 10 * time.Second
	// forgetDoubt is after how long without a miss a class is not doubted any more.
	forgetDoubt = 3 * lastDoubt
)

// doubts are the classes of pods which the scheduler does not put where they are planned, though there is room: because of a taint or
// of pods that only a running node shows, a volume on a host that is gone or one that nobody makes,
// or a quota of its own. What is not known can't be planned for, and each decision would launch the same again, or keep a node for
// pods that never come. So one pod of such a class takes part at a time, after a pause that doubles, until one is bound. A pod's trial
// lasts as long as it waits or has room on a node, which may have to boot yet.
//
// Concurrency: safe.
type doubts struct {
	reserved func(pod types.UID) bool // Options.Reserved

	mu sync.Mutex
	of map[string]*doubt // by class
}

type doubt struct {
	missed    int
	at, until time.Time
	pause     time.Duration
	trial     string // the pod that takes part, by UID
	why       string
}

func (d *doubts) miss(class, why string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]*doubt{}
	}
	x := d.of[class]
	if x == nil || now.Sub(x.at) >= forgetDoubt {
		x = &doubt{}
		d.of[class] = x
	}
	if now.Sub(x.at) < oneRound {
		return
	}
	x.missed++
	x.at, x.why, x.trial = now, why, ""
	if x.missed >= doubted {
		x.pause = min(max(2*x.pause, firstDoubt), lastDoubt)
		x.until = now.Add(x.pause)
	}
}

// dispel forgets what is doubted of a class.
func (d *doubts) dispel(class string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, class)
}

// dispelAll forgets everything: pools, node classes or daemons are others now.
func (d *doubts) dispelAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.of)
}

// split leaves out the pods of doubted classes, but for one whose pause is over.
func (d *doubts) split(pods []*cluster.Pod, now time.Time) parted {
	d.mu.Lock()
	defer d.mu.Unlock()
	for class, x := range d.of {
		if now.Sub(x.at) >= forgetDoubt {
			delete(d.of, class)
		}
	}
	if len(d.of) == 0 {
		return parted{in: pods}
	}
	waits := map[string]bool{}
	for _, pod := range pods {
		waits[pod.UID] = true
	}
	for _, x := range d.of {
		if x.trial != "" && !waits[x.trial] && (d.reserved == nil || !d.reserved(types.UID(x.trial))) {
			x.trial = "" // it ran, or is gone
		}
	}
	var p parted
	for _, pod := range pods {
		x := d.of[pod.Class.ID]
		// What runs on a node that is going has been put somewhere before, and has no time to wait.
		if x != nil && x.missed >= doubted && x.trial != pod.UID && pod.Node == "" {
			if now.Before(x.until) || x.trial != "" {
				p.out = append(p.out, pod)
				continue
			}
			x.trial, x.until = pod.UID, now.Add(x.pause)
		}
		p.in = append(p.in, pod)
	}
	return p
}

// unplaced tells of the pods that wait, class by class.
func (d *doubts) unplaced(pods []*cluster.Pod) []plan.Unplaced {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []plan.Unplaced
	for _, id := range classesOf(pods) {
		u := plan.Unplaced{ClassID: id}
		for _, p := range pods {
			if p.Class.ID == id {
				u.Pods = append(u.Pods, p.PodRef)
			}
		}
		if x := d.of[id]; x != nil {
			next := "again from " + x.until.UTC().Format(time.TimeOnly) + " on"
			if x.trial != "" {
				next = "now"
			}
			u.Reasons = []plan.Reason{{Code: plan.Unplaceable, Detail: fmt.Sprintf(
				"%d times in a row the scheduler did not put such a pod on the node that was chosen for it, which has room (%s); one is tried %s",
				x.missed, x.why, next)}}
		}
		out = append(out, u)
	}
	return out
}
