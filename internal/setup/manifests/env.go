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
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// variable is a variable of the controller's environment that is one of the values.
type variable struct {
	name, value string // METRICS_PORT of controller.metrics.port
	text        func(*Values) string
}

// variables are those that follow from one value each. Kerf's own settings, which are under settings.kerf, come besides.
func variables() []variable {
	yes := strconv.FormatBool
	port := func(p PortValues) string { return strconv.Itoa(int(p.Port)) }
	return []variable{
		{"LOG_LEVEL", "logLevel", func(v *Values) string { return v.LogLevel }},
		{"LOG_OUTPUT_PATHS", "logOutputPaths", func(v *Values) string { return strings.Join(v.LogOutputPaths, ",") }},
		{"LOG_ERROR_OUTPUT_PATHS", "logErrorOutputPaths", func(v *Values) string { return strings.Join(v.LogErrorOutputPaths, ",") }},
		{"METRICS_PORT", "controller.metrics.port", func(v *Values) string { return port(v.Controller.Metrics) }},
		{"HEALTH_PROBE_PORT", "controller.healthProbe.port", func(v *Values) string { return port(v.Controller.HealthProbe) }},
		{"FEATURE_GATES", "settings.featureGates", func(v *Values) string { return v.Settings.FeatureGates.text() }},
		{"BATCH_MAX_DURATION", "settings.batchMaxDuration", func(v *Values) string { return v.Settings.BatchMaxDuration }},
		{"BATCH_IDLE_DURATION", "settings.batchIdleDuration", func(v *Values) string { return v.Settings.BatchIdleDuration }},
		{"PREFERENCE_POLICY", "settings.preferencePolicy", func(v *Values) string { return v.Settings.PreferencePolicy }},
		{"MIN_VALUES_POLICY", "settings.minValuesPolicy", func(v *Values) string { return v.Settings.MinValuesPolicy }},
		{"IGNORE_DRA_REQUESTS", "settings.ignoreDRARequests", func(v *Values) string { return yes(v.Settings.IgnoreDRARequests) }},
		{"DISABLE_CLUSTER_STATE_OBSERVABILITY", "settings.disableClusterStateObservability", func(v *Values) string { return yes(v.Settings.DisableClusterStateObservability) }},
		{"CLUSTER_NAME", "settings.clusterName", func(v *Values) string { return v.Settings.ClusterName }},
		{"CLUSTER_ENDPOINT", "settings.clusterEndpoint", func(v *Values) string { return v.Settings.ClusterEndpoint }},
		{"CLUSTER_CA_BUNDLE", "settings.clusterCABundle", func(v *Values) string { return v.Settings.ClusterCABundle }},
		{"ISOLATED_VPC", "settings.isolatedVPC", func(v *Values) string { return yes(v.Settings.IsolatedVPC) }},
		{"EKS_CONTROL_PLANE", "settings.eksControlPlane", func(v *Values) string { return yes(v.Settings.EKSControlPlane) }},
		{"VM_MEMORY_OVERHEAD_PERCENT", "settings.vmMemoryOverheadPercent", func(v *Values) string { return plainNumber(v.Settings.VMMemoryOverheadPercent) }},
		{"INTERRUPTION_QUEUE", "settings.interruptionQueue", func(v *Values) string { return v.Settings.InterruptionQueue }},
		{"RESERVED_ENIS", "settings.reservedENIs", func(v *Values) string { return scalar(v.Settings.ReservedENIs) }},
		{"DISABLE_DRY_RUN", "settings.disableDryRun", func(v *Values) string { return yes(v.Settings.DisableDryRun) }},
		{"ENABLE_ZONAL_SHIFT", "settings.enableZonalShift", func(v *Values) string { return yes(v.Settings.EnableZonalShift) }},
		{"AMI_REFRESH_INTERVAL", "settings.amiRefreshInterval", func(v *Values) string { return v.Settings.AMIRefreshInterval }},
		{"SUBNET_REFRESH_INTERVAL", "settings.subnetRefreshInterval", func(v *Values) string { return v.Settings.SubnetRefreshInterval }},
		{"SCHEDULER_CONFIG", "settings.schedulerConfig", func(v *Values) string { return v.Settings.SchedulerConfig }},
	}
}

const ownPrefix = "settings.kerf."

// Variable is the environment variable that a value becomes, LOG_LEVEL for logLevel; ok is false where it becomes none.
func Variable(value string) (name string, ok bool) {
	if own, isOwn := strings.CutPrefix(value, ownPrefix); isOwn {
		name = ownSetting(own)
		return name, settings.Known(name)
	}
	all := variables()
	i := slices.IndexFunc(all, func(x variable) bool { return x.value == value })
	if i < 0 {
		return "", false
	}
	return all[i].name, true
}

