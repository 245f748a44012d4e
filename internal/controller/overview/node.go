package overview

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// archLabel is the well-known label of a node's processor architecture.
const archLabel = "kubernetes.io/arch"

// show makes a node as readers see it.
func (o *Overview) show(k *known) *Node {
	n := k.from
	out := &Node{
		Name: n.Name, Claim: n.Claim, Pool: n.Pool, InstanceType: n.InstanceType, Zone: n.Zone, CapacityType: n.CapacityType, Arch: n.Labels[archLabel],
		State: stateOf(n), Created: n.CreatedAt.UTC(), Price: k.price, Hold: holdOf(k.kept),
		CPU: amount(n, res.CPU), Memory: amount(n, res.Memory), Pods: amount(n, res.Pods),
	}
	for name := range n.Allocatable {
		if isGPU(name) {
			g := amount(n, name)
			out.GPU.Has, out.GPU.Used = out.GPU.Has+g.Has, out.GPU.Used+g.Used
		}
	}
	out.Expected = expected(n)
	out.Carries = o.classes.carried(n.Pods, o.version+1)
	return out
}

// expected is how many pods have room kept on a node and are not on it: they wait, or run on a node that they are moved from.
func expected(n *cluster.Node) (count int) {
	for _, pod := range n.Pods {
		if pod.Node != n.Name {
			count++
		}
	}
	return count
}

// holdOf is what keeps a node; nil for nothing.
func holdOf(kept disrupt.Kept) *Hold {
	if len(kept.Reasons) == 0 {
		return nil
	}
	r := kept.Reasons[0]
	return &Hold{Code: string(r.Code), Text: r.Text(), Pod: r.Pod, Saves: kept.Saves}
}

func stateOf(n *cluster.Node) State {
	switch {
	case n.Deleting:
		return Draining
	case n.Leaving:
		return Leaving
	case n.Claim == "" && !n.Ready:
		return NotReady
	case n.Claim == "":
		return Ready
	case !n.Launched:
		return Launching
	case !n.Registered:
		return Joining
	case !n.Initialized:
		return Starting
	case !n.Ready:
		return NotReady
	}
	return Ready
}

func amount(n *cluster.Node, resource string) Amount {
	return Amount{Has: n.Allocatable[resource], Used: n.Used[resource], Daemons: n.DaemonUsed[resource]}
}

func isGPU(resource string) bool { return strings.HasSuffix(resource, "/gpu") }

// classes number pod classes, so that a node can name what it carries in a few bytes.
type classes struct {
	byID map[string]*Class
	all  []*Class
	ids  []string
	from []uint64 // version in which each came
	most int      // how many there may be until it is asked which still stand for a pod

	numbers []int // room for carried
}

// id is that of the class with a number; empty where there is none.
func (c *classes) id(number int) string {
	if number < 0 || number >= len(c.ids) {
		return ""
	}
	return c.ids[number]
}

func newClasses() classes { return classes{byID: map[string]*Class{}} }

// slackClasses is how many classes that no pod has any more are kept before all are numbered anew.
const slackClasses = 1000

// refit forgets all numbers once most of them stand for nothing; true if it did. It looks at the pods only once there are twice as
// many classes as it found last time.
func (c *classes) refit(s *cluster.Snapshot) bool {
	if len(c.all) < max(c.most, slackClasses) {
		return false
	}
	live := map[string]bool{}
	for _, n := range s.Nodes {
		for _, pod := range n.Pods {
			if !pod.Daemon && !pod.Mirror {
				live[pod.Class.ID] = true
			}
		}
	}
	most := 2*len(live) + slackClasses
	if len(c.all) < most {
		c.most = most
		return false
	}
	*c = newClasses()
	c.most = most
	return true
}

// number is that of a pod's class.
func (c *classes) number(p *cluster.Pod, version uint64) int {
	if known := c.byID[p.Class.ID]; known != nil {
		return known.Number
	}
	made := &Class{Number: len(c.all), Namespace: p.Namespace, Name: p.Workload(), CPU: p.Class.Requests[res.CPU], Memory: p.Class.Requests[res.Memory]}
	for name, amount := range p.Class.Requests {
		if isGPU(name) {
			made.GPU += amount
		}
	}
	c.byID[p.Class.ID] = made
	c.all, c.ids, c.from = append(c.all, made), append(c.ids, p.Class.ID), append(c.from, version)
	return made.Number
}

// carried are pairs of the number of a class and how many of the pods are of it, daemons left out.
func (c *classes) carried(pods []*cluster.Pod, version uint64) (out [][2]int) {
	var last *cluster.Class // pods of one workload stand together
	number, kinds := 0, 0
	c.numbers = c.numbers[:0]
	for _, p := range pods {
		if p.Daemon || p.Mirror {
			continue
		}
		if p.Class != last {
			last, number = p.Class, c.number(p, version)
			kinds++
		}
		c.numbers = append(c.numbers, number)
	}
	if kinds == 0 {
		return nil
	}
	slices.Sort(c.numbers)
	out = make([][2]int, 0, kinds)
	for i, number := range c.numbers {
		if i > 0 && number == c.numbers[i-1] {
			out[len(out)-1][1]++
		} else {
			out = append(out, [2]int{number, 1})
		}
	}
	return out
}

// since are the classes that came after a version.
func (c *classes) since(version uint64) []*Class {
	at, _ := slices.BinarySearch(c.from, version+1)
	return c.all[at:]
}
