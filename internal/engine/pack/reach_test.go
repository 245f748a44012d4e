package pack

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// The first type that fits is the one that is found when all are looked at in order.
func TestFirstFitIsThatOfAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(-2, 12)
		p := &pool{}
		sh := &shape{pool: p}
		price := catalog.MicroUSD(0)
		for i := range rapid.IntRange(0, 12).Draw(t, "types") {
			p.net = append(p.net, res.Vector{amount.Draw(t, "gpu"), amount.Draw(t, "cpu"), amount.Draw(t, "memory")})
			price += catalog.MicroUSD(rapid.IntRange(0, 3).Draw(t, "more"))
			sh.price = append(sh.price, price)
			sh.order = append(sh.order, i)
		}
		used := res.Vector{amount.Draw(t, "gpu used"), amount.Draw(t, "cpu used"), amount.Draw(t, "memory used")}
		most := catalog.MicroUSD(rapid.IntRange(0, 30).Draw(t, "most"))
		want := -1
		for _, at := range sh.order {
			if used.Fits(p.net[at]) && sh.price[at] <= most {
				want = at
				break
			}
		}
		if got := sh.firstFit([2]int{1, 2}, used, nil, most); got != want {
			t.Fatalf("%v at up to %d in %v for %v: type %d, want %d", used, most, p.net, sh.price, got, want)
		}
	})
}
