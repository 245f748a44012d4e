package cli

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// span is the value of a flag that takes a length of time, in the units of Go and in days and weeks: 90s, 36h, 1d, 1d12h, 2w.
type span struct{ value *time.Duration }

// spanFlag makes the value of a flag.
func spanFlag(value *time.Duration, def time.Duration) *span {
	*value = def
	return &span{value}
}

// String is part of pflag.Value.
func (s *span) String() string {
	if s.value == nil {
		return ""
	}
	return s.value.String()
}

// Type is part of pflag.Value.
func (s *span) Type() string { return "duration" }

// days are the weeks and days that a length of time begins with.
var days = regexp.MustCompile(`^(?:([0-9]+(?:\.[0-9]+)?)w)?(?:([0-9]+(?:\.[0-9]+)?)d)?`)

// Set is part of pflag.Value.
func (s *span) Set(text string) error {
	const day = 24 * time.Hour
	wrong := fmt.Errorf("want a length of time, as in 90s, 30m, 36h, 1d or 1w")
	m := days.FindStringSubmatch(text)
	sum := 0.0
	for i, unit := range []time.Duration{7 * day, day} {
		if m[i+1] != "" {
			n, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return wrong
			}
			sum += n * float64(unit)
		}
	}
	rest := text[len(m[0]):]
	if rest != "" || m[0] == "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 && m[0] != "" {
			return wrong
		}
		sum += float64(d)
	}
	if math.Abs(sum) > math.MaxInt64/2 {
		return wrong
	}
	*s.value = time.Duration(sum)
	return nil
}

// part is the value of a flag that takes a part of a whole: 0.05, or 5%.
type part struct{ value *float64 }

// partFlag makes the value of a flag.
func partFlag(value *float64, def float64) *part {
	*value = def
	return &part{value}
}

// String is part of pflag.Value.
func (p *part) String() string {
	if p.value == nil {
		return ""
	}
	return strconv.FormatFloat(*p.value, 'g', -1, 64)
}

// Type is part of pflag.Value.
func (p *part) Type() string { return "float" }

// Set is part of pflag.Value.
func (p *part) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number, as in 0.05 or 5%%")
	}
	if percent {
		v /= 100
	}
	*p.value = v
	return nil
}

// hourly is the value of a flag that is a part of instances in an hour. Above all of them it wants a percent sign: who writes 5 means 5%.
type hourly struct{ *part }

// String is part of pflag.Value.
func (h *hourly) String() string {
	if h.part == nil || h.value == nil {
		return ""
	}
	if *h.value > 1 {
		return strconv.FormatFloat(*h.value*100, 'g', -1, 64) + "%"
	}
	return h.part.String()
}

// Set is part of pflag.Value.
func (h *hourly) Set(text string) error {
	before := *h.value
	if err := h.part.Set(text); err != nil {
		return err
	}
	if v := *h.value; v > 1 && !strings.Contains(text, "%") {
		*h.value = before
		return fmt.Errorf("%[1]g is %[2]g %% of the instances an hour; write %[1]g%% for %[1]g %% an hour, or %[2]g%%", v, v*100)
	}
	return nil
}
