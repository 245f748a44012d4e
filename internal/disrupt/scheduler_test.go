package disrupt_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
	"github.com/kerf-sh/kerf/internal/scenario"
)

// scheduler puts pods on nodes one by one, as kube-scheduler does by its hard rules and LeastAllocated, and draws lots
// between nodes that are as good. It looks at everything each time, and remembers nothing.
type scheduler struct {
	nodes []*cluster.Node
	rng   *rand.Rand
}

func (s *scheduler) place(pod *cluster.Pod) *cluster.Node {
	var best []*cluster.Node
	top := int64(-1)
	for _, n := range s.nodes {
		if !n.Initialized || n.Deleting || !s.fits(pod, n) {
			continue
		}
		score := s.score(pod, n)
		if score > top {
			best, top = nil, score
		}
		if score == top {
			best = append(best, n)
		}
	}
	if len(best) == 0 {
		return nil
	}
	n := best[s.rng.IntN(len(best))]
	landed := *pod
	landed.Node = n.Name
	n.Pods = append(n.Pods, &landed)
	n.Used.Add(pod.Class.Requests)
	return n
}

func (s *scheduler) score(pod *cluster.Pod, n *cluster.Node) int64 {
	sum := int64(0)
	for name, unasked := range map[string]int64{res.CPU: 100, res.Memory: 200 << 20} {
		used := cmp.Or(pod.Class.Requests[name], unasked)
		for _, o := range n.Pods {
			used += cmp.Or(o.Class.Requests[name], unasked)
		}
		if all := n.Allocatable[name]; used <= all {
			sum += (all - used) * 100 / all
		}
	}
	score := sum / 2
	if _, bad := cluster.Untolerated(n.Taints, pod.Class.Tolerations, cluster.PreferNoSchedule); !bad {
		score += 1000
	}
	return score
}

func (s *scheduler) fits(pod *cluster.Pod, n *cluster.Node) bool {
	c := pod.Class
	for name, x := range c.Requests {
		if x > 0 && n.Used[name]+x > n.Allocatable[name] {
			return false
		}
	}
	if _, bad := cluster.Untolerated(n.Taints, c.Tolerations, cluster.NoSchedule, cluster.NoExecute); bad || !matches(c, n, true) {
		return false
	}
	for _, o := range n.Pods {
		for _, p := range c.HostPorts {
			if slices.ContainsFunc(o.Class.HostPorts, p.Conflicts) {
				return false
			}
		}
	}
	return s.company(c, n) && s.even(c, n)
}

// company looks at required affinity and anti-affinity.
func (s *scheduler) company(c *cluster.Class, n *cluster.Node) bool {
	with := func(o *cluster.Class) bool {
		return !slices.ContainsFunc(c.PodAffinity, func(t cluster.PodAffinity) bool { return !spoken(c, t, o) })
	}
	anywhere := false
	near := make([]bool, len(c.PodAffinity))
	for _, other := range s.nodes {
		for _, o := range other.Pods {
			if o.Terminating {
				continue
			}
			anywhere = anywhere || with(o.Class)
			for i, t := range c.PodAffinity {
				near[i] = near[i] || with(o.Class) && shares(n, other, t.Key)
			}
			for _, t := range c.AntiAffinity {
				if spoken(c, t, o.Class) && shares(n, other, t.Key) {
					return false
				}
			}
			for _, t := range o.Class.AntiAffinity {
				if spoken(o.Class, t, c) && shares(n, other, t.Key) {
					return false
				}
			}
		}
	}
	for i, t := range c.PodAffinity {
		if _, has := label(n, t.Key); !has || !near[i] && (anywhere || !with(c)) {
			return false
		}
	}
	return true
}

func (s *scheduler) even(c *cluster.Class, n *cluster.Node) bool {
	looksAt := func(o *cluster.Node, sp cluster.Spread) bool {
		for _, x := range c.Spreads {
			if _, has := label(o, x.Key); !has {
				return false
			}
		}
		_, bad := cluster.Untolerated(o.Taints, c.Tolerations, cluster.NoSchedule, cluster.NoExecute)
		return (sp.IgnoreAffinity || matches(c, o, false)) && !(sp.HonorTaints && bad)
	}
	for _, sp := range c.Spreads {
		mine, has := label(n, sp.Key)
		if !has {
			return false
		}
		counts := map[string]int{}
		for _, o := range s.nodes {
			if !looksAt(o, sp) {
				continue
			}
			d, _ := label(o, sp.Key)
			counts[d] += 0
			for _, pod := range o.Pods {
				if pod.Class.Namespace == c.Namespace && !pod.Terminating && sp.Selector.Matches(pod.Class.Labels) {
					counts[d]++
				}
			}
		}
		floor := 1 << 30
		for _, x := range counts {
			floor = min(floor, x)
		}
		if len(counts) == 0 || len(counts) < sp.MinDomains {
			floor = 0
		}
		self := 0
		if sp.Selector.Matches(c.Labels) {
			self = 1
		}
		if counts[mine]+self-floor > sp.MaxSkew {
			return false
		}
	}
	return true
}

