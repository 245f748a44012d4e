package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variableKey is the annotation of a flag that names the environment variable that stands in for it.
const variableKey = "kerf.sh/variable"

// fromVariable makes an environment variable stand in for a flag that is not given, and says so in the flag's help.
func fromVariable(f *pflag.Flag, variable string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[variableKey] = []string{variable}
	says := " [$" + variable + "]"
	if before, after, ok := strings.Cut(f.Usage, " (default"); ok {
		f.Usage = before + says + " (default" + after
		return
	}
	f.Usage += says
}

// readVariables gives the flags of a command that were not given what the environment says.
func readVariables(c *cobra.Command) error {
	var wrong error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names := f.Annotations[variableKey]
		if f.Changed || len(names) == 0 || wrong != nil {
			return
		}
		if err := setFromVariable(f, names[0]); err != nil {
			wrong = &usageError{err}
		}
	})
	return wrong
}

// setFromVariable sets a flag to the value of a variable, if that has one. The flag does not count as given.
func setFromVariable(f *pflag.Flag, variable string) error {
	value := os.Getenv(variable)
	if value == "" || f.Changed {
		return nil
	}
	if err := f.Value.Set(value); err != nil {
		return fmt.Errorf("%s=%q, which stands for --%s: %w", variable, value, f.Name, err)
	}
	return nil
}
