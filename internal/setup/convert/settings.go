package convert

import (
	"encoding/json"
	"maps"
	"slices"
)

// settings are those of the ConfigMap that early releases read and that classes and pools lean on.
type settings struct {
	clusterName     string
	instanceProfile string
	tags            map[string]string
	// flatPods is set when the number of pods did not follow from the instance's network interfaces.
	flatPods bool
	found    bool
}

// settingsNames are the ConfigMaps that hold settings.
var settingsNames = []string{"karpenter-global-settings"}

func (d *document) isSettings() bool {
	if d.kind() != "ConfigMap" || d.version() != "v1" {
		return false
	}
	data, _ := d.root["data"].(map[string]any)
	_, cluster := data["aws.clusterName"]
	_, idle := data["batchIdleDuration"]
	return slices.Contains(settingsNames, d.name()) || cluster || idle
}

// environment are settings that are variables of the controller now.
var environment = map[string]string{
	"aws.clusterName":             "CLUSTER_NAME",
	"aws.clusterEndpoint":         "CLUSTER_ENDPOINT",
	"aws.clusterCABundle":         "CLUSTER_CA_BUNDLE",
	"aws.interruptionQueueName":   "INTERRUPTION_QUEUE",
	"aws.isolatedVPC":             "ISOLATED_VPC",
	"aws.reservedENIs":            "RESERVED_ENIS",
	"aws.vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
	"batchIdleDuration":           "BATCH_IDLE_DURATION",
	"batchMaxDuration":            "BATCH_MAX_DURATION",
}

// settings reads the ConfigMap of settings.
func (c *converter) settings(d *document) {
	if !d.isSettings() {
		return
	}
	f := &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	c.global.found = true
	data := f.textMap("data")
	f.take("apiVersion")
	f.take("kind")
	f.take("metadata")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		c.setting(f, key, data[key])
	}
	f.leftovers()
}

func (c *converter) setting(f *fields, key, value string) {
	at := f.at("data", key)
	env, known := environment[key]
	switch {
	case key == "aws.defaultInstanceProfile":
		c.global.instanceProfile = value
		f.translated(at, "EC2NodeClass spec.instanceProfile", "it goes into every class that names no profile of its own")
	case key == "aws.tags":
		if value == "" {
			break
		}
		if err := json.Unmarshal([]byte(value), &c.global.tags); err != nil {
			f.fail(at, "want JSON, an object of texts: %w", readable(err))
			return
		}
		f.translated(at, "EC2NodeClass spec.tags", "it goes into every class; a class's own tag of the same key wins")
	case key == "aws.enableENILimitedPodDensity":
		c.global.flatPods = value == "false"
		if c.global.flatPods {
			f.translated(at, "EC2NodeClass spec.kubelet.maxPods: 110", "it goes into every class whose pools set neither maxPods nor podsPerCore")
		} else {
			f.translated(at, "", "it is always so unless spec.kubelet.maxPods is set")
		}
	case key == "aws.enablePodENI":
		f.translated(at, "", "there is no switch any more: instances that can have branch interfaces offer them")
	case key == "aws.assumeRoleARN" || key == "aws.assumeRoleDuration":
		f.lost(at, "the controller takes its role from the SDK's own settings", "give the controller's service account the role (pod identity or IRSA), or set AWS_ROLE_ARN")
	case key == "aws.nodeNameConvention":
		if value == "" || value == "ip-name" {
			f.translated(at, "", "it is the only convention now: the node's name is its private DNS name")
			break
		}
		f.lost(at, "nodes are found by their provider ID, whatever they are called", "see that nothing of yours relies on names of the form "+value)
	case key == "featureGates.driftEnabled":
		if value == "true" {
			f.translated(at, "", "drift is always on")
			break
		}
		f.lost(at, "drift can't be switched off as a whole", `add a budget {nodes: "0", reasons: [Drifted]} to spec.disruption.budgets of each NodePool to keep nodes that drifted`)
	case known && env != "":
		if key == "aws.clusterName" {
			c.global.clusterName = value
		}
		f.translated(at, env+" of the controller", "settings are environment variables or flags now")
	default:
		f.lost(at, "no such setting is known", "see whether it is needed")
	}
}
