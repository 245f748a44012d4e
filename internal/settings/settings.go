// Package settings reads the controller's flags and environment variables under the names that users of the Karpenter
// v1 API already set, checks them once, and hands them on as one value.
//
// A flag beats its environment variable. A malformed value is refused by name, with what would be accepted; it never
// falls back to a default in silence. One setting, --kerf-compat, says whose defaults hold for all others. Feature gates
// that Kerf does not know, and settings without effect, are returned as warnings.
package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// LeaseName is the default of --leader-election-name: the Lease that Karpenter and Kerf share unless they are told otherwise.
const LeaseName = "karpenter-leader-election"

// Settings are the controller's settings. Field comments name the flag where it is not the field's own name.
type Settings struct {
	KarpenterService               string
	MetricsPort, HealthProbePort   int
	KubeClientQPS                  int
	KubeClientBurst                int
	EnableProfiling                bool
	DisableControllerWarmup        bool
	DisableLeaderElection          bool
	DisableClusterStateObservation bool          // --disable-cluster-state-observability
	MetricsWithout                 Series        // --kerf-metrics-without
	FloorEvery                     time.Duration // --kerf-floor-every; 0: never
	LeaderElectionName             string
	LeaderElectionNamespace        string
	MemoryLimit                    int64 // bytes, -1: none
	CPURequests                    int64 // millicores
	LogLevel                       string
	LogOutputPaths                 string
	LogErrorOutputPaths            string
	BatchMaxDuration               time.Duration
	BatchIdleDuration              time.Duration
	PreferencePolicy               string
	PreferenceShare                float64 // --kerf-preference-share; below 0: without bound
	MinValuesPolicy                string
	IgnoreDRARequests              bool
	FeatureGates                   Gates
	AWSFeatureGates                AWSGates
	SchedulerConfig                string

	ClusterName             string
	ClusterEndpoint         string
	ClusterCABundle         string // base64
	IsolatedVPC             bool
	EKSControlPlane         bool
	VMMemoryOverheadPercent float64
	InterruptionQueue       string
	PriceFile               string
	ReservedENIs            int
	NodeUpkeep              int64  // --kerf-node-upkeep, micro-USD an hour
	LaunchPriceBound        int64  // --kerf-launch-price-bound, percent; 0: none
	PriceGuard              int64  // --kerf-price-guard, times the usual price; 0: none
	PodDensity              string // --kerf-pod-density
	DisableDryRun           bool
	Shadow                  bool   // --kerf-shadow
	Compat                  string // --kerf-compat: whose defaults hold, KerfDefaults or KarpenterDefaults
	Nominate                bool   // --kerf-nominate
	EarlyBatches            bool   // --kerf-early-batches
	MeasuredMemory          bool   // --kerf-measured-memory
	PodDisruptionCost       int64  // --kerf-pod-disruption-cost, micro-USD; below 0: moves cost nothing
	EnableZonalShift        bool
	AMIRefreshInterval      time.Duration
	SubnetRefreshInterval   time.Duration

	// LaunchTimeout and RegistrationTimeout bound the time from the creation of a NodeClaim, or from its first try where a process takes
	// it over untried, to launch, and from launch to the node's registration (Kerf's own flags; the defaults are those that users of the v1 API know).
	LaunchTimeout       time.Duration
	RegistrationTimeout time.Duration

	// Decisions is how many decisions are kept to be explained and replayed; 0: none. // --kerf-decisions
	Decisions int
	// DecisionsMemory bounds what they take, in bytes. // --kerf-decisions-mib
	DecisionsMemory int

	// What follows are Kerf's own settings of interruption handling.

	// Rebalance is Observe or Replace. // --kerf-rebalance
	Rebalance string
	// MaintenanceLead is how long before AWS's scheduled work on an instance its drain begins. // --kerf-maintenance-lead
	MaintenanceLead time.Duration
	// QueueSilence is how long instances may change state without a message; 0: for ever. // --kerf-queue-silence
	QueueSilence time.Duration
	// QueueReceivers is how many long polls run at once. // --kerf-queue-receivers
	QueueReceivers int

	// SoftTaints keeps a taint on nodes that are due to be disrupted. --kerf-soft-taints
	SoftTaints bool
	// SmallSavingsWait is how long moves that save little stand at most before they are made; 0: none waits.
	// --kerf-small-savings-wait
	SmallSavingsWait time.Duration
	// ExpireAhead is how long before their age nodes may be replaced that would otherwise go at once. // --kerf-expire-ahead
	ExpireAhead time.Duration
	// InitializationTimeout is how long after it has joined a node that can't take pods is ended; 0: never.
	// --kerf-initialization-timeout
	InitializationTimeout time.Duration
}

