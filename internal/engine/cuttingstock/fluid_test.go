package cuttingstock

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// modelOf is a model of rows that anyone may launch any kind for; of a group a new node takes caps pods.
func modelOf(rows []Row, kinds []Bin, caps ...int) *Problem {
	m := &Problem{Caps: caps, Sizes: len(rows), Accesses: 1}
	for i := range rows {
		r := &rows[i]
		r.Size, r.Cost = i, 100
		m.Rows = append(m.Rows, r)
	}
	for _, k := range kinds {
		k.Access = 1
		m.Bins = append(m.Bins, k)
	}
	return m
}

func TestFluidDualsAreWhatPodsCostWhenInstancesAreFilledToTheLast(t *testing.T) {
	small := Bin{Price: 100, Net: []float64{10, 20}}
	cases := map[string]struct {
		rows  []Row
		kinds []Bin
		total float64
	}{
		"pods of the instance's own proportions fill it": {
			rows: []Row{{Req: []float64{1, 2}, Demand: 50, Group: -1}}, kinds: []Bin{small}, total: 500,
		},
		"pods of opposite proportions share instances": {
			rows:  []Row{{Req: []float64{2, 1}, Demand: 30, Group: -1}, {Req: []float64{1, 5}, Demand: 30, Group: -1}},
			kinds: []Bin{small}, total: 900,
		},
		"a pod that wants a host of its own pays for the instance alone": {
			rows: []Row{{Req: []float64{1, 2}, Demand: 5, Group: 0}}, kinds: []Bin{small}, total: 500,
		},
		"others fill what such pods leave": {
			rows:  []Row{{Req: []float64{1, 2}, Demand: 5, Group: 0}, {Req: []float64{1, 2}, Demand: 45, Group: -1}},
			kinds: []Bin{small}, total: 500,
		},
		"the kind that is cheapest for its size is launched": {
			rows:  []Row{{Req: []float64{1, 2}, Demand: 200, Group: -1}},
			kinds: []Bin{small, {Price: 150, Net: []float64{20, 40}}}, total: 1500,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFluidDuals(modelOf(tc.rows, tc.kinds, 1))
			total := 0.0
			for i, r := range tc.rows {
				total += p.worth[i] * r.Demand
			}
			if math.Abs(total-tc.total) > 1e-3*tc.total {
				t.Errorf("all pods are worth %g, want %g", total, tc.total)
			}
		})
	}
}

func TestNoBinCarriesMoreThanItCostsByFluidDuals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 6, 4)
		p := newFluidDuals(m)
		for k := range m.Bins {
			for _, row := range append([]int{-1}, p.capped...) {
				if v := p.carries(k, row, p.worth); v > m.Bins[k].Price*1.01 {
					t.Fatalf("kind %d, which costs %g, carries %g with a pod of row %d", k, m.Bins[k].Price, v, row)
				}
			}
		}
	})
}

// drawModel draws a model in which each row fits on the largest kind; a host takes one pod of all rows that are capped.
func drawModel(t *rapid.T, mostRows, mostKinds int) *Problem {
	number := func(name string, from, to int) float64 { return float64(rapid.IntRange(from, to).Draw(t, name)) }
	var rows []Row
	for range rapid.IntRange(1, mostRows).Draw(t, "rows") {
		r := Row{Req: []float64{number("cpu", 1, 6), number("memory", 0, 6)}, Demand: number("demand", 1, 9), Group: -1}
		if rapid.Bool().Draw(t, "capped") {
			r.Group = 0
		}
		rows = append(rows, r)
	}
	kinds := []Bin{{Price: 1000, Net: []float64{10, 10}}}
	for range rapid.IntRange(0, mostKinds-1).Draw(t, "kinds") {
		kinds = append(kinds, Bin{Price: number("price", 50, 2000), Net: []float64{number("cores", 1, 10), number("gigabytes", 1, 10)}})
	}
	return modelOf(rows, kinds, 1)
}
