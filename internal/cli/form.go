package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// form is how a command answers: "text" for people, "json" for programs.
type form string

// register adds the flag of a command's form; usage says what has that form.
func (f *form) register(flags *pflag.FlagSet, usage string) {
	flags.StringVarP((*string)(f), "output", "o", "text", usage)
}

// check returns a usageError for a form that there is not.
func (f form) check() error {
	if f != "text" && f != "json" {
		return &usageError{fmt.Errorf("--output=%q: want text or json", string(f))}
	}
	return nil
}

// write prints an answer in its form; text prints it for people.
func (f form) write(w io.Writer, answer any, text func(io.Writer) error) error {
	if f != "json" {
		return text(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(answer)
}
