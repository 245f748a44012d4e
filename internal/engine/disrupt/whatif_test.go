package disrupt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

var anyPrice = pack.Rules{Launch: true, Old: 1 << 50, Certain: 50}

func TestQuestionsLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := pack.NewWhatIf(drawCluster(t, true))
		ask := func(i int) pack.Answer {
			rules := anyPrice
			if i%2 == 1 {
				rules.Old = 300_000
			}
			rules.Work = int64(i%3) * 1000
			away := []int{i}
			if j := (i*7 + 3) % w.Len(); j != i {
				away = append(away, j)
			}
			a := w.Try(away, rules)
			if a.Class != nil {
				a.Class = &cluster.Class{ID: a.Class.ID}
			}
			return a
		}
		first := make([]pack.Answer, w.Len())
		for i := range first {
			first[i] = ask(i)
		}
		for i := len(first) - 1; i >= 0; i-- {
			if diff := cmp.Diff(first[i], ask(i)); diff != "" {
				t.Fatalf("question %d is answered otherwise after the others:\n%s", i, diff)
			}
		}
	})
}

func TestPodsHaveAPlaceIfTheyHadOneAsPending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawCluster(t, false)
		for _, pool := range p.Pools {
			pool.Limits = nil
		}
		p.Pending = nil
		w := pack.NewWhatIf(p)
		for i := range w.Len() {
			a := w.Try([]int{i}, anyPrice)
			q := *p
			q.Nodes = nil
			for _, n := range p.Nodes {
				if n != w.Node(i) {
					q.Nodes = append(q.Nodes, n)
					continue
				}
				for _, pod := range n.Pods {
					again := *pod
					again.Node = ""
					q.Pending = append(q.Pending, &again)
				}
			}
			if out := pack.Solve(&q); (a.Refusal == pack.NoPlace) != (len(out.Unplaced) > 0) {
				t.Fatalf("node %s: answer %+v, plan:\n%s", w.Node(i).Name, a, out)
			}
		}
	})
}

func TestTheFloorIsNeverAboveThePrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawCluster(t, true)
		p.Pending = nil
		for _, ty := range p.Pools[0].Types {
			for i := range ty.Offerings {
				ty.Offerings[i].Reservable = 0
			}
		}
		w := pack.NewWhatIf(p)
		w.SetTargets(nil)
		for i := range w.Len() {
			floor, ok := w.Floor(i)
			a := w.Try([]int{i}, anyPrice)
			if a.Refusal == pack.Fine && (!ok || floor > a.Price) {
				t.Fatalf("node %s: floor %d (%v), price %d", w.Node(i).Name, floor, ok, a.Price)
			}
		}
	})
}

func TestDaemonsThatLeaveKeepNobodyAway(t *testing.T) {
	class := func(id string, anti ...cluster.PodAffinity) *cluster.Class {
		return &cluster.Class{ID: id, Namespace: "ns", Labels: map[string]string{"app": id}, AntiAffinity: anti, Requests: res.List{res.CPU: 1000, res.Pods: 1}}
	}
	from := func(id string) cluster.PodAffinity {
		return cluster.PodAffinity{Key: requirement.Zone, Namespaces: []string{"ns"}, Selector: &cluster.Selector{Terms: []requirement.Term{in("app", id)}}}
	}
	for name, tc := range map[string]struct{ daemon, web *cluster.Class }{
		"by the daemon's anti-affinity": {class("agent", from("web")), class("web")},
		"by the pod's anti-affinity":    {class("agent"), class("web", from("agent"))},
	} {
		t.Run(name, func(t *testing.T) {
			node := func(name, zone string, pods ...*cluster.Pod) *cluster.Node {
				return &cluster.Node{Name: name, Zone: zone, Labels: map[string]string{requirement.Zone: zone}, Initialized: true,
					Allocatable: res.List{res.CPU: 2000, res.Pods: 10}, Pods: pods}
			}
			agent := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "agent"}, Class: tc.daemon, Daemon: true}
			web := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "web"}, Class: tc.web}
			w := pack.NewWhatIf(&pack.Problem{Nodes: []*cluster.Node{node("n1", "a", agent), node("n2", "b", web), node("n3", "a")}})
			if a := w.Try([]int{1}, pack.Rules{}); a.Refusal != pack.NoPlace {
				t.Errorf("the daemon is there, and the pod goes to its zone: %+v", a)
			}
			if a := w.Try([]int{0, 1}, pack.Rules{}); a.Refusal != pack.Fine {
				t.Errorf("the daemon goes, and the pod finds no place: %+v", a)
			}
			if a := w.Try([]int{1}, pack.Rules{}); a.Refusal != pack.NoPlace {
				t.Errorf("the daemon stays after all, and the pod goes to its zone: %+v", a)
			}
		})
	}
}
