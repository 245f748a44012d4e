package pack

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// modelOf is a model of rows that anyone may launch any kind for; of a group a new node takes caps pods.
func modelOf(rows []demandRow, kinds []bin, caps ...int) *cuttingStock {
	m := &cuttingStock{caps: caps, sizes: len(rows), places: [][]*shape{nil}}
	for i := range rows {
		r := &rows[i]
		r.size, r.lots = i, []*itemType{{value: 100, total: int(r.demand)}}
		m.rows = append(m.rows, r)
	}
	for _, k := range kinds {
		k.access = 1
		m.bins = append(m.bins, k)
	}
	return m
}

func TestPriorIsWhatPodsCostWhenInstancesAreFilledToTheLast(t *testing.T) {
	small := bin{price: 100, net: []float64{10, 20}}
	cases := map[string]struct {
		rows  []demandRow
		kinds []bin
		total float64
	}{
		"pods of the instance's own proportions fill it": {
			rows: []demandRow{{req: []float64{1, 2}, demand: 50, group: -1}}, kinds: []bin{small}, total: 500,
		},
		"pods of opposite proportions share instances": {
			rows:  []demandRow{{req: []float64{2, 1}, demand: 30, group: -1}, {req: []float64{1, 5}, demand: 30, group: -1}},
			kinds: []bin{small}, total: 900,
		},
		"a pod that wants a host of its own pays for the instance alone": {
			rows: []demandRow{{req: []float64{1, 2}, demand: 5, group: 0}}, kinds: []bin{small}, total: 500,
		},
		"others fill what such pods leave": {
			rows:  []demandRow{{req: []float64{1, 2}, demand: 5, group: 0}, {req: []float64{1, 2}, demand: 45, group: -1}},
			kinds: []bin{small}, total: 500,
		},
		"the kind that is cheapest for its size is launched": {
			rows:  []demandRow{{req: []float64{1, 2}, demand: 200, group: -1}},
			kinds: []bin{small, {price: 150, net: []float64{20, 40}}}, total: 1500,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFluidDuals(modelOf(tc.rows, tc.kinds, 1))
			total := 0.0
			for i, r := range tc.rows {
				total += p.worth[i] * r.demand
			}
			if math.Abs(total-tc.total) > 1e-3*tc.total {
				t.Errorf("all pods are worth %g, want %g", total, tc.total)
			}
		})
	}
}

func TestNoKindCarriesMoreThanItCostsByThePrior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 6, 4)
		p := newFluidDuals(m)
		for k := range m.bins {
			for _, row := range append([]int{-1}, p.capped...) {
				if v := p.carries(k, row, p.worth); v > m.bins[k].price*1.01 {
					t.Fatalf("kind %d, which costs %g, carries %g with a pod of row %d", k, m.bins[k].price, v, row)
				}
			}
		}
	})
}

// drawModel draws a model in which each row fits on the largest kind; a host takes one pod of all rows that are capped.
func drawModel(t *rapid.T, mostRows, mostKinds int) *cuttingStock {
	number := func(name string, from, to int) float64 { return float64(rapid.IntRange(from, to).Draw(t, name)) }
	var rows []demandRow
	for range rapid.IntRange(1, mostRows).Draw(t, "rows") {
		r := demandRow{req: []float64{number("cpu", 1, 6), number("memory", 0, 6)}, demand: number("demand", 1, 9), group: -1}
		if rapid.Bool().Draw(t, "capped") {
			r.group = 0
		}
		rows = append(rows, r)
	}
	kinds := []bin{{price: 1000, net: []float64{10, 10}}}
	for range rapid.IntRange(0, mostKinds-1).Draw(t, "kinds") {
		kinds = append(kinds, bin{price: number("price", 50, 2000), net: []float64{number("cores", 1, 10), number("gigabytes", 1, 10)}})
	}
	return modelOf(rows, kinds, 1)
}
