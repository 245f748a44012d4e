package settings

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Accepts says which texts a setting takes, for those who judge a text before the controller reads it: the schema of the chart's
// values. It refuses nothing that the controller accepts, but for odd spellings of numbers (0x10, +3, -0). Bounds that a pattern can't
// say are the controller's alone.
type Accepts struct {
	// Choices are all that there are. Empty: Pattern says it.
	Choices []string
	// Pattern is a regular expression, the same in Go and in JavaScript. Empty: any text.
	Pattern string
	// Number and Bool tell that a JSON number or boolean, written as text, is such a text too.
	Number, Bool bool
	// Off tells that the JSON boolean false is taken, for off.
	Off bool
	// Whole is set where numbers have no fraction.
	Whole bool
	// Min, Max and Below bound numbers, the last without being one of them; nil: no bound.
	Min, Max, Below *float64
}

// Accepted tells which texts the setting with an environment variable takes; ok is false where there is no such setting.
func Accepted(env string) (a Accepts, ok bool) {
	row, ok := rowOf(env)
	if !ok {
		return Accepts{}, false
	}
	return row.value.accepts, true
}

// Check has the reader of one setting read a text.
//
// Errors: what is wanted instead, without the setting's name; a variable that is no setting.
func Check(env, text string) error {
	row, ok := rowOf(env)
	if !ok {
		return fmt.Errorf("%s is no setting of the controller; docs/reference/settings.md lists them", env)
	}
	return row.value.parse(&Settings{}, text)
}

func rowOf(env string) (setting, bool) {
	rows := table()
	i := slices.IndexFunc(rows, func(r setting) bool { return EnvName(r.flag) == env })
	if i < 0 {
		return setting{}, false
	}
	return rows[i], true
}

// value is how the text of a setting is read, and which texts that are.
type value struct {
	parse   func(*Settings, string) error
	accepts Accepts
}

// Patterns of texts that strconv.ParseBool, ParseInt, ParseFloat and time.ParseDuration read. Helm shows them to whom it refuses a
// value, so that they are short rather than exact.
const (
	boolPattern     = `true|True|TRUE|t|1|false|False|FALSE|f|0`
	wholePattern    = `[0-9]+`
	fractionPattern = `[0-9.]+([eE][+-]?[0-9]+)?`
	durationPattern = `0|([0-9.]+(ns|us|µs|ms|s|m|h))+`
	minutesPattern  = `[0-9.]+[hm][0-9.hms]*|([6-9][0-9]|[0-9]{3,})[0-9.]*s` // a minute at least
)

func anchored(patterns ...string) string { return "^(" + strings.Join(patterns, "|") + ")$" }

func str(f func(*Settings) *string) value {
	return value{parse: func(s *Settings, v string) error { *f(s) = v; return nil }}
}

func boolean(f func(*Settings) *bool) value {
	return value{func(s *Settings, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return unreadable{errors.New("want true or false")}
		}
		*f(s) = b
		return nil
	}, Accepts{Pattern: anchored(boolPattern), Bool: true}}
}

func integer(lo, hi int64, f func(*Settings, int64)) value {
	pattern := wholePattern
	if lo < 0 {
		pattern = "-?" + pattern
	}
	accepts := Accepts{Pattern: anchored(pattern), Number: true, Whole: true, Min: new(float64(lo))}
	if hi <= math.MaxInt32 {
		accepts.Max = new(float64(hi))
	}
	return value{func(s *Settings, v string) error {
		want := fmt.Errorf("want a whole number from %d to %d", lo, hi)
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil:
			return unreadable{want}
		case n < lo || n > hi:
			return want
		}
		f(s, n)
		return nil
	}, accepts}
}

func duration(least time.Duration, f func(*Settings) *time.Duration) value {
	accepts := Accepts{Pattern: anchored(durationPattern)}
	if least == time.Minute {
		accepts.Pattern = anchored(minutesPattern)
	}
	return value{func(s *Settings, v string) error {
		want := fmt.Errorf("want a duration such as 10s or 1m30s, at least %s", least)
		d, err := time.ParseDuration(v)
		switch {
		case err != nil:
			return unreadable{want}
		case d < least:
			return want
		}
		*f(s) = d
		return nil
	}, accepts}
}

func choice(f func(*Settings) *string, allowed ...string) value {
	return value{func(s *Settings, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("want %s", either(allowed))
		}
		*f(s) = v
		return nil
	}, Accepts{Choices: allowed}}
}

// durationBy is read by a reader of its own.
func durationBy(parse func(*Settings, string) error) value {
	return value{parse, Accepts{Pattern: anchored(durationPattern)}}
}

// numberBy is a number from lo to hi, below 0 no bound, or one of some words.
func numberBy(parse func(*Settings, string) error, whole bool, hi float64, words ...string) value {
	a := Accepts{Number: true, Whole: whole, Min: new(float64)}
	if hi >= 0 {
		a.Max = new(hi)
	}
	number := fractionPattern
	if whole {
		number = wholePattern
	}
	if a.Off = slices.Contains(words, "off"); a.Off {
		words = append(words, "false")
	}
	a.Pattern = anchored(append(words, number)...)
	return value{parse, a}
}

// shareBy is a number from 0 to below 1.
func shareBy(parse func(*Settings, string) error) value {
	v := numberBy(parse, false, -1)
	v.accepts.Below = new(1.0)
	return v
}

// textBy is a text of a form; nil: any.
func textBy(form *regexp.Regexp, parse func(*Settings, string) error) value {
	v := value{parse: parse}
	if form != nil {
		v.accepts.Pattern = form.String()
	}
	return v
}

var (
	clusterNamePattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$`)
	endpointPattern    = regexp.MustCompile(`^(|[hH][tT][tT][pP][sS]?://.+)$`)
	base64Pattern      = regexp.MustCompile(`^[A-Za-z0-9+/=\r\n]*$`)
)
