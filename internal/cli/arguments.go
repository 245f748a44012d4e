package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noArguments is for commands that take flags only.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes no arguments, only flags; %q was given (see %s --help)", c.CommandPath(), args[0], c.CommandPath())}
}

// aCommand is for commands that only hold others: what stands after them must be one of those.
func aCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant := "; there are " + strings.Join(names, ", ")
	if near := nearest(args[0], names); near != "" {
		meant = "; did you mean " + near + "?"
	}
	return &usageError{fmt.Errorf("unknown command %q for %q%s (see %s --help)", args[0], c.CommandPath(), meant, c.CommandPath())}
}

// flagError says what is wrong with a flag, and which one was meant.
func flagError(c *cobra.Command, err error) error {
	meant := ""
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok && len(e.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := nearest(strings.TrimLeft(e.GetSpecifiedName(), "-"), names); near != "" {
			meant = "; did you mean --" + near + "?"
		}
	}
	return &usageError{fmt.Errorf("%w%s (see %s --help)", err, meant, c.CommandPath())}
}

// nearest is the name that somebody meant who wrote another one; empty if none is near. Names that the text begins or that
// begin the text are near, and so are those with a typing error for every four letters.
func nearest(text string, names []string) string {
	best, least := "", len(text)/4+1
	for _, name := range names {
		d := distance(text, name)
		if len(text) >= 3 && (strings.HasPrefix(name, text) || strings.HasPrefix(text, name)) {
			d = min(d, 1)
		}
		if d < least || d == least && best == "" {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out, changed or swapped with their neighbour to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = slices.Min([]int{change, rows[i-1][j] + 1, rows[i][j-1] + 1})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
