package res_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestFormat(t *testing.T) {
	cases := map[string]struct {
		resource string
		amount   int64
		want     string
	}{
		"whole cores":        {res.CPU, 4000, "4"},
		"part of a core":     {res.CPU, 250, "250m"},
		"cores and a part":   {res.CPU, 1500, "1.5"},
		"no cores":           {res.CPU, 0, "0"},
		"whole gibibytes":    {res.Memory, 2 << 30, "2Gi"},
		"gibibytes and half": {res.Memory, 7 << 29, "3.5Gi"},
		"bytes":              {res.Memory, 1000, "1000"},
		"huge pages":         {"hugepages-2Mi", 4 << 20, "4Mi"},
		"negative":           {res.Memory, -(2 << 30), "-2Gi"},
		"counts":             {"nvidia.com/gpu", 8, "8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := res.Format(tc.resource, tc.amount); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestLayoutDependsOnNamesOnly(t *testing.T) {
	a, b := res.NewSchema("memory", "cpu", "cpu"), res.NewSchema("cpu", "memory")
	l := res.List{"cpu": 3, "memory": 4, "unknown": 5}
	if diff := cmp.Diff(a.Vector(l), b.Vector(l)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(res.List{"cpu": 3, "memory": 4}, a.List(a.Vector(l))); diff != "" {
		t.Error(diff)
	}
}

func TestTimesIsHowOftenAddingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Int64Range(0, 20), 3, 3)
		v, room := res.Vector(amounts.Draw(t, "v")), res.Vector(amounts.Draw(t, "room"))
		limit := rapid.IntRange(0, 30).Draw(t, "limit")
		want := 0
		for left := room.Clone(); want < limit && v.Fits(left); want++ {
			left.Sub(v, 1)
		}
		if got := v.Times(room, limit); got != want {
			t.Fatalf("%v fits %d times in %v, not %d", v, want, room, got)
		}
	})
}

func TestSumsStopInsteadOfWrapping(t *testing.T) {
	v := res.Vector{math.MaxInt64 - 1, math.MinInt64 + 1}
	v.Add(res.Vector{5, -5}, 3)
	if diff := cmp.Diff(res.Vector{math.MaxInt64, math.MinInt64}, v); diff != "" {
		t.Error(diff)
	}
	w := res.Vector{-2}
	w.Sub(res.Vector{math.MaxInt64}, 2)
	if w[0] != math.MinInt64 {
		t.Errorf("got %d", w[0])
	}
}
