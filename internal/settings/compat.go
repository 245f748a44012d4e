package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// compatFlag is read before all others: their defaults hang on it.
const compatFlag = "kerf-compat"

// Difference is a default in which Kerf differs from Karpenter 1.14.
type Difference struct {
	// Flag sets it; Karpenter is its default with --kerf-compat=karpenter, which comes nearest to what Karpenter does.
	Flag, Karpenter string
	// Why Kerf's own default is another one, in one sentence.
	Why string
}

// Differences are the defaults that --kerf-compat=karpenter takes back, each with the switch that does so alone.
//
// What keeps moves from being made in vain is not among them, although Karpenter has none of it: what evicting a pod costs,
// the wait of small savings, and nominations. Karpenter tries one move at a time and finds few; a search over all nodes finds
// one for each cent that a spot price falls, so that without a price on evictions whole clusters move for it. Nor are decisions
// that are kept for "kerf explain": they take memory, and change nothing in the cluster.
func Differences() []Difference {
	return []Difference{
		{"kerf-early-batches", "false", "a pod that comes alone, or an application whose pods have all come, need not wait a second for company"},
		{"kerf-expire-ahead", "0s", "nodes that were launched together would otherwise all go in the same minute"},
		{"kerf-launch-price-bound", "off", "EC2 weighs price and capacity by itself, and otherwise takes pools that are dearer than what the plan counted on"},
		{"kerf-maintenance-lead", "8760h", "work is announced two weeks ahead, and is often called off"},
		{"kerf-measured-memory", "false", "a flat share leaves memory unused on large instances and promises too much on small ones"},
		{"kerf-node-upkeep", "0", "each node also costs its disk, so that many small ones are dearer than their instances"},
		{"kerf-pod-density", InterfaceDensity, "with prefix delegation or custom networking, interfaces say nothing about how many pods a node takes"},
		{"kerf-preference-share", "unlimited", "a preference that doubles the bill is seldom meant so"},
		{"kerf-soft-taints", "false", "pods that reach a node which is about to go have to move again"},
		{"kerf-price-guard", "off", "in a shortage the capacity that is left can cost many times the usual price"},
	}
}

// KarpenterDefault is the default of a flag with --kerf-compat=karpenter; ok is false where it is Kerf's.
func KarpenterDefault(flag string) (value string, ok bool) {
	all := Differences()
	if i := slices.IndexFunc(all, func(d Difference) bool { return d.Flag == flag }); i >= 0 {
		return all[i].Karpenter, true
	}
	return "", false
}

// Idle is a setting that is accepted without effect.
type Idle struct {
	Flag string
	// Value is the one without effect; empty: any.
	Value string
	Why   string
	// Quiet ones are set by every chart, so that a warning would say nothing.
	Quiet bool
}

// IdleSettings are the settings that are accepted without effect, and why.
func IdleSettings() []Idle {
	return []Idle{
		{Flag: "karpenter-service", Why: "it named the certificate of webhooks; no Karpenter since 1.1 has any, nor has Kerf", Quiet: true},
		{Flag: "ignore-dra-requests", Value: "false", Why: "Kerf does not allocate devices for resource claims yet: their pods are refused with a FailedScheduling event either way"},
	}
}

// idle is the warning about a setting that was given and has no effect; empty where there is nothing to say. The value was read
// before.
func (row *setting) idle(source, value string) string {
	if source == "" || value == row.def {
		return ""
	}
	for _, i := range IdleSettings() {
		if i.Flag != row.flag || i.Quiet {
			continue
		}
		if b, err := strconv.ParseBool(value); i.Value != "" && (err != nil || strconv.FormatBool(b) != i.Value) {
			continue
		}
		return fmt.Sprintf("%s=%q has no effect: %s", source, value, i.Why)
	}
	return ""
}

// fallsBack reports whether Karpenter takes the default where a variable was refused with an error: where it is no number,
// duration or boolean at all. A number out of range ends its process, and so do choices, gates and addresses that are wrong.
// Kerf's own settings have no past, so they are never guessed.
func (row *setting) fallsBack(err error) bool {
	_, text := errors.AsType[unreadable](err)
	return text && !strings.HasPrefix(row.flag, "kerf-")
}
