package disrupt_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// copied is the problem with lists of its own, so that it can be changed while the old one is remembered.
func copied(p *disrupt.Problem) *disrupt.Problem {
	q, c := *p, *p.Cluster
	q.Cluster = &c
	q.Nodes, q.Pools = slices.Clone(p.Nodes), slices.Clone(p.Pools)
	c.Nodes, c.Pending, c.Pools = slices.Clone(c.Nodes), slices.Clone(c.Pending), slices.Clone(c.Pools)
	return &q
}

// changes are what may happen to a cluster between two looks.
var changes = map[string]func(*disrupt.Problem){
	"nothing":             func(*disrupt.Problem) {},
	"a newer generation":  func(p *disrupt.Problem) { p.Cluster.Generation++ },
	"time goes by":        func(p *disrupt.Problem) { p.Cluster.Now = p.Cluster.Now.Add(time.Hour) },
	"a block is reworded": func(p *disrupt.Problem) { p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.Other, Detail: "again"}} },
	"a block will soon go": func(p *disrupt.Problem) {
		for i := range p.Nodes {
			if i%2 == 0 {
				p.Nodes[i].Blocks, p.Nodes[i].Soon = []disrupt.Reason{{Code: disrupt.ConsolidateAfter}}, time.Duration(i+1)*time.Second
			}
		}
	},
	"time until a block goes passes": func(p *disrupt.Problem) {
		for i := range p.Nodes {
			p.Nodes[i].Soon /= 2
		}
	},
	"a block goes":          func(p *disrupt.Problem) { p.Nodes[0].Blocks = nil },
	"a node expires soon":   func(p *disrupt.Problem) { p.Nodes[0].LifetimeLeft = time.Minute },
	"a node expires later":  func(p *disrupt.Problem) { p.Nodes[0].LifetimeLeft = 2 * time.Minute },
	"a node has a price":    func(p *disrupt.Problem) { p.Options.NodePrice = 100_000 },
	"a pool may lose none":  func(p *disrupt.Problem) { p.Pools[0].Allowed = map[disrupt.Cause]int{disrupt.Underutilized: 0} },
	"a pool becomes static": func(p *disrupt.Problem) { p.Pools[0].Static = true },
	"a pod costs more": func(p *disrupt.Problem) {
		p.DeletionCosts = map[string]int32{p.Cluster.Nodes[0].Pods[0].PodRef.String(): 1 << 30}
	},
	"a pod ends": func(p *disrupt.Problem) {
		own := *p.Cluster.Nodes[0]
		own.Pods, own.Used = own.Pods[1:], nil
		p.Cluster.Nodes[0] = &own
	},
	"another daemon": func(p *disrupt.Problem) {
		p.Cluster.Daemons = append(slices.Clone(p.Cluster.Daemons), cluster.Daemon{Name: "ns/new", Class: p.Cluster.Nodes[1].Pods[0].Class})
	},
	"another pool": func(p *disrupt.Problem) {
		own := *p.Cluster.Pools[0]
		own.Name = "another"
		p.Cluster.Pools = append(p.Cluster.Pools, &own)
		p.Pools = append(p.Pools, disrupt.Pool{Name: own.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
	},
	"a node is not ours any more": func(p *disrupt.Problem) { p.Nodes = p.Nodes[1:] },
	"a node is gone":              func(p *disrupt.Problem) { p.Cluster.Nodes = p.Cluster.Nodes[1:] },
	"a type is gone": func(p *disrupt.Problem) {
		own := *p.Cluster.Pools[0]
		own.Types = own.Types[1:]
		p.Cluster.Pools[0] = &own
	},
	"a pod waits": func(p *disrupt.Problem) {
		p.Cluster.Pending = append(p.Cluster.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "new"}, Class: p.Cluster.Nodes[1].Pods[0].Class})
	},
}

func TestEngineDecidesLikeDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if len(p.Cluster.Nodes) < 2 || len(p.Cluster.Nodes[0].Pods) == 0 || len(p.Cluster.Nodes[1].Pods) == 0 {
			return
		}
		names := make([]string, 0, len(changes))
		for name := range changes {
			names = append(names, name)
		}
		slices.Sort(names)
		e := new(disrupt.Engine)
		e.Decide(p)
		for range 6 {
			name := rapid.SampledFrom(names).Draw(t, "change")
			if len(p.Nodes) < 2 || len(p.Cluster.Nodes) < 3 || len(p.Cluster.Nodes[0].Pods) == 0 || len(p.Cluster.Nodes[1].Pods) == 0 || len(p.Cluster.Pools[0].Types) < 2 {
				break
			}
			p = copied(p)
			changes[name](p)
			if got, want := bytesOf(t, e.Decide(p)), bytesOf(t, disrupt.Decide(p)); got != want {
				t.Fatalf("after %q:\n%s", name, cmp.Diff(want, got))
			}
		}
	})
}

