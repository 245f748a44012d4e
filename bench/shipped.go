package bench

import (
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/settings"
)

// defaults are the controller's settings where nobody has set any.
func defaults() settings.Settings {
	s, _, err := settings.Load(pflag.NewFlagSet("defaults", pflag.ContinueOnError), func(name string) (string, bool) { return "bench", name == "CLUSTER_NAME" })
	if err != nil {
		panic(err) // the defaults are the program's own
	}
	return s
}

// shipped is the problem with the options that the controller sets by default; what the input is about stays.
func shipped(p *pack.Problem) *pack.Problem {
	o, out := app.PackOptions(defaults()), *p
	o.WellKnown, o.IgnorePreferences, o.MinValuesBestEffort = p.Options.WellKnown, p.Options.IgnorePreferences, p.Options.MinValuesBestEffort
	out.Options = o
	return &out
}

// restrained are the options of consolidation that the controller sets by default. What it learns of its cluster in time, how
// long nodes stay and which savings did not last, has not been learned.
func restrained() disrupt.Options { return app.ConsolidationOptions(defaults()) }
