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
		"CapacityBuffer":          "CapacityBuffers get instances that are kept free for more pods; see [scheduling](../scheduling.md).",
	}
}

func settingsPage(b *bytes.Buffer, _ string) error {
	b.WriteString(`# Settings

Flags of ` + "`kerf controller`" + ` and the environment variables for the same. A flag beats its variable. A value that can't be
read is refused by name at the start; nothing falls back to a default in silence.

With ` + "`--compat=karpenter`" + ` the defaults are those in the column of that name, where there is one: those that come nearest to what Karpenter
does ([why they differ](#where-kerf-differs-from-karpenter)). Each can be set by itself all the same. A variable of Karpenter's that
holds no number, duration or boolean where one is wanted is then a warning in the log, and its default holds, as in Karpenter; what
ends Karpenter's process (a choice, a gate or an address that is wrong, a number out of range) ends Kerf's too.

Variables that Kerf does not know are ignored. Those that every chart of Karpenter 1.x sets are known or of that kind
(` + "`DISABLE_WEBHOOK`, `WEBHOOK_PORT`, `WEBHOOK_METRICS_PORT`, `SYSTEM_NAMESPACE`, `KUBERNETES_MIN_VERSION`" + `).

`)
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	settings.AddFlags(flags)
	head(b, "flag", "variable", "default", "karpenter", "what it sets")
	flags.VisitAll(func(f *pflag.Flag) {
		env := settings.EnvName(f.Name)
		karpenter, _ := settings.KarpenterDefault(f.Name)
		row(b, code("--"+f.Name), code(env), code(f.DefValue), code(karpenter), strings.TrimSuffix(f.Usage, " [$"+env+"]"))
	})
	differences(b)
	return gatesSection(b, flags)
}

// differences says why defaults differ from Karpenter's, what differs without a switch, and which settings have no effect.
func differences(b *bytes.Buffer) {
	b.WriteString(`
## Where Kerf differs from Karpenter

Each default that differs has a switch; ` + "`--compat=karpenter`" + ` turns all of them at once.

`)
	head(b, "switch", "karpenter", "why Kerf's default is another one")
	for _, d := range settings.Differences() {
		row(b, code("--"+d.Flag), code(d.Karpenter), d.Why)
	}
	b.WriteString(`
What stays Kerf's way even so:

`)
	head(b, "what", "Karpenter", "Kerf", "why")
	for _, d := range withoutSwitch() {
		row(b, d[0], d[1], d[2], d[3])
	}
	b.WriteString(`
## Settings without effect

`)
	head(b, "setting", "why it has none")
	for _, i := range settings.IdleSettings() {
		text := "--" + i.Flag
		if i.Value != "" {
			text += "=" + i.Value
		}
		row(b, code(text), i.Why)
	}
	b.WriteString(`
Karpenter 1.x has no ConfigMap for logs or settings; neither has Kerf. What logs look like is in [logs](../logs.md).
The variables of OpenTelemetry, which turn traces on, are in [traces](../traces.md).
`)
}

// withoutSwitch are differences that can't be turned off: what, there, here, why.
func withoutSwitch() [][4]string {
	return [][4]string{
		{"which nodes are launched and removed", "pods are placed one by one; one move at a time, of at most 100 nodes", "all pods and nodes are decided on together", "it is what Kerf is; objects, budgets and annotations are honoured as there"},
		{"evicting a pod", "costs nothing: any saving is worth a move", "costs $0.001, which a move has to earn back (`--kerf-pod-disruption-cost=off` takes it back)", "a search over all nodes finds a move for each cent that a price falls"},
		{"small savings", "are taken at once", "have to stand for half an hour (`--kerf-small-savings-wait=0s`)", "most that stand so long last"},
		{"pods for which a node was launched", "the scheduler finds it by itself", "are nominated to it (`--kerf-nominate=false`)", "without it the scheduler puts pods where they keep another node from going"},
		{"confirmation of a move", "15 s after it was found, once", "5 s, decision after decision; empty nodes at once", "it only decides which moves are false alarms"},
		{"`consolidateAfter`", "from 0 s", "at least 2 s, and 20 s on a node that no pod has reached yet", "a node whose pods are about to be bound would be removed under them"},
		{"nodes that a move has launched or filled", "may be moved again at once", "are kept for a while ([consolidation](../consolidation.md#held-nodes))", "it only keeps pods from being moved again and again"},
		{"moves that do not come true", "go on", "are held for ten minutes and more", "it only keeps pods from being moved in vain"},
		{"spot prices of a move", "those of the moment", "what runs counts at the least, what would be launched at the most of six hours", "a price of a moment moves no pods"},
		{"replacements of a move", "are waited for up to an hour, and kept when the move is given up", "are waited for ten minutes, and terminated if nothing runs on them", "idle instances cost money"},
		{"a stray taint `karpenter.sh/disrupted`", "is removed, whoever put it there", "is removed where it is Kerf's", "others' taints are theirs"},
		{"`lastPodEventTime` at the start", "is written for every pod that runs", "stays", "each restart would put off all consolidation"},
		{"launches in a zone without capacity", "are tried again after three minutes", "after a time that grows while the shortage lasts", "asking more often finds no capacity"},
		{"texts of events", "its own", "Kerf's own under the same reasons ([events](events.md))", "reasons are what alerts match"},
		{"the hash of an EC2NodeClass", "v5", "a version of its own", "nodes are stamped anew once, and none drifts by it"},
	}
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
	b.WriteString(`
` + "`--aws-feature-gates=NodeClassCEL=true`" + ` is accepted as well: expressions in spec.kubelet of EC2NodeClasses. Kerf does not evaluate them
yet; a class that has one is not ready, and says so.
`)
	return nil
}