// Gates are the feature gates.
type Gates struct {
	ReservedCapacity, NodeRepair, SpotToSpotConsolidation, NodeOverlay, StaticCapacity, CapacityBuffer bool
}

// Series are metrics with a series for each of something.
type Series struct{ Pods, Nodes, Conditions bool }

// AWSGates are the feature gates of the AWS provider.
type AWSGates struct {
	NodeClassCEL bool
}

// Values that choice settings accept.
const (
	Respect    = "Respect"
	Ignore     = "Ignore"
	Strict     = "Strict"
	BestEffort = "BestEffort"
	Observe    = "observe"
	Replace    = "replace"
	// KerfDefaults and KarpenterDefaults say whose defaults hold for what is not set.
	KerfDefaults      = "kerf"
	KarpenterDefaults = "karpenter"
	// NetworkDensity counts pods as the cluster's network plug-in gives them addresses, InterfaceDensity by interfaces alone.
	NetworkDensity   = "network"
	InterfaceDensity = "interfaces"
)

// unreadable marks a text that is not of the setting's type at all, whatever its range.
type unreadable struct{ error }

// setting is one row of the table: a flag, its default, and how to parse it.
type setting struct {
	flag, def, help string
	isBool          bool
	value           value
}

// either lists values in words; the empty one goes without saying.
func either(values []string) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	if last := len(values) - 1; last > 0 {
		return strings.Join(values[:last], ", ") + " or " + values[last]
	}
	return strings.Join(values, "")
}

