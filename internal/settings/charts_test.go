package settings

import (
	"maps"
	"testing"
	"time"
)

// common is what every chart of Karpenter 1.x sets, as the Deployment has it when the container runs: a field of the pod, its
// memory limit in bytes.
var common = map[string]string{
	"KUBERNETES_MIN_VERSION": "1.19.0-0", "KARPENTER_SERVICE": "karpenter", "LOG_LEVEL": "info", "LOG_OUTPUT_PATHS": "stdout", "LOG_ERROR_OUTPUT_PATHS": "stderr",
	"METRICS_PORT": "8080", "HEALTH_PROBE_PORT": "8081", "SYSTEM_NAMESPACE": "kube-system", "MEMORY_LIMIT": "1073741824", "BATCH_MAX_DURATION": "10s", "BATCH_IDLE_DURATION": "1s",
	"CLUSTER_NAME": "demo", "CLUSTER_ENDPOINT": "https://ABC.gr7.eu-west-1.eks.amazonaws.com", "VM_MEMORY_OVERHEAD_PERCENT": "0.075", "INTERRUPTION_QUEUE": "demo", "RESERVED_ENIS": "0",
	// From EKS, the SDK and Kubernetes, not from the chart.
	"AWS_REGION": "eu-west-1", "AWS_STS_REGIONAL_ENDPOINTS": "regional", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/x", "KUBERNETES_SERVICE_HOST": "10.100.0.1", "HOSTNAME": "karpenter-1",
}

// A Deployment of Karpenter starts Kerf when only its image is another one.
func TestTheEnvironmentOfKarpentersCharts(t *testing.T) {
	for version, env := range map[string]map[string]string{
		"1.0": {
			"DISABLE_WEBHOOK": "false", "WEBHOOK_PORT": "8443", "WEBHOOK_METRICS_PORT": "8001",
			"FEATURE_GATES": "SpotToSpotConsolidation=false", "ISOLATED_VPC": "false",
		},
		"1.1":  {"FEATURE_GATES": "SpotToSpotConsolidation=false,NodeRepair=false", "DISABLE_LEADER_ELECTION": "false", "EKS_CONTROL_PLANE": "false", "CLUSTER_CA_BUNDLE": ""},
		"1.3":  {"FEATURE_GATES": "ReservedCapacity=false,SpotToSpotConsolidation=false,NodeRepair=false", "PREFERENCE_POLICY": "Respect", "DISABLE_DRY_RUN": "false"},
		"1.7":  {"FEATURE_GATES": "ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false", "MIN_VALUES_POLICY": "Strict", "CPU_REQUESTS": "1000"},
		"1.9":  {"FEATURE_GATES": "ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false,StaticCapacity=false", "IGNORE_DRA_REQUESTS": "true"},
		"1.12": {"FEATURE_GATES": "ReservedCapacity=true,NodeRepair=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,SpotToSpotConsolidation=false", "SUBNET_REFRESH_INTERVAL": "1m"},
		"1.14": {
			"FEATURE_GATES": "ReservedCapacity=true,NodeRepair=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,SpotToSpotConsolidation=false",
			"CPU_REQUESTS":  "1000", "PREFERENCE_POLICY": "Respect", "MIN_VALUES_POLICY": "Strict", "IGNORE_DRA_REQUESTS": "true", "DISABLE_CLUSTER_STATE_OBSERVABILITY": "false",
			"AMI_REFRESH_INTERVAL": "1m", "SUBNET_REFRESH_INTERVAL": "1m", "ENABLE_ZONAL_SHIFT": "false", "DISABLE_CONTROLLER_WARMUP": "true", "LEADER_ELECTION_NAMESPACE": "kube-system", "SCHEDULER_CONFIG": "",
		},
		// Gates that Kerf does not have are off there.
		"1.15": {
			"FEATURE_GATES":     "ReservedCapacity=true,NodeRepair=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,SpotToSpotConsolidation=false,PodDeletionCostManagement=false",
			"AWS_FEATURE_GATES": "NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=false",
		},
	} {
		for _, compat := range []string{KerfDefaults, KarpenterDefaults} {
			t.Run(version+" "+compat, func(t *testing.T) {
				all := maps.Clone(common)
				maps.Copy(all, env)
				all["KERF_COMPAT"] = compat
				s, warnings, err := load(t, all)
				if err != nil || len(warnings) > 0 {
					t.Fatalf("%v, warnings %q", err, warnings)
				}
				if s.ClusterName != "demo" || s.MemoryLimit != 1<<30 || s.CPURequests != 1000 || s.InterruptionQueue != "demo" || s.BatchMaxDuration != 10*time.Second ||
					s.FeatureGates.NodeRepair || s.FeatureGates.ReservedCapacity != (version != "1.3") {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// What is switched on there and not here is said.
func TestGatesThatKerfLacksAreAWarning(t *testing.T) {
	_, warnings, err := load(t, map[string]string{"CLUSTER_NAME": "demo", "FEATURE_GATES": "PodDeletionCostManagement=true", "AWS_FEATURE_GATES": "NodeClassCEL=true,RebootForRepair=true"})
	if err != nil || len(warnings) != 3 {
		t.Errorf("%v, %q", err, warnings)
	}
}
