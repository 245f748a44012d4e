package ec2facts

import (
	"fmt"
	"math"
)

// ParseMicro reads a decimal amount ("0.0960000000") as millionths, exactly; what is below a millionth is rounded half up.
// Negative amounts and amounts that do not fit are errors.
func ParseMicro(s string) (int64, error) {
	if s == "" || s == "." {
		return 0, fmt.Errorf("amount %q is not a decimal number", s)
	}
	var micro int64
	seenPoint, decimals, up := false, 0, false
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && !seenPoint:
			seenPoint = true
			continue
		case c < '0' || c > '9':
			return 0, fmt.Errorf("amount %q is not a plain decimal number", s)
		}
		if seenPoint {
			decimals++
			if decimals > 6 {
				up = up || decimals == 7 && c >= '5'
				continue
			}
		}
		if micro > (math.MaxInt64/10_000_000)/10 {
			return 0, fmt.Errorf("amount %q is too large", s)
		}
		micro = micro*10 + int64(c-'0')
	}
	for ; decimals < 6; decimals++ {
		micro *= 10
	}
	if up {
		micro++
	}
	return micro, nil
}