// table are all settings. It is shared: who changes a row copies it.
var table = sync.OnceValue(func() []setting {
	port := func(f func(*Settings) *int) value {
		return integer(0, 65535, func(s *Settings, n int64) { *f(s) = int(n) })
	}
	return []setting{
		{flag: "karpenter-service", help: "name of the Service in front of the controller; accepted without effect", value: str(func(s *Settings) *string { return &s.KarpenterService })},
		{flag: "metrics-port", def: "8080", help: "port of /metrics; 0 switches it off", value: port(func(s *Settings) *int { return &s.MetricsPort })},
		{flag: "health-probe-port", def: "8081", help: "port of /healthz and /readyz; 0 switches it off", value: port(func(s *Settings) *int { return &s.HealthProbePort })},
		{flag: "kube-client-qps", def: "200", help: "requests per second to the Kubernetes API", value: integer(1, math.MaxInt32, func(s *Settings, n int64) { s.KubeClientQPS = int(n) })},
		{flag: "kube-client-burst", def: "300", help: "burst of requests to the Kubernetes API", value: integer(1, math.MaxInt32, func(s *Settings, n int64) { s.KubeClientBurst = int(n) })},
		{flag: "enable-profiling", def: "false", isBool: true, help: "serve profiles under /debug/pprof/ on the metrics port, to users who may get that path (ClusterRole kerf-viewer)", value: boolean(func(s *Settings) *bool { return &s.EnableProfiling })},
		{flag: "disable-controller-warmup", def: "true", isBool: true, help: "a replica that waits to be elected fills only the caches that decisions are made from; false: those of all controllers as well, so that it is at work at once, for more memory while it waits", value: boolean(func(s *Settings) *bool { return &s.DisableControllerWarmup })},
		{flag: "disable-leader-election", def: "false", isBool: true, help: "run without leader election (one replica only)", value: boolean(func(s *Settings) *bool { return &s.DisableLeaderElection })},
		{flag: "disable-cluster-state-observability", def: "false", isBool: true, help: "leave out the metrics that have a series for each pod, node or condition, as --kerf-metrics-without=pods,nodes,conditions does", value: boolean(func(s *Settings) *bool { return &s.DisableClusterStateObservation })},
		{flag: "leader-election-name", def: LeaseName, help: "name of the Lease", value: str(func(s *Settings) *string { return &s.LeaderElectionName })},
		{flag: "leader-election-namespace", help: "namespace of the Lease; default: the pod's own", value: str(func(s *Settings) *string { return &s.LeaderElectionNamespace })},
		{flag: "memory-limit", def: "-1", help: "memory limit of the container in bytes; nine tenths of it become the garbage collector's goal; -1: none", value: integer(-1, math.MaxInt64, func(s *Settings, n int64) { s.MemoryLimit = n })},
		{flag: "cpu-requests", def: "1000", help: "CPU request of the container in millicores; 0 or less means 1000", value: integer(math.MinInt32, math.MaxInt32, func(s *Settings, n int64) {
			if s.CPURequests = n; n <= 0 {
				s.CPURequests = 1000
			}
		})},
		{flag: "log-level", def: "info", help: "debug, info or error", value: choice(func(s *Settings) *string { return &s.LogLevel }, "", "debug", "info", "error")},
		{flag: "log-output-paths", def: "stdout", help: "where logs go: stdout, stderr or a file; several separated by commas", value: str(func(s *Settings) *string { return &s.LogOutputPaths })},
		{flag: "log-error-output-paths", def: "stderr", help: "where it is reported that a log line could not be written: stdout, stderr or a file; several separated by commas", value: str(func(s *Settings) *string { return &s.LogErrorOutputPaths })},
		{flag: "batch-max-duration", def: "10s", help: "the longest wait for more pods before a decision", value: duration(0, func(s *Settings) *time.Duration { return &s.BatchMaxDuration })},
		{flag: "batch-idle-duration", def: "1s", help: "a decision is made when no pod has come for so long, or sooner (--kerf-early-batches)", value: duration(0, func(s *Settings) *time.Duration { return &s.BatchIdleDuration })},
		{flag: "preference-policy", def: Respect, help: "Respect or Ignore preferred affinities and soft spreads", value: choice(func(s *Settings) *string { return &s.PreferencePolicy }, Respect, Ignore)},
		{flag: "kerf-preference-share", def: "0.02", help: "with --preference-policy=Respect, what the preferences of a kind of pods may cost, as a share of what the pods cost; a dearer one is not honoured, and told; unlimited: preferences count as demands until a pod finds no place, whatever they cost", value: numberBy(preferenceShare, false, -1, "unlimited")},
		{flag: "min-values-policy", def: Strict, help: "Strict or BestEffort", value: choice(func(s *Settings) *string { return &s.MinValuesPolicy }, Strict, BestEffort)},
		{flag: "ignore-dra-requests", def: "true", isBool: true, help: "pods with resource claims are refused, with a reason; false is accepted without effect", value: boolean(func(s *Settings) *bool { return &s.IgnoreDRARequests })},
		{flag: "feature-gates", help: "Name=true|false, separated by commas", value: textBy(nil, func(s *Settings, v string) error { return s.FeatureGates.parse(v, nil) })},
		{flag: "aws-feature-gates", help: "Name=true|false, separated by commas: NodeClassCEL, expressions in spec.kubelet of EC2NodeClasses, is accepted without effect", value: textBy(nil, func(s *Settings, v string) error { return s.AWSFeatureGates.parse(v, nil) })},
		{flag: "scheduler-config", help: "topology spread constraints of pods that have none, YAML or JSON: a KubeSchedulerConfiguration, or the arguments of its PodTopologySpread plug-in alone", value: str(func(s *Settings) *string { return &s.SchedulerConfig })},
		{flag: "cluster-name", help: "name of the EKS cluster; required", value: textBy(clusterNamePattern, clusterName)},
		{flag: "cluster-endpoint", help: "URL of the Kubernetes API as nodes reach it; default: asked of EKS", value: textBy(endpointPattern, endpoint)},
		{flag: "cluster-ca-bundle", help: "certificate authority of the Kubernetes API, base64; default: the one of the controller's own connection, read again each minute where it is a file", value: textBy(base64Pattern, caBundle)},
		{flag: "isolated-vpc", def: "false", isBool: true, help: "use no service without a VPC endpoint (prices, IAM)", value: boolean(func(s *Settings) *bool { return &s.IsolatedVPC })},
		{flag: "eks-control-plane", def: "false", isBool: true, help: "ask EKS, not the API server, for the Kubernetes version", value: boolean(func(s *Settings) *bool { return &s.EKSControlPlane })},
		{flag: "vm-memory-overhead-percent", def: "0.075", help: "share of an instance's memory that the guest does not see; the default holds for types without a measured figure only, any other value for all types", value: shareBy(overheadPercent)},
		{flag: "interruption-queue", help: "name, ARN or URL of the SQS queue with interruption messages; empty: none", value: str(func(s *Settings) *string { return &s.InterruptionQueue })},
		{flag: "kerf-price-file", help: "path of a YAML or JSON file with prices of your own (savings plans, private rates); read again within a minute when it changes; empty: none", value: str(func(s *Settings) *string { return &s.PriceFile })},
		{flag: "reserved-enis", def: "0", help: "network interfaces that pods may not use", value: integer(0, 64, func(s *Settings, n int64) { s.ReservedENIs = int(n) })},
		{flag: "kerf-node-upkeep", def: "0.0022", help: "dollars that a node costs in an hour besides its instance: its disk, agents licensed by the host; more makes for fewer and larger nodes, 0 counts instances only. The default is 20 GiB of gp3", value: numberBy(nodeUpkeep, false, 10)},
		{flag: "kerf-launch-price-bound", def: "10", help: "by how many percent a pool of capacity that EC2 may take for a launch can be dearer than the cheapest one, on which the plan counted; less keeps closer to the planned bill, more leaves more spot pools to choose from; off or 0: whatever it costs. minValues and reservations come before it", value: numberBy(launchPriceBound, true, 1000, "off")},
		{flag: "kerf-price-guard", def: "5", help: "while EC2 is short of capacity: how many times the usual price of the same pods a node may cost; above that the pods wait. The number doubles for pods that have waited 10, 20, 40, … minutes, so that none waits for ever; off or 0: any price is paid at once", value: numberBy(priceGuard, true, 1000, "off")},
		{flag: "kerf-pod-density", def: NetworkDensity, help: "how many pods a node takes whose class sets no maxPods: network reads from the DaemonSet kube-system/aws-node how pods get addresses (prefix delegation, custom networking, pod ENIs, IPv6); interfaces counts one address for each pod, as before", value: choice(func(s *Settings) *string { return &s.PodDensity }, NetworkDensity, InterfaceDensity)},
		{flag: "disable-dry-run", def: "false", isBool: true, help: "skip the dry-run checks of permissions", value: boolean(func(s *Settings) *bool { return &s.DisableDryRun })},
		{flag: compatFlag, def: KerfDefaults, help: "whose defaults hold for what is not set: kerf or karpenter. With karpenter a variable that can't be read is a warning, and its default holds; --compat for short", value: choice(func(s *Settings) *string { return &s.Compat }, KerfDefaults, KarpenterDefaults)},
		{flag: "kerf-nominate", def: "true", isBool: true, help: "tell the scheduler, by status.nominatedNodeName, for which pods a node was launched", value: boolean(func(s *Settings) *bool { return &s.Nominate })},
		{flag: "kerf-soft-taints", def: "true", isBool: true, help: "keep the taint kerf.sh/disruption-candidate:PreferNoSchedule on nodes that drifted or are about to be consolidated, so that the scheduler puts pods on them last, and kerf.sh/turn:PreferNoSchedule on new nodes of a consolidation until it is their turn to take its pods; false: take both off", value: boolean(func(s *Settings) *bool { return &s.SoftTaints })},
		{flag: "kerf-early-batches", def: "true", isBool: true, help: "decide at once for a pod without an owner that comes alone, and when the owner of all that came has no more to create; false: always wait for --batch-idle-duration", value: boolean(func(s *Settings) *bool { return &s.EarlyBatches })},
		{flag: "kerf-measured-memory", def: "true", isBool: true, help: "plan with the memory that nodes of an instance type were measured to have, where that is known; false: with --vm-memory-overhead-percent for every type", value: boolean(func(s *Settings) *bool { return &s.MeasuredMemory })},
		{flag: "kerf-pod-disruption-cost", def: "0.001", help: "dollars that evicting a usual pod is held to cost; a consolidation has to earn that back, and the start of what it launches; off: moves are held to cost nothing, so that any saving is worth one", value: numberBy(podDisruptionCost, false, 10, "off")},
		{flag: "kerf-shadow", def: "false", isBool: true, help: "run beside the controller that runs and change nothing: report under /debug/shadow, in metrics and in the log what Kerf would do and what that would cost; --shadow for short", value: boolean(func(s *Settings) *bool { return &s.Shadow })},
		{flag: "enable-zonal-shift", def: "false", isBool: true, help: "launch nothing in zones that ARC shifts the cluster's traffic away from, and leave their nodes alone", value: boolean(func(s *Settings) *bool { return &s.EnableZonalShift })},
		{flag: "ami-refresh-interval", def: "1m", help: "how old resolved images may be", value: duration(time.Minute, func(s *Settings) *time.Duration { return &s.AMIRefreshInterval })},
		{flag: "subnet-refresh-interval", def: "1m", help: "how old resolved subnets may be", value: duration(time.Minute, func(s *Settings) *time.Duration { return &s.SubnetRefreshInterval })},
		{flag: "launch-timeout", def: "5m", help: "a NodeClaim without an instance after this long is given up", value: duration(time.Second, func(s *Settings) *time.Duration { return &s.LaunchTimeout })},
		{flag: "kerf-decisions", def: "16", help: "how many of the last decisions are kept for kerf explain and kerf replay; served under /debug/decisions on the metrics port to users who may get that path (ClusterRole kerf-viewer); 0 keeps none", value: integer(0, 10000, func(s *Settings, n int64) { s.Decisions = int(n) })},
		{flag: "kerf-decisions-mib", def: "32", help: "how much memory the kept decisions may take, in MiB; the oldest go first", value: integer(0, 16384, func(s *Settings, n int64) { s.DecisionsMemory = int(n) << 20 })},
		{flag: "kerf-rebalance", def: Observe, help: "on a rebalance recommendation for a spot instance: observe tells by an event only; replace also launches a replacement and drains the node, within PodDisruptionBudgets and terminationGracePeriod", value: choice(func(s *Settings) *string { return &s.Rebalance }, Observe, Replace)},
		{flag: "kerf-maintenance-lead", def: "24h", help: "how long before AWS reboots, stops or retires an instance its drain begins; work that is nearer drains at once, and 8760h drains at the announcement", value: duration(0, func(s *Settings) *time.Duration { return &s.MaintenanceLead })},
		{flag: "kerf-metrics-without", help: "metrics to leave out because of how many series they have, separated by commas: pods (karpenter_pods_state and others with one for each pod), nodes (karpenter_nodes_* with one for each node and resource), conditions (operator_* with one for each condition of each object); empty: none", value: textBy(metricsWithoutPattern, metricsWithout)},
		{flag: "kerf-floor-every", def: "0s", help: "how often the least that the pods can cost is worked out for the metric kerf_cost_floor_dollars; it takes up to a second of one core, and never more than a twentieth of its time; 0s: never, as kerf status and kerf ui work it out on the computer of who looks", value: duration(0, func(s *Settings) *time.Duration { return &s.FloorEvery })},
		{flag: "kerf-queue-silence", def: "10m", help: "after an instance was launched or ended, no message for this long means that the queue's rules don't deliver; 0: do not look", value: duration(0, func(s *Settings) *time.Duration { return &s.QueueSilence })},
		{flag: "kerf-queue-receivers", def: "4", help: "how many receivers wait on the interruption queue at once", value: integer(1, 32, func(s *Settings, n int64) { s.QueueReceivers = int(n) })},
		{flag: "kerf-small-savings-wait", def: "30m", help: "where all moves of pods together save less than 15 % of the bill, a move has to stand for as long as it takes to pay back, this long at the most; 0s: small savings are had at once like large ones", value: durationBy(smallSavingsWait)},
		{flag: "kerf-expire-ahead", def: "1h", help: "how long before the age that expireAfter sets nodes of a pool may be replaced, where many would come of age together; a tenth of expireAfter at the most; none waits beyond its age but those that an outage of the controller held up; 0s: each exactly when it is due, however many", value: duration(0, func(s *Settings) *time.Duration { return &s.ExpireAhead })},
		{flag: "kerf-initialization-timeout", def: "0s", help: "a node that has joined and after this long still can't take pods (not ready, a start-up taint, a resource that is not there) is ended; 0s: never, it is only told", value: durationBy(initializationTimeout)},
		{flag: "registration-timeout", def: "15m", help: "an instance whose node has not joined after this long is given up", value: duration(time.Second, func(s *Settings) *time.Duration { return &s.RegistrationTimeout })},
	}
})

