package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func load(t *testing.T, env map[string]string, args ...string) (Settings, []Warning, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(fs, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
}

func TestLoadDefaults(t *testing.T) {
	s, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "demo"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("err %v, warnings %v", err, warnings)
	}
	want := Settings{
		MetricsPort: 8080, HealthProbePort: 8081, KubeClientQPS: 200, KubeClientBurst: 300, DisableControllerWarmup: true,
		LeaderElectionName: "karpenter-leader-election", MemoryLimit: -1, CPURequests: 1000, LogLevel: "info",
		LogOutputPaths: "stdout", LogErrorOutputPaths: "stderr", BatchMaxDuration: 10 * time.Second, BatchIdleDuration: time.Second,
		PreferencePolicy: Respect, PreferenceShare: 0.02, MinValuesPolicy: Strict, IgnoreDRARequests: true, FeatureGates: Gates{ReservedCapacity: true},
		ClusterName: "demo", VMMemoryOverheadPercent: 0.075, AMIRefreshInterval: time.Minute, SubnetRefreshInterval: time.Minute,
		LaunchTimeout: 5 * time.Minute, RegistrationTimeout: 15 * time.Minute, PodDensity: NetworkDensity, LaunchPriceBound: 10, PriceGuard: 5, NodeUpkeep: 2_200,
		Decisions: 16, DecisionsMemory: 32 << 20,
		Rebalance: Observe, MaintenanceLead: 24 * time.Hour, QueueSilence: 10 * time.Minute, QueueReceivers: 4, SmallSavingsWait: 30 * time.Minute, ExpireAhead: time.Hour,
		Compat: KerfDefaults, Nominate: true, SoftTaints: true, EarlyBatches: true, MeasuredMemory: true, PodDisruptionCost: 1_000,
	}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// One setting makes all defaults Karpenter's; what is set holds all the same.
func TestTheDefaultsOfKarpenter(t *testing.T) {
	got, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter", "KERF_PRICE_GUARD": "3"}, "--kerf-maintenance-lead=1h")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("err %v, warnings %v", err, warnings)
	}
	want, _, err := load(t, map[string]string{"CLUSTER_NAME": "demo"})
	if err != nil {
		t.Fatal(err)
	}
	want.Compat, want.ExpireAhead, want.MaintenanceLead, want.PreferenceShare = KarpenterDefaults, 0, time.Hour, -1
	want.EarlyBatches, want.MeasuredMemory, want.SoftTaints = false, false, false
	want.NodeUpkeep, want.LaunchPriceBound, want.PriceGuard, want.PodDensity = 0, 0, 3, InterfaceDensity
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, d := range Differences() {
		if !strings.HasPrefix(d.Flag, "kerf-") || !Known(EnvName(d.Flag)) || d.Why == "" {
			t.Errorf("%s: Karpenter has this setting itself, or nobody has, or it is not said why it differs", d.Flag)
		}
	}
}