func spoken(c *cluster.Class, t cluster.PodAffinity, o *cluster.Class) bool {
	return (slices.Contains(t.Namespaces, o.Namespace) || len(t.Namespaces) == 0 && o.Namespace == c.Namespace) && t.Selector.Matches(o.Labels)
}

func label(n *cluster.Node, key string) (string, bool) {
	if requirement.Normalize(key) == requirement.Hostname {
		return cmp.Or(n.Hostname, n.Name), true
	}
	v, has := n.Labels[requirement.Normalize(key)]
	return v, has
}

func shares(a, b *cluster.Node, key string) bool {
	x, has := label(a, key)
	y, too := label(b, key)
	return has && too && x == y
}

func matches(c *cluster.Class, n *cluster.Node, volumes bool) bool {
	all := func(terms []requirement.Term) bool {
		return !slices.ContainsFunc(terms, func(t requirement.Term) bool {
			v, has := label(n, t.Key)
			have, err := strconv.Atoi(v)
			want := 0
			if len(t.Values) == 1 {
				want, _ = strconv.Atoi(t.Values[0])
			}
			switch t.Operator {
			case requirement.In:
				return !has || !slices.Contains(t.Values, v)
			case requirement.NotIn:
				return has && slices.Contains(t.Values, v)
			case requirement.Exists:
				return !has
			case requirement.DoesNotExist:
				return has
			case requirement.Gt:
				return !has || err != nil || have <= want
			default:
				return !has || err != nil || have >= want
			}
		})
	}
	one := func(lists [][]requirement.Term) bool { return len(lists) == 0 || slices.ContainsFunc(lists, all) }
	return all(c.Selector) && one(c.Affinity) && (!volumes || one(c.Volumes))
}

// outcome is a cluster in which moves were carried out and the scheduler had its way.
type outcome struct {
	cluster *pack.Problem
	stuck   []*cluster.Pod
	moved   int
}

// let carries the moves out: the new nodes come, and the pods of the old ones look for places in a random order, those of
// nodes for which nothing is bought before the others.
func let(p *pack.Problem, d *disrupt.Decision, rng *rand.Rand) outcome {
	after := scenario.CarryOut(p, d)
	bare := map[string]bool{}
	for _, n := range p.Nodes {
		bare[n.Name] = true
	}
	moved := map[cluster.PodRef]bool{}
	pods := map[cluster.PodRef]*cluster.Pod{}
	went := map[string]bool{}
	for i := range d.Moves {
		for _, name := range d.Moves[i].Nodes {
			went[name] = true
		}
	}
	out := outcome{cluster: after}
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			if pods[pod.PodRef] = pod; went[n.Name] && pack.Movable(pod) {
				moved[pod.PodRef] = true
				out.moved++
			}
		}
	}
	s := &scheduler{rng: rng}
	var later []*cluster.Node
	for _, n := range after.Nodes {
		n.Pods = slices.DeleteFunc(n.Pods, func(pod *cluster.Pod) bool {
			if moved[pod.PodRef] {
				for k, x := range pod.Class.Requests {
					n.Used[k] -= x
				}
			}
			return moved[pod.PodRef]
		})
		if bare[n.Name] {
			s.nodes = append(s.nodes, n)
		} else {
			later = append(later, n)
		}
	}
	for _, buys := range []bool{false, true} {
		if buys {
			s.nodes = append(s.nodes, later...)
		}
		var own []*cluster.Pod
		for i := range d.Moves {
			if m := &d.Moves[i]; m.Cause != disrupt.Empty && (len(m.NewNodes) > 0) == buys {
				for _, name := range m.Nodes {
					at := slices.IndexFunc(p.Nodes, func(n *cluster.Node) bool { return n.Name == name })
					for _, pod := range p.Nodes[at].Pods {
						if moved[pod.PodRef] {
							own = append(own, pod)
						}
					}
				}
			}
		}
		rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		for _, pod := range own {
			if s.place(pod) == nil {
				out.stuck = append(out.stuck, pod)
			}
		}
	}
	return out
}
