package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/settings"
)

// gates says what every feature gate does; a gate that is missing here fails the generation.
func gates() map[string]string {
	return map[string]string{
		"ReservedCapacity":        "Capacity reservations are found, preferred and launched into.",
		"NodeRepair":              "Nodes that are unhealthy for too long are replaced; see [nodes](../nodes.md#health).",
		"SpotToSpotConsolidation": "Spot nodes are replaced by cheaper spot nodes as well; see [consolidation](../consolidation.md).",
		"NodeOverlay":             "Prices and extended resources of instance types can be set by NodeOverlay objects.",
		"StaticCapacity":          "NodePools with spec.replicas keep that many nodes; see [nodes](../nodes.md#a-fixed-number).",
		"CapacityBuffer":          "CapacityBuffers get machines that are kept free for more pods; see [scheduling](../scheduling.md).",
	}
}

func settingsPage(b *bytes.Buffer, _ string) error {
	b.WriteString(`# Settings

Flags of ` + "`kerf controller`" + ` and the environment variables for the same. A flag beats its variable. A value that can't be
read is refused by name at the start; nothing falls back to a default in silence.

With ` + "`--compat=karpenter`" + ` the defaults are those in the column of that name, where there is one: those that come nearest to what Karpenter
does. Each can be set by itself all the same.

`)
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	settings.AddFlags(flags)
	head(b, "flag", "variable", "default", "karpenter", "what it sets")
	flags.VisitAll(func(f *pflag.Flag) {
		env := settings.EnvName(f.Name)
		karpenter, _ := settings.KarpenterDefault(f.Name)
		row(b, code("--"+f.Name), code(env), code(f.DefValue), code(karpenter), strings.TrimSuffix(f.Usage, " [$"+env+"]"))
	})
	return gatesSection(b, flags)
}

func gatesSection(b *bytes.Buffer, flags *pflag.FlagSet) error {
	b.WriteString(`
## Feature gates

` + "`--feature-gates=NodeRepair=true,ReservedCapacity=false`" + `. An unknown gate is a warning, not an error.

`)
	defaults, _, err := settings.Load(flags, func(name string) (string, bool) { return "docs", name == "CLUSTER_NAME" })
	if err != nil {
		return fmt.Errorf("reading the defaults: %w", err)
	}
	says := gates()
	head(b, "gate", "default", "what it does")
	for field, value := range reflect.ValueOf(defaults.FeatureGates).Fields() {
		text, ok := says[field.Name]
		if !ok {
			return fmt.Errorf("feature gate %s: say in internal/docgen/settings.go what it does", field.Name)
		}
		row(b, code(field.Name), strconv.FormatBool(value.Bool()), text)
	}
	return nil
}
