package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// headroom is how many times its use a pod is given where requests are held against use: what the VerticalPodAutoscaler adds to
// what it has measured is 15 %, and one moment says less than its week.
const headroom = 1.2

// leastCPU and leastMemory are what a pod is given at least: an idle pod at this moment is not idle always.
const (
	leastCPU    = 10       // millicores
	leastMemory = 16 << 20 // bytes
	cpuPrice    = 0.031611 // dollars for a core and hour
	memoryPrice = 0.004237 // dollars for a GiB and hour
	gib         = 1 << 30  // bytes
	mostOwners  = 100      // workloads that are told
	unusedMost  = 0.00005  // dollars per hour below which a workload is not told
)

// weightOf is what resources are worth in proportion to each other: CPU and memory at what on-demand instances of AWS cost for
// each, by the usual regression over general types. Only the proportion counts, since a node's price is divided by it.
func weightOf(r res.List) float64 {
	return float64(r[res.CPU])/1000*cpuPrice + float64(r[res.Memory])/gib*memoryPrice
}

// costOf is the part of a node's price that an amount of its resources stands for.
func costOf(n *cluster.Node, want res.List) catalog.MicroUSD {
	whole := max(weightOf(n.Allocatable), weightOf(n.Used)) // parts of a node are never more than it
	if whole <= 0 {
		return 0
	}
	return catalog.MicroUSD(float64(n.Price) * min(weightOf(want)/whole, 1))
}

// ownerOf is the workload of a pod.
func (st *state) ownerOf(p *cluster.Pod) owner {
	if pod := st.pods[p.PodRef]; pod != nil {
		return st.owners.of(pod)
	}
	return owner{kind: "Pod", namespace: p.Namespace, name: p.Name}
}

// use is what a pod uses; nil where it is not known.
func (a *audit) use() map[string]res.List {
	if len(a.st.from.Usage) == 0 {
		return nil
	}
	out := map[string]res.List{}
	for _, u := range a.st.from.Usage {
		sum := res.List{}
		for _, c := range u.Containers {
			sum.Add(intake.Resources(c.Usage))
		}
		out[u.Namespace+"/"+u.Name] = sum
	}
	return out
}

// demand is what the pods of a workload ask for and use.
type demand struct {
	Workload
	peak           res.List // of one pod
	measured       int
	cost, unused   catalog.MicroUSD
	cpu, memory    int64
	cpuUse, memUse int64
	onNodes, zones map[string]int
	daemon         bool
	spot           int // pods on spot nodes
}

// demands are the workloads with pods on nodes of EC2.
func (a *audit) demands() map[owner]*demand {
	use := a.use()
	out := map[owner]*demand{}
	for _, n := range a.st.nodes {
		if n.from != ofPool && n.from != ofGroup {
			continue
		}
		for _, p := range n.Pods {
			o := a.st.ownerOf(p)
			d := out[o]
			if d == nil {
				d = &demand{Workload: Workload{Kind: o.kind, Name: o.String()}, peak: res.List{}, onNodes: map[string]int{}, zones: map[string]int{}, daemon: p.Daemon || p.Mirror}
				out[o] = d
			}
			d.Pods++
			d.onNodes[n.Name]++
			d.zones[n.Zone]++
			if n.CapacityType == catalog.Spot {
				d.spot++
			}
			d.cost += costOf(n.Node, p.Class.Requests)
			d.cpu += p.Class.Requests[res.CPU]
			d.memory += p.Class.Requests[res.Memory]
			used, ok := use[p.PodRef.String()]
			if !ok {
				continue
			}
			d.measured++
			d.cpuUse += used[res.CPU]
			d.memUse += used[res.Memory]
			for _, r := range []string{res.CPU, res.Memory} {
				d.peak[r] = max(d.peak[r], used[r])
			}
			idle := res.List{}
			for _, r := range []string{res.CPU, res.Memory} {
				idle[r] = max(0, p.Class.Requests[r]-used[r])
			}
			d.unused += costOf(n.Node, idle)
		}
	}
	return out
}

// workloads tells what each workload asks for and uses, those first that leave most unused; without metrics, the dearest.
func (a *audit) workloads() {
	var list []*demand
	for _, d := range a.demandsOnce() {
		d.PerHour = dollars(d.cost)
		d.CPU, d.Memory = float64(d.cpu)/1000, float64(d.memory)/gib
		if d.measured > 0 {
			d.UnusedPerHour = new(dollars(d.unused))
			d.CPUUsed, d.MemoryUsed = new(float64(d.cpuUse)/1000), new(float64(d.memUse)/gib)
		}
		list = append(list, d)
	}
	rest := &a.report.Rest
	room := a.bill
	for _, d := range list {
		room -= d.cost
	}
	rest.Room = dollars(max(room, 0))
	if len(list) > mostOwners {
		slices.SortFunc(list, func(x, y *demand) int { return cmp.Or(cmp.Compare(y.cost, x.cost), cmp.Compare(x.Name, y.Name)) })
		for _, d := range list[mostOwners:] {
			rest.Others++
			rest.OthersPerHour += dollars(d.cost)
		}
		list = list[:mostOwners]
	}
	slices.SortFunc(list, func(x, y *demand) int {
		return cmp.Or(cmp.Compare(y.unused, x.unused), cmp.Compare(y.cost, x.cost), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind))
	})
	for _, d := range list {
		a.report.Workloads = append(a.report.Workloads, d.Workload)
	}
}

// demandsOnce keeps what demands found.
func (a *audit) demandsOnce() map[owner]*demand {
	if a.found == nil {
		a.found = a.demands()
	}
	return a.found
}

// usedRequests is what each pod would ask for if it asked for what the busiest of its workload uses, with headroom; pods of
// workloads that are not measured are left out.
func (a *audit) usedRequests() map[cluster.PodRef]res.List {
	out := map[cluster.PodRef]res.List{}
	found := a.demandsOnce()
	for _, p := range a.emptied.Pending {
		d := found[a.st.ownerOf(p)]
		if d == nil || d.measured == 0 {
			continue
		}
		out[p.PodRef] = res.List{
			res.CPU:    max(leastCPU, int64(float64(d.peak[res.CPU])*headroom)),
			res.Memory: max(leastMemory, int64(float64(d.peak[res.Memory])*headroom)),
		}
	}
	return out
}

// text is what the workload asks for and uses.
func (w *Workload) text() string {
	text := fmt.Sprintf("%s ask for %.2f cores and %.1f GiB", plural(w.Pods, "pod"), w.CPU, w.Memory)
	if w.CPUUsed != nil {
		text += fmt.Sprintf(", use %.2f and %.1f", *w.CPUUsed, *w.MemoryUsed)
	}
	return text
}
