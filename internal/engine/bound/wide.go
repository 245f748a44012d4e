package bound

import (
	"cmp"
	"math/bits"
)

// wide is an unsigned number of 128 bits. Sums and products that would not fit stop at the largest.
type wide struct{ hi, lo uint64 }

var widest = wide{^uint64(0), ^uint64(0)}

// product is a*b.
func product(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (a wide) add(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, over := bits.Add64(a.hi, b.hi, carry)
	if over != 0 {
		return widest
	}
	return wide{hi, lo}
}

// minus is a-b, or zero when b is larger.
func (a wide) minus(b wide) wide {
	if a.less(b) {
		return wide{}
	}
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return wide{hi, lo}
}

func (a wide) less(b wide) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

func (a wide) compare(b wide) int { return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo)) }

func (a wide) zero() bool { return a.hi == 0 && a.lo == 0 }

// times is a*n.
func (a wide) times(n uint64) wide {
	over, hi := bits.Mul64(a.hi, n)
	carry, lo := bits.Mul64(a.lo, n)
	hi, c := bits.Add64(hi, carry, 0)
	if over != 0 || c != 0 {
		return widest
	}
	return wide{hi, lo}
}

// shift is a*2^n; n is less than 64.
func (a wide) shift(n int) wide { return a.times(1 << n) }

// whole is a/2^fine, rounded up; false when that does not fit 63 bits.
func (a wide) whole() (int64, bool) {
	a = a.add(wide{0, 1<<fine - 1})
	if a == widest || a.hi>>(fine-1) != 0 {
		return 0, false
	}
	return int64(a.hi<<(64-fine) | a.lo>>fine), true
}
