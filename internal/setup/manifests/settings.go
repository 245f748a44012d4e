package manifests

// Settings are the controller's settings as the chart names them; each becomes an environment variable. Values of the chart
// come as text, numbers or booleans.
type Settings struct {
	BatchMaxDuration                 string       `json:"batchMaxDuration"`
	BatchIdleDuration                string       `json:"batchIdleDuration"`
	PreferencePolicy                 string       `json:"preferencePolicy"`
	MinValuesPolicy                  string       `json:"minValuesPolicy"`
	ClusterCABundle                  string       `json:"clusterCABundle"`
	ClusterName                      string       `json:"clusterName"`
	ClusterEndpoint                  string       `json:"clusterEndpoint"`
	IsolatedVPC                      bool         `json:"isolatedVPC"`
	EKSControlPlane                  bool         `json:"eksControlPlane"`
	VMMemoryOverheadPercent          float64      `json:"vmMemoryOverheadPercent"`
	InterruptionQueue                string       `json:"interruptionQueue"`
	EnableZonalShift                 bool         `json:"enableZonalShift"`
	ReservedENIs                     any          `json:"reservedENIs"` // a number, or one in quotes
	IgnoreDRARequests                bool         `json:"ignoreDRARequests"`
	DisableClusterStateObservability bool         `json:"disableClusterStateObservability"`
	DisableDryRun                    bool         `json:"disableDryRun"`
	AMIRefreshInterval               string       `json:"amiRefreshInterval"`
	SubnetRefreshInterval            string       `json:"subnetRefreshInterval"`
	SchedulerConfig                  string       `json:"schedulerConfig"`
	FeatureGates                     FeatureGates `json:"featureGates"`
	// Kerf holds settings of Kerf's own by the name of their flag without --kerf-, in camel case: nodeUpkeep is
	// --kerf-node-upkeep.
	Kerf map[string]any `json:"kerf"`
}

// FeatureGates switch what is not on for everybody. They are settings.Gates, by the names of the chart.
type FeatureGates struct {
	ReservedCapacity        bool `json:"reservedCapacity"`
	NodeRepair              bool `json:"nodeRepair"`
	SpotToSpotConsolidation bool `json:"spotToSpotConsolidation"`
	NodeOverlay             bool `json:"nodeOverlay"`
	StaticCapacity          bool `json:"staticCapacity"`
	CapacityBuffer          bool `json:"capacityBuffer"`
}
