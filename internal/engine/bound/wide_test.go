package bound

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestWideNumbersAgreeWithBigOnes(t *testing.T) {
	toBig := func(a wide) *big.Int {
		b := new(big.Int).Lsh(new(big.Int).SetUint64(a.hi), 64)
		return b.Add(b, new(big.Int).SetUint64(a.lo))
	}
	top := toBig(widest)
	capped := func(b *big.Int) *big.Int {
		if b.Cmp(top) > 0 {
			return top
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) uint64 {
			return rapid.Uint64().Draw(t, name) >> rapid.IntRange(0, 63).Draw(t, "shift")
		}
		a, b, n := wide{draw("hi"), draw("lo")}, wide{draw("hi"), draw("lo")}, draw("n")
		shift := rapid.IntRange(0, 63).Draw(t, "by")
		equal := func(what string, got wide, want *big.Int) {
			if toBig(got).Cmp(want) != 0 {
				t.Fatalf("%s of %v and %v, %d: %v, want %s", what, a, b, n, got, want)
			}
		}
		bigN := new(big.Int).SetUint64(n)
		equal("sum", a.add(b), capped(new(big.Int).Add(toBig(a), toBig(b))))
		equal("product", product(a.lo, n), new(big.Int).Mul(new(big.Int).SetUint64(a.lo), bigN))
		equal("multiple", a.times(n), capped(new(big.Int).Mul(toBig(a), bigN)))
		equal("shift", a.shift(shift), capped(new(big.Int).Lsh(toBig(a), uint(shift))))
		difference := new(big.Int).Sub(toBig(a), toBig(b))
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		equal("difference", a.minus(b), difference)
		if a.less(b) != (toBig(a).Cmp(toBig(b)) < 0) {
			t.Fatal(fmt.Sprint(a, b))
		}
		if got, ok := a.whole(); ok {
			want := new(big.Int).Add(toBig(a), big.NewInt(1<<fine-1))
			if want.Rsh(want, fine).Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("whole of %v: %d, want %s", a, got, want)
			}
		} else if a.hi < 1<<38 {
			t.Fatalf("whole of %v does not fit", a)
		}
	})
}
