package app

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/settings"
)

// reaches is what each difference is in what the loops are wired with.
var reaches = map[string]func(settings.Settings) any{
	"kerf-early-batches":      func(s settings.Settings) any { return s.EarlyBatches },
	"kerf-expire-ahead":       func(s settings.Settings) any { return s.ExpireAhead },
	"kerf-launch-price-bound": func(s settings.Settings) any { return s.LaunchPriceBound },
	"kerf-maintenance-lead":   func(s settings.Settings) any { return s.MaintenanceLead },
	"kerf-measured-memory":    func(s settings.Settings) any { return memoryOverhead(s) },
	"kerf-node-upkeep":        func(s settings.Settings) any { return PackOptions(s).Upkeep },
	"kerf-pod-density":        func(s settings.Settings) any { return s.PodDensity == settings.NetworkDensity },
	"kerf-preference-share":   func(s settings.Settings) any { return PackOptions(s).PreferenceShare },
	"kerf-price-guard":        func(s settings.Settings) any { return PackOptions(s).PriceGuard },
	"kerf-soft-taints":        func(s settings.Settings) any { return s.SoftTaints },
}

func loaded(t *testing.T, env map[string]string) settings.Settings {
	t.Helper()
	env["CLUSTER_NAME"] = "demo"
	s, _, err := settings.Load(pflag.NewFlagSet("test", pflag.ContinueOnError), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each difference reaches the loops by --kerf-compat=karpenter, and by its own switch alone.
func TestEveryDifferenceFromKarpenterReachesTheLoops(t *testing.T) {
	kerf, karpenter := loaded(t, map[string]string{}), loaded(t, map[string]string{"KERF_COMPAT": "karpenter"})
	if karpenter.Decisions != kerf.Decisions || kerf.Decisions == 0 {
		t.Errorf("%d decisions are kept with Karpenter's defaults, %d with Kerf's", karpenter.Decisions, kerf.Decisions)
	}
	for _, d := range settings.Differences() {
		of := reaches[d.Flag]
		if of == nil {
			t.Errorf("--%s: it is not said here what it reaches", d.Flag)
			continue
		}
		alone := loaded(t, map[string]string{settings.EnvName(d.Flag): d.Karpenter})
		if reflect.DeepEqual(of(kerf), of(karpenter)) || !reflect.DeepEqual(of(alone), of(karpenter)) {
			t.Errorf("--%s: %v with Kerf's defaults, %v with Karpenter's, %v by its own switch", d.Flag, of(kerf), of(karpenter), of(alone))
		}
	}
	if len(reaches) != len(settings.Differences()) {
		t.Error("something is here that is no difference")
	}
	// What keeps moves from being made in vain is the same in both.
	if diff := cmp.Diff(ConsolidationOptions(kerf), ConsolidationOptions(karpenter)); diff != "" || !karpenter.Nominate {
		t.Errorf("with Karpenter's defaults pods are moved by other rules: %s", diff)
	}
}
