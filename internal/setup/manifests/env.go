package manifests

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kerf-sh/kerf/internal/settings"
)

// env is the environment of the controller. A setting that is empty is left out: the controller has a default for it.
func (i *installation) env() []corev1.EnvVar {
	v, s := i.v, &i.v.Settings
	out := []corev1.EnvVar{
		{Name: "LEADER_ELECTION_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		{Name: "LOG_LEVEL", Value: v.LogLevel},
		{Name: "LOG_OUTPUT_PATHS", Value: strings.Join(v.LogOutputPaths, ",")},
		{Name: "LOG_ERROR_OUTPUT_PATHS", Value: strings.Join(v.LogErrorOutputPaths, ",")},
		{Name: "METRICS_PORT", Value: strconv.Itoa(int(v.Controller.Metrics.Port))},
		{Name: "HEALTH_PROBE_PORT", Value: strconv.Itoa(int(v.Controller.HealthProbe.Port))},
	}
	// Without a limit the downward API would give the node's memory, and without a request its processors.
	if _, ok := v.Controller.Resources.Limits[corev1.ResourceMemory]; ok {
		out = append(out, i.ofResource("MEMORY_LIMIT", "limits.memory", "0"))
	}
	if _, ok := v.Controller.Resources.Requests[corev1.ResourceCPU]; ok {
		out = append(out, i.ofResource("CPU_REQUESTS", "requests.cpu", "1m"))
	}
	add := func(name, value string) {
		if value != "" {
			out = append(out, corev1.EnvVar{Name: name, Value: value})
		}
	}
	g := s.FeatureGates
	add("FEATURE_GATES", fmt.Sprintf("ReservedCapacity=%t,SpotToSpotConsolidation=%t,NodeRepair=%t,NodeOverlay=%t,StaticCapacity=%t,CapacityBuffer=%t",
		g.ReservedCapacity, g.SpotToSpotConsolidation, g.NodeRepair, g.NodeOverlay, g.StaticCapacity, g.CapacityBuffer))
	add("BATCH_MAX_DURATION", s.BatchMaxDuration)
	add("BATCH_IDLE_DURATION", s.BatchIdleDuration)
	add("PREFERENCE_POLICY", s.PreferencePolicy)
	add("MIN_VALUES_POLICY", s.MinValuesPolicy)
	add("IGNORE_DRA_REQUESTS", strconv.FormatBool(s.IgnoreDRARequests))
	add("DISABLE_CLUSTER_STATE_OBSERVABILITY", strconv.FormatBool(s.DisableClusterStateObservability))
	add("CLUSTER_NAME", s.ClusterName)
	add("CLUSTER_ENDPOINT", s.ClusterEndpoint)
	add("CLUSTER_CA_BUNDLE", s.ClusterCABundle)
	add("ISOLATED_VPC", strconv.FormatBool(s.IsolatedVPC))
	add("EKS_CONTROL_PLANE", strconv.FormatBool(s.EKSControlPlane))
	add("VM_MEMORY_OVERHEAD_PERCENT", plainNumber(s.VMMemoryOverheadPercent))
	add("INTERRUPTION_QUEUE", s.InterruptionQueue)
	add("RESERVED_ENIS", scalar(s.ReservedENIs))
	add("DISABLE_DRY_RUN", strconv.FormatBool(s.DisableDryRun))
	add("ENABLE_ZONAL_SHIFT", strconv.FormatBool(s.EnableZonalShift))
	add("AMI_REFRESH_INTERVAL", s.AMIRefreshInterval)
	add("SUBNET_REFRESH_INTERVAL", s.SubnetRefreshInterval)
	add("SCHEDULER_CONFIG", s.SchedulerConfig)
	for _, name := range slices.Sorted(maps.Keys(s.Kerf)) {
		add(ownSetting(name), scalar(s.Kerf[name]))
	}
	return append(out, v.Controller.Env...)
}

func (i *installation) ofResource(name, which, divisor string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
		ContainerName: i.v.Controller.ContainerName, Resource: which, Divisor: resource.MustParse(divisor),
	}}}
}

// ownSetting is the variable of one of Kerf's own settings: KERF_NODE_UPKEEP of nodeUpkeep.
func ownSetting(name string) string {
	var b strings.Builder
	b.WriteString("KERF_")
	for n, r := range name {
		if unicode.IsUpper(r) && n > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// OwnSettings are the names that settings.kerf may have, with what each is for.
func OwnSettings() map[string]string {
	out := map[string]string{}
	for variable, help := range settings.Own() {
		var b strings.Builder
		for n, word := range strings.Split(strings.ToLower(strings.TrimPrefix(variable, "KERF_")), "_") {
			if n > 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			}
			b.WriteString(word)
		}
		out[b.String()] = help
	}
	return out
}

// scalar is a value as text; a number without an exponent.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return plainNumber(v)
	}
	return fmt.Sprint(v)
}

func plainNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// checkSettings has the controller's own reader of settings read the environment, so that a wrong value is refused here and
// not by a pod that does not start.
func (i *installation) checkSettings() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(i.v.Settings.Kerf)) {
		if !settings.Known(ownSetting(name)) {
			errs = append(errs, fmt.Errorf("settings.kerf.%s: there is no such setting (%s); docs/reference/settings.md lists them", name, ownSetting(name)))
		}
	}
	env := map[string]string{}
	for _, e := range i.env() {
		if e.ValueFrom == nil {
			env[e.Name] = e.Value
		}
	}
	_, _, err := settings.Load(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	return errors.Join(append(errs, err)...)
}