// Karpenter falls back to the default in silence where a number, a duration or a boolean can't be read; here it is told. What
// ends its process ends this one too, and what is given as a flag or is Kerf's own is refused all the same.
func TestMalformedVariablesWithTheDefaultsOfKarpenter(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		refused     bool
	}{
		{"BATCH_MAX_DURATION", "soon", false}, {"METRICS_PORT", "http", false}, {"METRICS_PORT", "70000", true}, {"ISOLATED_VPC", "yes", false}, {"KUBE_CLIENT_QPS", "1.5", false},
		{"MEMORY_LIMIT", "1Gi", false}, {"CPU_REQUESTS", "1", false}, {"VM_MEMORY_OVERHEAD_PERCENT", "7 %", false}, {"VM_MEMORY_OVERHEAD_PERCENT", "-1", true},
		{"AMI_REFRESH_INTERVAL", "5", false}, {"AMI_REFRESH_INTERVAL", "5s", true}, {"LOG_LEVEL", "loud", true}, {"PREFERENCE_POLICY", "respect", true}, {"MIN_VALUES_POLICY", "x", true},
		{"FEATURE_GATES", "NodeRepair", true}, {"AWS_FEATURE_GATES", "NodeClassCEL=maybe", true}, {"CLUSTER_ENDPOINT", "abc", true}, {"RESERVED_ENIS", "-1", true}, {"RESERVED_ENIS", "one", false},
		{"KERF_PRICE_GUARD", "x", true}, {"KERF_NOMINATE", "x", true}, {"KERF_EXPIRE_AHEAD", "x", true},
	} {
		s, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter", tc.name: tc.value})
		if tc.refused {
			if err == nil || !strings.Contains(err.Error(), tc.name+"=") {
				t.Errorf("%s=%q: %v", tc.name, tc.value, err)
			}
			continue
		}
		if tc.name == "CPU_REQUESTS" {
			if err != nil || s.CPURequests != 1 {
				t.Errorf("CPU_REQUESTS: %v", err)
			}
			continue
		}
		want, _, _ := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter"})
		if err != nil || s != want || len(warnings) != 1 || !strings.Contains(warnings[0].Text, fmt.Sprintf("%s=%q", tc.name, tc.value)) || !strings.Contains(warnings[0].Text, "its default") {
			t.Errorf("%s=%q: %v, %q, not the defaults: %v", tc.name, tc.value, err, warnings, s != want)
		}
		if _, _, err := load(t, map[string]string{"CLUSTER_NAME": "demo", tc.name: tc.value}); err == nil {
			t.Errorf("%s=%q is accepted with Kerf's defaults", tc.name, tc.value)
		}
	}
	s, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter", "BATCH_IDLE_DURATION": "1m"})
	if err != nil || s.BatchIdleDuration != time.Minute || len(warnings) != 1 {
		t.Errorf("a silence longer than the whole wait: %v, %q", err, warnings)
	}
	if _, _, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter"}, "--batch-max-duration=soon"); err == nil {
		t.Error("a flag that can't be read is accepted")
	}
	if _, _, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "KERF_COMPAT": "upstream"}); err == nil || !strings.Contains(err.Error(), "kerf or karpenter") {
		t.Errorf("defaults of nobody: %v", err)
	}
}

func TestFlagBeatsVariable(t *testing.T) {
	s, _, err := load(t, map[string]string{"CLUSTER_NAME": "a", "METRICS_PORT": "1"}, "--cluster-name=b", "--metrics-port=2", "--isolated-vpc")
	if err != nil {
		t.Fatal(err)
	}
	if s.ClusterName != "b" || s.MetricsPort != 2 || !s.IsolatedVPC {
		t.Errorf("got %q, %d, %v", s.ClusterName, s.MetricsPort, s.IsolatedVPC)
	}
}

func TestMetricsLeftOut(t *testing.T) {
	for text, want := range map[string]Series{"": {}, "pods": {Pods: true}, " nodes ,, conditions": {Nodes: true, Conditions: true}} {
		s, _, err := load(t, map[string]string{"CLUSTER_NAME": "a", "KERF_METRICS_WITHOUT": text})
		if err != nil || s.LeftOut() != want {
			t.Errorf("%q leaves out %+v, %v", text, s.LeftOut(), err)
		}
	}
	s, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "a", "DISABLE_CLUSTER_STATE_OBSERVABILITY": "true"})
	if err != nil || len(warnings) > 0 || s.LeftOut() != (Series{Pods: true, Nodes: true, Conditions: true}) {
		t.Errorf("without observability: %+v, %q, %v", s.LeftOut(), warnings, err)
	}
}

func TestUnknownGateIsAWarning(t *testing.T) {
	s, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "a", "FEATURE_GATES": "NodeRepair=true, Teleport=true,ReservedCapacity=false,SpotToSpotConsolidation=true"})
	if err != nil {
		t.Fatal(err)
	}
	if !s.FeatureGates.NodeRepair || s.FeatureGates.ReservedCapacity || !s.FeatureGates.SpotToSpotConsolidation {
		t.Errorf("gates %+v", s.FeatureGates)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "Teleport") {
		t.Errorf("warnings %q", warnings)
	}
	if w := warnings[0]; w.Gate != "Teleport" || len(GateNames(w.Variable)) != 6 {
		t.Errorf("the warning is about %q, one of %q", w.Gate, GateNames(w.Variable))
	}
	_, warnings, err = load(t, map[string]string{"CLUSTER_NAME": "a", "FEATURE_GATES": "Novel=false", "AWS_FEATURE_GATES": "NodeRepair=true"})
	if err != nil || len(warnings) != 1 || warnings[0].Gate != "NodeRepair" || !slices.Equal(GateNames(warnings[0].Variable), []string{"NodeClassCEL"}) {
		t.Errorf("of AWS it warns of %+v, %v", warnings, err)
	}
}

