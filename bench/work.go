package bench

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// shares of pack.DefaultWork that Worked tries; 0 is the first plan.
var shares = []float64{0, 0.25, 0.5, 1, 2, 4}

// Worked is what plans cost, and what they took, by the work that may be spent on improving them.
type Worked struct {
	Input  string
	Pods   int
	Prices []catalog.MicroUSD // by share
	CPU    []time.Duration
}

// Work solves the input with each of the shares of work.
func Work(in Input, o Options) (*Worked, error) {
	p, err := in.Make()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	row := &Worked{Input: in.Name, Pods: len(p.Pending)}
	for _, share := range shares {
		q := *shipped(p)
		q.Options.Work = -1
		if share > 0 {
			q.Options.Work = int64(share * float64(pack.DefaultWork(len(p.Pending))))
		}
		side, _, err := kerfSide(&q, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Name, err)
		}
		row.Prices, row.CPU = append(row.Prices, side.Price), append(row.CPU, side.CPU)
	}
	return row, nil
}

// WorkTable shows what improving plans brings.
func WorkTable(rows []*Worked) *Table {
	t := &Table{Title: "Price of the plan per hour, and CPU seconds, by the work spent on improving it (1 is what ships)", Head: []string{"input", "pods"}}
	for _, share := range shares {
		t.Head = append(t.Head, fmt.Sprintf("%g", share))
	}
	for _, r := range rows {
		cells := []string{r.Input, fmt.Sprint(r.Pods)}
		for i := range shares {
			cells = append(cells, fmt.Sprintf("%s in %s", dollars(r.Prices[i]), seconds(r.CPU[i])))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
