package verify_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

const story = `types
small cpu=2 memory=4Gi price=0.10 spot=0.03
large cpu=8 memory=16Gi price=0.40 spot=0.12

pool default limits=nodes:9
taint team=blue:NoSchedule

node n1 cpu=4 memory=8Gi zone=a
pods old cpu=3500m memory=1Gi

daemon logs cpu=100m memory=64Mi
tolerate all

pods web count=3 cpu=1 memory=1Gi
tolerate team
spread zone skew=1

pods db count=2 cpu=1500m memory=1Gi
tolerate team
apart hostname
port 5432/TCP
`

func solved(t *testing.T) (*pack.Problem, *plan.Plan) {
	t.Helper()
	steps, err := scenario.Parse(story)
	if err != nil {
		t.Fatal(err)
	}
	e := scenario.New()
	for _, s := range steps {
		if out, err := e.Run(s.Head, s.Input); err != nil {
			t.Fatalf("%s: %v %s", s.Head, err, out)
		}
	}
	return e.Problem, pack.Solve(e.Problem)
}

// move takes the pods of one new node to another.
func move(p *plan.Plan, from, to int) {
	p.NewNodes[to].Pods = append(slices.Clone(p.NewNodes[to].Pods), p.NewNodes[from].Pods...)
	p.Price -= p.NewNodes[from].Price
	p.NewNodes = slices.Delete(p.NewNodes, from, from+1)
}

func TestEveryWayToSpoilAPlanIsSeen(t *testing.T) {
	cases := map[string]struct {
		spoil func(*pack.Problem, *plan.Plan)
		want  string
	}{
		"a pod is forgotten": {func(_ *pack.Problem, o *plan.Plan) { o.NewNodes[0].Pods = o.NewNodes[0].Pods[1:] }, "pods"},
		"a pod is placed twice": {func(_ *pack.Problem, o *plan.Plan) {
			o.NewNodes[0].Pods = append(o.NewNodes[0].Pods, o.NewNodes[1].Pods[0])
		}, "pods"},
		"a node is unknown": {func(_ *pack.Problem, o *plan.Plan) {
			o.Placements = []plan.Placement{{Node: "n9", Pods: o.NewNodes[0].Pods}}
		}, "node"},
		"a node is marked to go": {func(p *pack.Problem, o *plan.Plan) {
			p.Nodes[0].Leaving = true
			o.Placements = []plan.Placement{{Node: "n1", Pods: o.NewNodes[0].Pods}}
		}, "node"},
		"a node is full": {func(_ *pack.Problem, o *plan.Plan) {
			o.Placements = []plan.Placement{{Node: "n1", Pods: o.NewNodes[0].Pods}}
		}, "resources"},
		"a pool is unknown": {func(_ *pack.Problem, o *plan.Plan) { o.NewNodes[0].Pool = "other" }, "pool"},
		"a taint is in the way": {func(p *pack.Problem, _ *plan.Plan) {
			p.Pools[0].Taints[0].Value = "red"
			p.Pools[0].Taints[0].Key = "squad"
		}, "taints"},
		"a type is unknown":      {func(_ *pack.Problem, o *plan.Plan) { o.NewNodes[0].Types[0].Name = "tiny" }, "types"},
		"a type is sold out":     {func(p *pack.Problem, _ *plan.Plan) { soldOut(p) }, "offering"},
		"a price is wrong":       {func(_ *pack.Problem, o *plan.Plan) { o.NewNodes[0].Types[0].Price++ }, "price"},
		"the sum is wrong":       {func(_ *pack.Problem, o *plan.Plan) { o.Price++ }, "price"},
		"pods that repel meet":   {func(_ *pack.Problem, o *plan.Plan) { move(o, dbNode(o, 1), dbNode(o, 0)) }, "anti-affinity"},
		"a port is taken twice":  {func(_ *pack.Problem, o *plan.Plan) { move(o, dbNode(o, 1), dbNode(o, 0)) }, "ports"},
		"a limit is passed":      {func(p *pack.Problem, _ *plan.Plan) { p.Pools[0].Limits["nodes"] = 1 }, "limits"},
		"daemons need the room":  {func(p *pack.Problem, _ *plan.Plan) { p.Daemons[0].Class.Requests["cpu"] = 7900 }, "resources"},
		"a label is not settled": {func(p *pack.Problem, _ *plan.Plan) { demandZone(p) }, "labels"},
		"a spread is uneven":     {func(_ *pack.Problem, o *plan.Plan) { sameZone(o) }, "spread"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, out := solved(t)
			if v := verify.Check(p, out); len(v) > 0 {
				t.Fatalf("the plan is bad to begin with: %v\n%s", v, out)
			}
			for i := range out.NewNodes {
				out.NewNodes[i].Types = slices.Clone(out.NewNodes[i].Types) // nodes share lists
			}
			tc.spoil(p, out)
			got := verify.Check(p, out)
			if !slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Rule == tc.want }) {
				t.Errorf("found %v, want one about %s", got, tc.want)
			}
		})
	}
}

// dbNode is the n-th new node that holds a db pod.
func dbNode(o *plan.Plan, n int) int {
	for i := range o.NewNodes {
		if slices.ContainsFunc(o.NewNodes[i].Pods, func(r cluster.PodRef) bool { return r.Name[:2] == "db" }) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	panic("no such node")
}

func soldOut(p *pack.Problem) {
	for _, t := range p.Pools[0].Types {
		for i := range t.Offerings {
			t.Offerings[i].Available = false
		}
	}
}

func demandZone(p *pack.Problem) {
	p.Pending[0].Class.Selector = []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{"z"}}}
}

func sameZone(o *plan.Plan) {
	for i := range o.NewNodes {
		o.NewNodes[i].Requirements = []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{"b"}}}
	}
}

func TestATermIsMetByStricterOnes(t *testing.T) {
	e := scenario.New()
	steps, err := scenario.Parse(`types
large cpu=8 memory=16Gi price=0.40

pool default
require rank Gt 1

pods a cpu=1 memory=1Gi
select tier NotIn tin
select rank Gt 2

pods b cpu=1 memory=1Gi
select tier NotIn silver
select rank Gt 4
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.Head == "" {
			continue
		}
		if _, err := e.Run(s.Head, s.Input); err != nil {
			t.Fatal(err)
		}
	}
	out := pack.Solve(e.Problem)
	if len(out.NewNodes) != 1 {
		t.Fatalf("%d new nodes, want one for both pods", len(out.NewNodes))
	}
	for _, v := range verify.Check(e.Problem, out) {
		t.Error(v)
	}
	nn := &out.NewNodes[0]
	nn.Requirements = append(nn.Requirements, requirement.Term{Key: "tier", Operator: requirement.NotIn, Values: []string{"tin"}})
	if len(verify.Check(e.Problem, out)) == 0 {
		t.Error("a node that may have the tier that b must not have passes")
	}
}

// The check runs on every decision: four times the pods may not be sixteen times the work.
func TestTheCheckCostsInProportionToThePlan(t *testing.T) {
	cost := func(pods int) float64 {
		p := scenario.Generate(pods, 50, 1)
		p.Options.Work = -1
		out := pack.Solve(p)
		return testing.AllocsPerRun(1, func() { verify.Check(p, out) })
	}
	few, many := cost(500), cost(2000)
	if many > 6*few {
		t.Errorf("%.0f allocations for 500 pods, %.0f for 2,000", few, many)
	}
	t.Logf("%.0f allocations for 500 pods, %.0f for 2,000", few, many)
}