// parts are the structs that a problem is made of, as far as a decision is not told apart by pointers alone.
var parts = map[string]func(*disrupt.Problem) any{
	"problem":         func(p *disrupt.Problem) any { return p },
	"node":            func(p *disrupt.Problem) any { return &p.Nodes[1] },
	"pool":            func(p *disrupt.Problem) any { return &p.Pools[0] },
	"options":         func(p *disrupt.Problem) any { return &p.Options },
	"cluster":         func(p *disrupt.Problem) any { return p.Cluster },
	"cluster.options": func(p *disrupt.Problem) any { return &p.Cluster.Options },
	"cluster.pool": func(p *disrupt.Problem) any {
		own := *p.Cluster.Pools[0]
		p.Cluster.Pools[0] = &own
		return &own
	},
}

// equal compares a part of two problems as the engine does; false if it does not compare that part as a whole.
func equal(part string, a, b *disrupt.Problem) (same, about bool) {
	switch part {
	case "cluster.options":
		return a.Cluster.Options.Same(&b.Cluster.Options) || pack.SameQuestions(a.Cluster, b.Cluster), true
	case "cluster.pool":
		return a.Cluster.Pools[0].Same(b.Cluster.Pools[0]) || pack.SameQuestions(a.Cluster, b.Cluster), true
	}
	return false, false
}

// vary gives a value another one of its kind; false if it can't.
func vary(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.25)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Struct:
		for _, f := range v.Fields() {
			if !f.CanSet() || !vary(f) {
				return false
			}
		}
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if !vary(one) {
			return false
		}
		v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), one))
	case reflect.Map:
		key, one := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if !vary(key) || !vary(one) {
			return false
		}
		next := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			next.SetMapIndex(k, v.MapIndex(k))
		}
		next.SetMapIndex(key, one)
		v.Set(next)
	default:
		return false
	}
	return true
}

// TestNoFieldOfAProblemIsForgotten changes each field of a problem by itself. Fields that need a change that makes sense, as
// lists of pointers do, must be changed by one of changes.
func TestNoFieldOfAProblemIsForgotten(t *testing.T) {
	// The pod of the first node goes to the second, which is little used and may go soon.
	start := crowded(190_000, []int64{1}, []int64{2})
	start.Nodes[1].Blocks, start.Nodes[1].Soon = []disrupt.Reason{{Code: disrupt.ConsolidateAfter}}, 9*time.Second
	start.Options.PodPrice = 1_000
	if d := disrupt.Decide(start); len(d.Moves) != 1 || d.Moves[0].Onto == 0 {
		t.Fatalf("the test shows nothing:\n%s", d)
	}
	for part, of := range parts {
		fields := reflect.TypeOf(of(copied(start))).Elem()
		for i := range fields.NumField() {
			if !fields.Field(i).IsExported() {
				continue // a hook of tests
			}
			name := part + "." + fields.Field(i).Name
			t.Run(name, func(t *testing.T) {
				e := new(disrupt.Engine)
				e.Decide(start)
				p := copied(start)
				field := func(p *disrupt.Problem) reflect.Value { return reflect.ValueOf(of(p)).Elem().Field(i) }
				if !vary(field(p)) {
					for _, change := range slices.Sorted(maps.Keys(changes)) {
						p = copied(start)
						changes[change](p)
						if !reflect.DeepEqual(field(p).Interface(), field(copied(start)).Interface()) {
							return // by the change, which TestEngineDecidesLikeDecide tries
						}
					}
					t.Fatalf("no entry of changes varies %s: add one", name)
				}
				if same, about := equal(part, start, p); about && same {
					t.Error("the problems are held to be equal")
				}
				if got, want := bytesOf(t, e.Decide(p)), bytesOf(t, disrupt.Decide(p)); got != want {
					t.Fatalf("the kept decision is not that of Decide:\n%s", cmp.Diff(want, got))
				}
			})
		}
	}
}

func TestAnUnchangedClusterIsNotLookedAtAgain(t *testing.T) {
	p := anyway(fragmented(t, scenario.Fragmentation{Nodes: 40, Pods: 10, Percent: 30, Seed: 1}))
	e := new(disrupt.Engine)
	first := testing.AllocsPerRun(1, func() { disrupt.Decide(p) })
	e.Decide(p)
	for _, name := range []string{"nothing", "a newer generation", "time goes by", "a block is reworded", "time until a block goes passes"} {
		t.Run(name, func(t *testing.T) {
			p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.Other, Detail: "for now"}}
			e.Decide(p)
			q := copied(p)
			changes[name](q)
			if again := testing.AllocsPerRun(1, func() { e.Decide(q) }); again > first/20 {
				t.Errorf("%v allocations for a second look, %v for the first", again, first)
			}
		})
	}
}

func BenchmarkUnchanged(b *testing.B) {
	c := fragmented(b, scenario.Fragmentation{Nodes: 2000, Pods: 15, Percent: 30, Topology: true, Seed: 1})
	e := new(disrupt.Engine)
	e.Decide(anyway(c))
	b.ReportAllocs()
	for b.Loop() {
		q := *c
		q.Generation++
		e.Decide(anyway(&q))
	}
}
