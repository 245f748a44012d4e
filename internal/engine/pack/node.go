package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// node is an existing or in-flight node with the room that is left on it.
type node struct {
	src    *cluster.Node
	labels requirement.Requirements
	// open is set while the node's choices are not settled; only what the labels and Requirements imply may be demanded.
	open   bool
	room   res.Vector
	ports  []cluster.HostPort
	host   hostState
	placed []part
	// kind numbers nodes that look the same to every class: equal labels, as far as anything asks for them, and taints.
	kind int
	id   int
	// was is the node as it was compiled; what it has is shared with that until it is owned.
	was   *keptNode
	owned bool
	// hosted is the serial number of the solver for which host is worked out.
	hosted uint64
	noted  noted
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settled nodes are initialized, or not ours to initialize.
func (n *node) settled() bool { return n.src.Initialized || n.src.Claim == "" }

// newNode compiles a node; labels are what labelsOf makes of it, where that is known.
func (s *solver) newNode(src *cluster.Node, labels *requirement.Requirements) *node {
	n := &node{src: src, open: len(src.Requirements) > 0, room: catalog.AddAttachLimits(s.schema, s.schema.Vector(src.Allocatable), src.AttachLimits)}
	if labels != nil {
		n.labels = *labels
	} else {
		n.labels = s.labelsOf(src)
	}
	used := src.Used
	if used == nil {
		used = res.List{}
		for _, pod := range src.Pods {
			if pod.Class != nil {
				used.Add(pod.Class.Requests)
			}
		}
	}
	n.room.Sub(s.schema.Vector(used), 1)
	for _, pod := range src.Pods {
		if pod.Class != nil {
			n.ports = append(n.ports, pod.Class.HostPorts...)
		}
	}
	s.takeAttached(n.room, src.Pods)
	n.room.Sub(s.daemonReserve(n), 1)
	return n
}

// joined reports whether the node's name is known, which it is not of a new node that has yet to join.
func joined(src *cluster.Node) bool { return src.Claim == "" || src.Registered }

// labelsOf is what is certain of the node's labels, and what it leaves open.
func (s *solver) labelsOf(src *cluster.Node) requirement.Requirements {
	labels := s.vocab.Labels(src.Labels)
	hostname := src.Hostname
	if hostname == "" {
		hostname = src.Name
	}
	if src.Labels[requirement.Hostname] == "" {
		labels = labels.And(s.vocab.Only(requirement.Hostname, hostname))
	}
	if joined(src) {
		labels = labels.And(s.vocab.Only(requirement.NodeName, src.Name))
	}
	if len(src.Requirements) > 0 {
		if extra, err := s.vocab.Parse(src.Requirements); err == nil {
			labels = labels.And(extra)
		}
	}
	return labels
}

// daemonReserve is what daemons that will still come to the node need.
func (s *solver) daemonReserve(n *node) res.Vector {
	reserve := make(res.Vector, s.schema.Len())
	for _, d := range s.daemons {
		if judgeTaints(n.src.Taints, d.src.Class.Tolerations) == barred {
			continue
		}
		for _, alt := range d.alts {
			if n.mayBecome(s, alt) {
				reserve.Add(d.req, 1)
				n.reservePorts(d.src.Class.HostPorts)
				break
			}
		}
	}
	reserve.Sub(s.schema.Vector(n.src.DaemonUsed), 1)
	for i := range reserve {
		reserve[i] = max(0, reserve[i])
	}
	return reserve
}

func (n *node) reservePorts(ports []cluster.HostPort) {
	for _, p := range ports {
		if !portsConflict([]cluster.HostPort{p}, n.ports) {
			n.ports = append(n.ports, p)
		}
	}
}

// mayBecome reports whether the node satisfies reqs, or still may once its choices are settled.
func (n *node) mayBecome(s *solver, reqs requirement.Requirements) bool {
	if n.open {
		return n.labels.Compatible(reqs, s.isWellKnown)
	}
	return n.labels.Compatible(reqs, nil)
}

// satisfies reports whether the node is certain to satisfy reqs.
func (n *node) satisfies(s *solver, reqs requirement.Requirements) bool {
	if n.open {
		return n.labels.Implies(reqs, func(k requirement.Key) bool { return !s.isWellKnown(k) })
	}
	return n.labels.Compatible(reqs, nil)
}

// fitsKind says how the class stands to nodes of n's kind. Nodes that are marked to go take nobody, whether the mark's taint is
// tolerated or not: what is put there has to be placed once more as soon as the node goes.
func (s *solver) fitsKind(it *podGroup, n *node) taintVerdict {
	if it.kinds == nil {
		it.kinds = make([]int8, s.kinds)
	}
	if v := it.kinds[n.kind]; v != 0 {
		return taintVerdict(v - 1)
	}
	v := it.class.judge(n.src.Taints)
	if n.src.Leaving {
		v = barred
	}
	if v != barred {
		ok := slices.ContainsFunc(it.alts, func(alt int) bool { return n.satisfies(s, s.reqs.all[alt]) })
		if !ok {
			v = barred
		}
	}
	it.kinds[n.kind] = int8(v) + 1
	return v
}

// placeOnNodes puts as many of the item's pods as possible on existing nodes whose taints are no worse than worst.
func (s *solver) placeOnNodes(it *podGroup, want int, worst taintVerdict) int {
	got := 0
	for b, most := range s.most {
		if got == want {
			break
		}
		if !it.class.req.Fits(most) {
			continue
		}
		for _, n := range s.strip(b) {
			if got == want {
				break
			}
			got += s.placeOnNode(it, n, want-got, worst)
		}
	}
	return got
}

func (s *solver) placeOnNode(it *podGroup, n *node, want int, worst taintVerdict) int {
	if !it.class.req.Fits(n.room) || s.fitsKind(it, n) > worst {
		return 0
	}
	s.stats.NodesTried++
	first := it.class.firstOf(n.placed)
	k := min(it.class.times(n.room, first, want), s.hostCap(it.class, s.hostOf(n), want))
	if ports := it.class.src.HostPorts; len(ports) > 0 {
		if portsConflict(ports, n.ports) {
			return 0
		}
		k = min(k, 1)
	}
	if k <= 0 {
		return 0
	}
	s.journal.node(n)
	n.own()
	n.room.Sub(it.class.req, k)
	n.room.Sub(first, 1)
	n.ports = append(n.ports, it.class.src.HostPorts...)
	n.placed = append(n.placed, part{it, k})
	s.hostAdd(it.class, &n.host, k)
	it.left -= k
	s.countOnNode(it.class, n, k)
	return k
}