// LeftOut are the metrics with a series for each of something that are left out.
func (s *Settings) LeftOut() Series {
	if s.DisableClusterStateObservation {
		return Series{true, true, true}
	}
	return s.MetricsWithout
}

var metricsWithoutPattern = regexp.MustCompile(`^ *(pods|nodes|conditions)?( *, *(pods|nodes|conditions)?)* *$`)

func metricsWithout(s *Settings, v string) error {
	var without Series
	known := map[string]*bool{"pods": &without.Pods, "nodes": &without.Nodes, "conditions": &without.Conditions}
	for name := range strings.SplitSeq(v, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case known[name] == nil:
			return fmt.Errorf("%q is none of the metrics that can be left out: want pods, nodes or conditions, several separated by commas", name)
		default:
			*known[name] = true
		}
	}
	s.MetricsWithout = without
	return nil
}

// smallSavingsWait takes up to a day: what was found is remembered for twice as long.
func smallSavingsWait(s *Settings, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > 24*time.Hour {
		return errors.New("want a duration from 0s to 24h, such as 30m")
	}
	s.SmallSavingsWait = d
	return nil
}

// clusterName follows the EKS rule for cluster names (CreateCluster, parameter name), and allows dots, which clusters that kOps
// made have.
func clusterName(s *Settings, v string) error {
	if v != "" && !clusterNamePattern.MatchString(v) {
		return errors.New("want up to 100 letters, digits, dashes, underscores and dots, the first a letter or digit")
	}
	s.ClusterName = v
	return nil
}

