package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// kept are settings of the controller that a simulation has of its own.
var kept = []string{"CLUSTER_NAME", "CLUSTER_CA_BUNDLE", "INTERRUPTION_QUEUE", "METRICS_PORT", "HEALTH_PROBE_PORT", "LEADER_ELECTION_NAMESPACE", "KERF_SHADOW"}

// set takes a setting of the controller, by the name of its environment variable or of its flag; place is where it is from, for
// messages. What it says is read by checkSettings, when all are there: whether a value is accepted hangs on others.
//
// Errors: there is no such setting; it is one that a simulation has of its own.
func (c *Configuration) set(place, name, value string) error {
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	settings.AddFlags(fs)
	variable, names, flag := "", []string(nil), settings.LongName(strings.TrimLeft(name, "-"))
	fs.VisitAll(func(f *pflag.Flag) {
		v := settings.EnvName(f.Name)
		names = append(names, v)
		if name == v || flag == f.Name {
			variable = v
		}
	})
	switch {
	case variable == "":
		return fmt.Errorf("%s: the controller has no setting %q%s (docs/reference/settings.md lists them)",
			place, name, didYouMean(strings.ToUpper(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")), names))
	case slices.Contains(kept, variable):
		return fmt.Errorf("%s: %s is set by the simulation", place, variable)
	}
	c.Settings[variable], c.places[variable] = value, place
	return nil
}

// setPair takes a setting as --set has it.
func (c *Configuration) setPair(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return fmt.Errorf("--set %s: want NAME=VALUE, as in BATCH_IDLE_DURATION=2s", pair)
	}
	return c.set("--set "+pair, name, value)
}

// checkSettings has the controller's reader read all settings that were set. What it warns of is in Warnings.
//
// Errors: those of the reader, each with the place that the setting is from; a gate that there is none of, which would be measured as if
// it were on; the gate of something that is not simulated.
func (c *Configuration) checkSettings() error {
	loaded, warnings, err := settings.Load(pflag.NewFlagSet("controller", pflag.ContinueOnError), func(name string) (string, bool) {
		if name == "CLUSTER_NAME" {
			return simcluster.ClusterName, true
		}
		v, ok := c.Settings[name]
		return v, ok
	})
	switch {
	case err != nil:
		return c.placed(err)
	case loaded.FeatureGates.NodeOverlay:
		return fmt.Errorf("%s: NodeOverlays are not simulated: leave NodeOverlay out of FEATURE_GATES, and give your prices with %s=FILE (docs/prices.md)", c.places["FEATURE_GATES"], priceFile)
	}
	for _, w := range warnings {
		if w.Gate != "" {
			known := settings.GateNames(w.Variable)
			return fmt.Errorf("%s: the controller has no feature gate %q%s (there are %s)", c.places[w.Variable], w.Gate, didYouMean(w.Gate, known), strings.Join(known, ", "))
		}
		c.Warnings = append(c.Warnings, w.Text)
	}
	return nil
}

// placed puts the place that a setting is from before each of the refusals of an error.
func (c *Configuration) placed(err error) error {
	var all []error
	for _, r := range settings.Refusals(err) {
		e := error(r)
		if i := slices.IndexFunc(r.Variables, func(v string) bool { return c.places[v] != "" }); i >= 0 {
			e = fmt.Errorf("%s: %w", c.places[r.Variables[i]], r)
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// didYouMean proposes the nearest of the words that there are; empty where none is near.
func didYouMean(word string, known []string) string {
	if near := requirement.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
