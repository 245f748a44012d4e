package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// HoursPerMonth is what an amount per hour is multiplied by for an amount a month: a year's hours over twelve, as AWS has it.
const HoursPerMonth = 730

// Money writes amounts of a currency. It is what they begin with, such as $.
type Money string

// Amount writes an amount: in cents below 100, in whole units from there on, and with four digits below a cent, or six where four
// would all be zero. What is less than a millionth is 0.
func (m Money) Amount(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "−", -v
	}
	sign += string(m)
	switch {
	case v < 0.0000005:
		return string(m) + "0"
	case v < 0.00005:
		return sign + strconv.FormatFloat(v, 'f', 6, 64)
	case v < 0.01:
		return sign + strconv.FormatFloat(v, 'f', 4, 64)
	case v < 99.995:
		return sign + strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return sign + grouped(math.Round(v))
	}
}

// PerHour writes an amount of an hour.
func (m Money) PerHour(v float64) string { return m.Amount(v) + "/h" }

// digitsOf is how many digits after the point tell two amounts apart that are a step apart.
func digitsOf(step float64) int {
	digits := 0
	for p := step; digits < 9 && math.Abs(p-math.Round(p)) > 1e-6*p; p *= 10 {
		digits++
	}
	return digits
}

// NumberBy writes a number with as many digits as tell it from one that is a step away, so that no two labels of a scale are alike.
func NumberBy(v, step float64) string {
	if digits := digitsOf(step); digits > 0 && v != 0 {
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
	return grouped(v)
}

// PerHourBy writes an amount of an hour as NumberBy does, and cents where there is a part of a unit.
func (m Money) PerHourBy(v, step float64) string {
	if digitsOf(step) == 1 {
		step /= 10
	}
	return string(m) + NumberBy(v, step) + "/h"
}

// Number writes a number with at most two digits after the point.
func Number(v float64) string {
	if math.Abs(v) >= 1000 {
		return grouped(math.Round(v))
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Percent writes a part of a whole: 0.123 is "12 %", below ten with one digit after the point.
func Percent(part float64) string {
	if p := part * 100; math.Abs(p) < 9.95 && p != math.Trunc(p) {
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(math.Round(part*100), 'f', 0, 64) + " %"
}

// Elapsed writes a time since a beginning in its two largest units: "90 s" is "1m30s", 26 hours are "1d2h".
func Elapsed(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	units := []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	var b strings.Builder
	written := 0
	for _, u := range units {
		n := d / u.size
		if n == 0 {
			if written > 0 {
				break
			}
			continue
		}
		fmt.Fprintf(&b, "%d%s", n, u.name)
		d -= n * u.size
		if written++; written == 2 {
			break
		}
	}
	return b.String()
}

// grouped writes a whole number with commas between thousands.
func grouped(v float64) string {
	digits := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var b strings.Builder
	if v < 0 {
		b.WriteString("−")
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