func endpoint(s *Settings, v string) error {
	if v != "" {
		if u, err := url.Parse(v); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return errors.New("want a URL such as https://ABC.gr7.us-east-1.eks.amazonaws.com")
		}
	}
	s.ClusterEndpoint = v
	return nil
}

func caBundle(s *Settings, v string) error {
	if _, err := base64.StdEncoding.DecodeString(v); err != nil {
		return errors.New("want PEM certificates in base64")
	}
	s.ClusterCABundle = v
	return nil
}

// initializationTimeout refuses times within which nodes get ready that are well.
func initializationTimeout(s *Settings, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d != 0 && d < 5*time.Minute {
		return errors.New("want a duration such as 1h, at least 5m, or 0s for never")
	}
	s.InitializationTimeout = d
	return nil
}

func preferenceShare(s *Settings, v string) error {
	if v == "unlimited" {
		s.PreferenceShare = -1
		return nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return errors.New("want a share such as 0.1, at least 0, or unlimited")
	}
	// Nothing at all is written as next to nothing: 0 means the default to the engine.
	s.PreferenceShare = max(f, math.SmallestNonzeroFloat64)
	return nil
}

// isOff takes false for off: that is what YAML makes of the word in a file of values.
func isOff(v string) bool { return v == "off" || v == "false" }

