package settings

import (
	"errors"
	"fmt"
)

// Refusal is an error of Load about one setting, or about several that do not go together.
type Refusal struct {
	// Variables are those of the settings, whether they were given as such, as flags or not at all.
	Variables []string
	error
}

// Unwrap is what the reader of the setting says.
func (r *Refusal) Unwrap() error { return r.error }

func refuse(variables []string, format string, args ...any) *Refusal {
	return &Refusal{variables, fmt.Errorf(format, args...)}
}

// Refusals are the parts of an error of Load.
func Refusals(err error) (all []*Refusal) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Refusals(e)...)
		}
		return all
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		all = append(all, r)
	}
	return all
}

// Warning is what Load tells of a setting that it takes.
type Warning struct {
	Variable, Text string
	// Gate is the feature gate that is switched on and that there is none of, where that is what the warning is about.
	Gate string
}

// String is the text.
func (w Warning) String() string { return w.Text }
