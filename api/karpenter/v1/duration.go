package v1

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Never is the text of a NillableDuration without a value.
const Never = "Never"

// Duration is a length of time that is written back exactly as it was read: 60m stays 60m. A
// length beyond what time.Duration can hold becomes the longest that it can hold (292 years), so
// that every text that the schema admits can be read.
//
// +kubebuilder:validation:Type=string
type Duration struct {
	time.Duration `json:"-"`
	// Raw is the text as it was read; empty for a value made in Go.
	Raw string `json:"-"`
}

// NewDuration returns d as a Duration.
func NewDuration(d time.Duration) Duration { return Duration{Duration: d} }

// UnmarshalJSON reads a duration such as "1h30m".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: want a text such as \"1h30m\": %w", data, err)
	}
	value, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = Duration{Duration: value, Raw: text}
	return nil
}

// MarshalJSON writes the text that was read, or the value in Go's form.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d.Raw != "" {
		return json.Marshal(d.Raw)
	}
	return json.Marshal(d.Duration.String())
}

// NillableDuration is a length of time or Never. It is written back exactly as it was read.
//
// The zero value means Never as well, which is how an object that was built in Go without the
// field is to be read; the API server defaults the field before that can happen to a stored object.
//
// +kubebuilder:validation:Type=string
type NillableDuration struct {
	// Duration is nil for Never.
	Duration *time.Duration `json:"-"`
	// Raw is the text as it was read; empty for a value made in Go.
	Raw string `json:"-"`
}

// NewNillableDuration returns d as a NillableDuration.
func NewNillableDuration(d time.Duration) NillableDuration {
	return NillableDuration{Duration: &d}
}

// NeverDuration returns the NillableDuration that a user writes as "Never".
func NeverDuration() NillableDuration { return NillableDuration{Raw: Never} }

// MustParseNillableDuration reads text and panics when it cannot; for constants and tests.
func MustParseNillableDuration(text string) NillableDuration {
	var d NillableDuration
	if err := d.parse(text); err != nil {
		panic(err)
	}
	return d
}

// IsNever reports whether d has no value.
func (d NillableDuration) IsNever() bool { return d.Duration == nil }

// String returns the text of d as it would be written.
func (d NillableDuration) String() string {
	switch {
	case d.Raw != "":
		return d.Raw
	case d.Duration == nil:
		return Never
	default:
		return d.Duration.String()
	}
}

// UnmarshalJSON reads a duration such as "1h30m" or "Never".
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: want a text such as \"1h30m\" or \"Never\": %w", data, err)
	}
	return d.parse(text)
}

// MarshalJSON writes the text that was read, or else Never or the value in Go's form.
func (d NillableDuration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

func (d *NillableDuration) parse(text string) error {
	if text == Never {
		*d = NeverDuration()
		return nil
	}
	value, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = NillableDuration{Duration: &value, Raw: text}
	return nil
}

// ParseDuration reads a duration in Go's syntax. Whole hours, minutes and seconds that add up to
// more than time.Duration can hold give the longest duration instead of an error.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if isWholeUnits(text) {
		return math.MaxInt64, nil
	}
	return 0, fmt.Errorf("duration %q: write hours, minutes and seconds such as \"1h30m\": %w", text, err)
}

// isWholeUnits reports whether text is what the schema admits: digits and a unit, repeated.
func isWholeUnits(text string) bool {
	digits := 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case digits > 0 && strings.ContainsRune("smh", r):
			digits = 0
		default:
			return false
		}
	}
	return text != "" && digits == 0
}