func TestMalformedValuesAreRefusedByName(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"no cluster name":        {map[string]string{}, []string{"CLUSTER_NAME"}},
		"no such metrics":        {map[string]string{"CLUSTER_NAME": "a", "KERF_METRICS_WITHOUT": "pods,claims"}, []string{"KERF_METRICS_WITHOUT", "claims", "pods, nodes or conditions"}},
		"bad duration":           {map[string]string{"BATCH_MAX_DURATION": "10"}, []string{`BATCH_MAX_DURATION="10"`, "10s"}},
		"idle longer than max":   {map[string]string{"BATCH_IDLE_DURATION": "1m"}, []string{"BATCH_IDLE_DURATION=1m0s"}},
		"one port for two":       {map[string]string{"METRICS_PORT": "8081"}, []string{"METRICS_PORT and HEALTH_PROBE_PORT are both 8081: give each a port of its own"}},
		"two at once":            {map[string]string{"METRICS_PORT": "x", "LOG_LEVEL": "loud"}, []string{`METRICS_PORT="x"`, `LOG_LEVEL="loud"`}},
		"bad gate":               {map[string]string{"FEATURE_GATES": "NodeRepair"}, []string{"FEATURE_GATES", `"NodeRepair"`}},
		"bad bool":               {map[string]string{"ISOLATED_VPC": "yes"}, []string{`ISOLATED_VPC="yes"`, "true or false"}},
		"overhead of one":        {map[string]string{"VM_MEMORY_OVERHEAD_PERCENT": "7.5"}, []string{"VM_MEMORY_OVERHEAD_PERCENT", "0.075"}},
		"refresh below a minute": {map[string]string{"AMI_REFRESH_INTERVAL": "5s"}, []string{"AMI_REFRESH_INTERVAL", "1m"}},
		"endpoint without host":  {map[string]string{"CLUSTER_ENDPOINT": "abc"}, []string{"CLUSTER_ENDPOINT"}},
		"preference policy":      {map[string]string{"PREFERENCE_POLICY": "respect"}, []string{"PREFERENCE_POLICY", "Respect", "Ignore"}},
		"rebalance policy":       {map[string]string{"KERF_REBALANCE": "Replace"}, []string{"KERF_REBALANCE", "observe", "replace"}},
		"many decisions":         {map[string]string{"KERF_DECISIONS": "all"}, []string{`KERF_DECISIONS="all"`, "from 0 to 10000"}},
		"no receivers":           {map[string]string{"KERF_QUEUE_RECEIVERS": "0"}, []string{"KERF_QUEUE_RECEIVERS", "from 1 to 32"}},
		"a lead in days":         {map[string]string{"KERF_MAINTENANCE_LEAD": "2d"}, []string{`KERF_MAINTENANCE_LEAD="2d"`}},
		"a wait of days":         {map[string]string{"KERF_SMALL_SAVINGS_WAIT": "48h"}, []string{`KERF_SMALL_SAVINGS_WAIT="48h"`, "0s to 24h"}},
		"cluster name with a /":  {map[string]string{"CLUSTER_NAME": "a/b"}, []string{`CLUSTER_NAME="a/b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := tc.env["CLUSTER_NAME"]; !ok && name != "no cluster name" {
				tc.env["CLUSTER_NAME"] = "demo"
			}
			_, _, err := load(t, tc.env)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not contain %q", err, w)
				}
			}
		})
	}
}

func TestNoOverheadIsNotTheDefault(t *testing.T) {
	s, _, err := load(t, map[string]string{"CLUSTER_NAME": "a", "VM_MEMORY_OVERHEAD_PERCENT": "0"})
	if err != nil || s.VMMemoryOverheadPercent == 0 || s.VMMemoryOverheadPercent > 1e-9 {
		t.Errorf("%v, %v; 0 stands for the default", s.VMMemoryOverheadPercent, err)
	}
}

func TestASettingWithoutEffectIsAWarning(t *testing.T) {
	_, warnings, err := load(t, map[string]string{
		"CLUSTER_NAME": "a", "KARPENTER_SERVICE": "x", "ENABLE_ZONAL_SHIFT": "false", "IGNORE_DRA_REQUESTS": "0", "DISABLE_CLUSTER_STATE_OBSERVABILITY": "false", "DISABLE_CONTROLLER_WARMUP": "false",
	})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, `IGNORE_DRA_REQUESTS="0" has no effect: Kerf does not allocate`) {
		t.Errorf("warnings %q, %v", warnings, err)
	}
	for _, i := range IdleSettings() {
		if !Known(EnvName(i.Flag)) || i.Why == "" {
			t.Errorf("%s: there is no such setting, or it is not said why it has no effect", i.Flag)
		}
	}
}
