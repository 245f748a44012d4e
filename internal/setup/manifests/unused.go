package manifests

import (
	"strings"
)

// UnusedValue is a value that charts of Karpenter have, or had, and that means nothing to Kerf. The charts take it without
// effect, so that a release with old values can be upgraded.
type UnusedValue struct {
	// Path is where it is among the values; what is under it is unused as well.
	Path string `json:"path"`
	// Why it has no effect, and what to set instead where there is something.
	Why string `json:"why"`
	// Off tells that false, or an object in which all is false, says what holds anyway: there is nothing to tell its user.
	Off bool `json:"off,omitempty"`
}

// UnusedValues are all of them. The schema of the values, the notes after an installation and the chart's page are made from
// this list.
func UnusedValues() []UnusedValue {
	const (
		logs  = "set logLevel, logOutputPaths and logErrorOutputPaths; the log is JSON"
		gate  = "Kerf has no such feature gate"
		flat  = "charts since v0.33 have it as "
		gone  = "no Karpenter since v1.0 has it, nor has Kerf"
		hooks = "no Karpenter since v1.1 has webhooks, nor has Kerf"
	)
	return []UnusedValue{
		{Path: "webhook", Why: hooks},
		{Path: "postInstallHook", Why: hooks + "; the chart runs no job after an installation"},
		{Path: "logConfig", Why: logs},
		{Path: "logEncoding", Why: "the log is JSON"},
		{Path: "controller.logLevel", Why: "set logLevel"},
		{Path: "controller.logEncoding", Why: "the log is JSON"},
		{Path: "controller.outputPaths", Why: "set logOutputPaths"},
		{Path: "controller.errorOutputPaths", Why: "set logErrorOutputPaths"},
		{Path: "clusterName", Why: "set settings.clusterName"},
		{Path: "clusterEndpoint", Why: "set settings.clusterEndpoint"},
		{Path: "aws", Why: "set spec.role or spec.instanceProfile of the EC2NodeClass"},
		{Path: "settings.aws", Why: flat + "settings.clusterName, settings.clusterEndpoint, settings.interruptionQueue, settings.isolatedVPC, settings.vmMemoryOverheadPercent and " +
			"settings.reservedENIs; tags and the instance profile are in the EC2NodeClass"},
		{Path: "settings.interruptionQueueName", Why: "set settings.interruptionQueue"},
		{Path: "settings.assumeRoleARN", Why: gone + ": give the ServiceAccount a role of the account"},
		{Path: "settings.assumeRoleDuration", Why: gone},
		{Path: "settings.securityGroupRefreshInterval", Why: "resolved security groups are a minute old at most"},
		{Path: "settings.ttlAfterNotRegistered", Why: "set REGISTRATION_TIMEOUT in controller.env"},
		{Path: "settings.featureGates.drift", Why: "drift is always on; disruption budgets with reasons: [Drifted] hold it back"},
		{Path: "settings.featureGates.driftEnabled", Why: "drift is always on; disruption budgets with reasons: [Drifted] hold it back"},
		{Path: "settings.featureGates.podDeletionCostManagement", Why: gate, Off: true},
		{Path: "settings.featureGates.nodeReadiness", Why: gate, Off: true},
		{Path: "settings.featureGates.nodeReadinessController", Why: gate, Off: true},
		{Path: "settings.awsFeatureGates", Why: "Kerf has none of these feature gates", Off: true},
	}
}

// Unused are the values of a tree that have no effect, in the order of UnusedValues. It leaves out what is off already.
func Unused(values map[string]any) []UnusedValue {
	var out []UnusedValue
	for _, u := range UnusedValues() {
		parent, name := holder(values, u.Path)
		if v, ok := parent[name]; ok && v != nil && v != "" && !(u.Off && isOff(v)) {
			out = append(out, u)
		}
	}
	return out
}

func isOff(v any) bool {
	object, isObject := v.(map[string]any)
	for _, x := range object {
		if x == true {
			return false
		}
	}
	return isObject || v != true
}

// withoutUnused takes out of a tree what no value of the chart is and Helm passes all the same.
func withoutUnused(values map[string]any) {
	for _, u := range UnusedValues() {
		parent, name := holder(values, u.Path)
		delete(parent, name)
	}
	delete(values, "global")  // Helm passes these to every chart
	delete(values, "enabled") // the condition by which another chart has this one as a dependency
}

// holder is the object in which the last name of a path is; nil where there is none.
func holder(values map[string]any, path string) (parent map[string]any, name string) {
	names := strings.Split(path, ".")
	for _, n := range names[:len(names)-1] {
		values, _ = values[n].(map[string]any)
	}
	return values, names[len(names)-1]
}
