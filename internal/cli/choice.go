package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// choice is the value of a flag that takes one of a few words.
type choice struct {
	value *string
	of    []string
}

// choiceFlag makes a flag of a command that takes one of a few words, which help and completion list.
func choiceFlag(value *string, def string, of ...string) *choice {
	*value = def
	return &choice{value, of}
}

// String is part of pflag.Value.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Type is part of pflag.Value.
func (c *choice) Type() string { return "string" }

// Set is part of pflag.Value.
func (c *choice) Set(v string) error {
	if !slices.Contains(c.of, v) {
		if near := nearest(v, c.of); near != "" {
			return fmt.Errorf("want %s; did you mean %s?", oneOf(c.of), near)
		}
		return fmt.Errorf("want %s", oneOf(c.of))
	}
	*c.value = v
	return nil
}

// words is the completion of the choice.
func (c *choice) words() cobra.CompletionFunc {
	return cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)
}