// text are the gates as FEATURE_GATES has them.
func (g FeatureGates) text() string {
	return fmt.Sprintf("ReservedCapacity=%t,SpotToSpotConsolidation=%t,NodeRepair=%t,NodeOverlay=%t,StaticCapacity=%t,CapacityBuffer=%t",
		g.ReservedCapacity, g.SpotToSpotConsolidation, g.NodeRepair, g.NodeOverlay, g.StaticCapacity, g.CapacityBuffer)
}

// set is a variable that the installation sets, and the value that it is from.
type set struct {
	corev1.EnvVar
	value string
}

// env is the environment of the controller. A setting that is empty is left out: the controller has a default for it.
func (i *installation) env() []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, s := range i.setVariables() {
		out = append(out, s.EnvVar)
	}
	return append(out, i.v.Controller.Env...)
}

// setVariables is the environment without controller.env.
func (i *installation) setVariables() []set {
	v := i.v
	out := []set{{corev1.EnvVar{Name: "LEADER_ELECTION_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}, ""}}
	for _, x := range variables() {
		if x.name == "FEATURE_GATES" { // what follows from the resources comes before the settings
			out = append(out, i.ofResources()...)
		}
		// What is not set under settings is left out; the rest is there in any case.
		if text := x.text(v); text != "" || !strings.HasPrefix(x.value, "settings.") {
			out = append(out, set{corev1.EnvVar{Name: x.name, Value: text}, x.value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Settings.Kerf)) {
		if text := scalar(v.Settings.Kerf[name]); text != "" {
			out = append(out, set{corev1.EnvVar{Name: ownSetting(name), Value: text}, ownPrefix + name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Variables)) {
		e := corev1.EnvVar{Name: name, Value: v.Variables[name]}
		if n := slices.IndexFunc(out, func(s set) bool { return s.Name == name }); n >= 0 {
			out[n].EnvVar = e
		} else {
			out = append(out, set{e, ""})
		}
	}
	return out
}

// ofResources are those that the kubelet fills in. Without a limit it would give the node's memory, and without a request its
// processors.
func (i *installation) ofResources() (out []set) {
	r := i.v.Controller.Resources
	if _, ok := r.Limits[corev1.ResourceMemory]; ok {
		out = append(out, set{i.ofResource("MEMORY_LIMIT", "limits.memory", "0"), "controller.resources.limits.memory"})
	}
	if _, ok := r.Requests[corev1.ResourceCPU]; ok {
		out = append(out, set{i.ofResource("CPU_REQUESTS", "requests.cpu", "1m"), "controller.resources.requests.cpu"})
	}
	return out
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
// not by a pod that does not start. What it would warn of is in warnings.
func (i *installation) checkSettings() error {
	var errs []error
	set := map[string]string{} // the value of each variable that is set already
	for _, s := range i.setVariables() {
		set[s.Name] = s.value
		switch {
		case strings.HasPrefix(s.value, ownPrefix) && !settings.Known(s.Name):
			errs = append(errs, fmt.Errorf("%s: there is no such setting (%s); docs/reference/settings.md lists them", s.value, s.Name))
		case s.ValueFrom == nil && s.Value != "" && i.v.Variables[s.Name] == "":
			if err := settings.Check(s.Name, s.Value); err != nil {
				errs = append(errs, fmt.Errorf("value %s: %s=%q: %w", s.value, s.Name, s.Value, err))
			}
		}
	}
	if err := errors.Join(append(errs, doubles(set, i.v.Controller.Env))...); err != nil {
		return err
	}
	env := map[string]string{}
	for _, e := range i.env() {
		if e.ValueFrom == nil {
			env[e.Name] = e.Value
		}
	}
	s, warnings, err := settings.Load(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	for _, r := range settings.Refusals(err) {
		var values []string
		for _, name := range r.Variables {
			if value := set[name]; value != "" {
				values = append(values, value)
			}
		}
		switch len(values) {
		case 0:
			errs = append(errs, r)
		case 1:
			errs = append(errs, fmt.Errorf("value %s: %w", values[0], r))
		default:
			errs = append(errs, fmt.Errorf("values %s: %w", strings.Join(values, " and "), r))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	i.warnings = warnings
	if _, err := intake.ParseDefaultSpreads(s.SchedulerConfig); err != nil {
		return fmt.Errorf("value settings.schedulerConfig: %w", err)
	}
	return nil
}

// doubles refuses variables that are given twice: the API server does when the Deployment is applied.
func doubles(set map[string]string, own []corev1.EnvVar) error {
	var errs []error
	twice := map[string]bool{}
	for _, e := range own {
		value, isSet := set[e.Name]
		switch {
		case isSet && value == "":
			errs = append(errs, fmt.Errorf("value controller.env: %s is the namespace of the installation: remove it from controller.env", e.Name))
		case isSet:
			errs = append(errs, fmt.Errorf("value controller.env: %s is set from %s: set that, and remove %s from controller.env", e.Name, value, e.Name))
		case twice[e.Name]:
			errs = append(errs, fmt.Errorf("value controller.env: %s is there twice: remove one", e.Name))
		}
		twice[e.Name] = true
	}
	return errors.Join(errs...)
}
