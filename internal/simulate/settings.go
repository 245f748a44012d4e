package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/settings"
)

// kept are settings of the controller that a simulation has of its own.
var kept = []string{"CLUSTER_NAME", "CLUSTER_CA_BUNDLE", "INTERRUPTION_QUEUE", "METRICS_PORT", "HEALTH_PROBE_PORT", "LEADER_ELECTION_NAMESPACE", "KERF_SHADOW"}

// Set sets a setting of the controller, by the name of its environment variable or of its flag.
//
// Errors: there is no such setting; it is one that a simulation has of its own; its value can't be read.
func (c *Configuration) Set(name, value string) error {
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	settings.AddFlags(fs)
	variable, names := "", []string(nil)
	fs.VisitAll(func(f *pflag.Flag) {
		v := settings.EnvName(f.Name)
		names = append(names, v)
		if name == v || strings.TrimLeft(name, "-") == f.Name {
			variable = v
		}
	})
	switch {
	case variable == "":
		meant := ""
		if near := requirement.Nearest(strings.ToUpper(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")), names); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return fmt.Errorf("the controller has no setting %q%s (docs/reference/settings.md lists them)", name, meant)
	case slices.Contains(kept, variable):
		return fmt.Errorf("%s is set by the simulation", variable)
	}
	with := map[string]string{"CLUSTER_NAME": "kerf", variable: value}
	for k, v := range c.Settings {
		if k != variable {
			with[k] = v
		}
	}
	loaded, _, err := settings.Load(pflag.NewFlagSet("controller", pflag.ContinueOnError), func(k string) (string, bool) { v, ok := with[k]; return v, ok })
	switch {
	case err != nil:
		return err
	case loaded.FeatureGates.NodeOverlay:
		return fmt.Errorf("NodeOverlays are not simulated: leave NodeOverlay out of %s, and give your prices with %s=FILE (docs/prices.md)", variable, priceFile)
	}
	c.Settings[variable] = value
	return nil
}