func podDisruptionCost(s *Settings, v string) error {
	if isOff(v) {
		s.PodDisruptionCost = -1
		return nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 10 {
		return errors.New("want dollars from 0 to 10, such as 0.001, or off")
	}
	s.PodDisruptionCost = int64(math.Round(f * 1e6))
	return nil
}

func nodeUpkeep(s *Settings, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 10 {
		return errors.New("want dollars per hour from 0 to 10, such as 0.0022")
	}
	s.NodeUpkeep = int64(math.Round(f * 1e6))
	return nil
}

func launchPriceBound(s *Settings, v string) error {
	if isOff(v) {
		s.LaunchPriceBound = 0
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > 1000 {
		return errors.New("want a whole number of percent from 0 to 1000, such as 10, or off")
	}
	s.LaunchPriceBound = n
	return nil
}

func priceGuard(s *Settings, v string) error {
	if isOff(v) {
		s.PriceGuard = 0
		return nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 || n > 1000 {
		return errors.New("want a whole number of times from 0 to 1000, such as 5, or off")
	}
	s.PriceGuard = n
	return nil
}

func overheadPercent(s *Settings, v string) error {
	want := errors.New("want a share such as 0.075, at least 0 and below 1")
	f, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return unreadable{want}
	case math.IsNaN(f) || f < 0 || f >= 1:
		return want
	}
	// Nothing at all is written as next to nothing: 0 means the default to the provider.
	s.VMMemoryOverheadPercent = max(f, math.SmallestNonzeroFloat64)
	return nil
}

// EnvName is the environment variable of a flag.
func EnvName(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// Known tells whether an environment variable is one of the controller's settings.
func Known(env string) bool {
	_, ok := rowOf(env)
	return ok
}

// Own are the settings that Karpenter does not have: what each is for, by its variable, KERF_NODE_UPKEEP.
func Own() map[string]string {
	out := map[string]string{}
	for _, s := range table() {
		if strings.HasPrefix(s.flag, "kerf-") {
			out[EnvName(s.flag)] = s.help
		}
	}
	return out
}

// AddFlags defines every setting on fs; read them with Load after fs is parsed.
func AddFlags(fs *pflag.FlagSet) {
	for _, row := range table() {
		// All are strings here so that Load can word every refusal itself; boolean flags need an explicit value only when false.
		fs.String(row.flag, row.def, fmt.Sprintf("%s [$%s]", row.help, EnvName(row.flag)))
		if row.isBool {
			fs.Lookup(row.flag).NoOptDefVal = "true"
		}
	}
}

// given is the value of a setting, and where it is from: a flag, a variable, or, empty, the default.
func (row *setting) given(fs *pflag.FlagSet, getenv func(string) (string, bool)) (text, source string) {
	if f := fs.Lookup(row.flag); f != nil && f.Changed {
		return f.Value.String(), "--" + row.flag
	}
	if env, ok := getenv(EnvName(row.flag)); ok && (env != "" || row.def == "") {
		return env, EnvName(row.flag)
	}
	return row.def, ""
}

// Load reads every setting from fs (flags that were given) and getenv (the rest), and checks them.
//
// Errors: all malformed settings at once, as Refusals has them, each named by its flag or variable. Warnings name feature gates that are not
// known, and with --kerf-compat=karpenter variables that are malformed.
func Load(fs *pflag.FlagSet, getenv func(string) (string, bool)) (s Settings, warnings []Warning, err error) {
	var errs []error
	warn := func(flag, format string, args ...any) {
		warnings = append(warnings, Warning{Variable: EnvName(flag), Text: fmt.Sprintf(format, args...)})
	}
	rows := table()
	compat, _ := rows[slices.IndexFunc(rows, func(r setting) bool { return r.flag == compatFlag })].given(fs, getenv)
	for _, row := range rows {
		if other, ok := KarpenterDefault(row.flag); ok && compat == KarpenterDefaults {
			row.def = other
		}
		value, source := row.given(fs, getenv)
		perr := row.value.parse(&s, value)
		if compat == KarpenterDefaults && source == EnvName(row.flag) && row.fallsBack(perr) {
			warn(row.flag, "%s=%q: %v; its default %q holds", source, value, perr, row.def)
			value, source = row.def, ""
			perr = row.value.parse(&s, value)
		}
		if perr != nil {
			errs = append(errs, refuse([]string{EnvName(row.flag)}, "%s=%q: %w", source, value, perr))
			continue
		}
		unknown := func(name string) {
			warn(row.flag, "%s: feature gate %q is not known and has no effect", source, name)
			warnings[len(warnings)-1].Gate = name
		}
		switch row.flag {
		case "feature-gates":
			_ = s.FeatureGates.parse(value, unknown)
		case "aws-feature-gates":
			_ = s.AWSFeatureGates.parse(value, unknown)
			if s.AWSFeatureGates.NodeClassCEL {
				warn(row.flag, "%s", source+": NodeClassCEL has no effect: Kerf does not evaluate expressions yet, and an EC2NodeClass that has one is not ready")
			}
		}
		if text := row.idle(source, value); text != "" {
			warn(row.flag, "%s", text)
		}
	}
	if s.ClusterName == "" && len(errs) == 0 {
		errs = append(errs, refuse([]string{"CLUSTER_NAME"}, "CLUSTER_NAME is not set: give the name of the EKS cluster by --cluster-name or CLUSTER_NAME"))
	}
	if s.MetricsPort == s.HealthProbePort && s.MetricsPort != 0 && len(errs) == 0 {
		errs = append(errs, refuse([]string{"METRICS_PORT", "HEALTH_PROBE_PORT"}, "METRICS_PORT and HEALTH_PROBE_PORT are both %d: give each a port of its own", s.MetricsPort))
	}
	if s.BatchIdleDuration > s.BatchMaxDuration && len(errs) == 0 {
		if compat == KarpenterDefaults {
			warn("batch-idle-duration", "BATCH_IDLE_DURATION=%s is longer than BATCH_MAX_DURATION=%s, which holds", s.BatchIdleDuration, s.BatchMaxDuration)
			return s, warnings, nil
		}
		errs = append(errs, refuse([]string{"BATCH_IDLE_DURATION", "BATCH_MAX_DURATION"}, "BATCH_IDLE_DURATION=%s is longer than BATCH_MAX_DURATION=%s: a burst would never be idle before it ends", s.BatchIdleDuration, s.BatchMaxDuration))
	}
	return s, warnings, errors.Join(errs...)
}
