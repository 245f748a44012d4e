package v1

// Disruption says when and how fast nodes of a pool may be disrupted.
type Disruption struct {
	// How long no pod may have come to a node, ended on it or begun to leave it before the node may be
	// consolidated. Less than 2s counts as 2s. Never: nodes of the pool are not consolidated. Drift and expiry
	// do not wait for it.
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter,omitzero"`
	// Which nodes may be consolidated. WhenEmpty: those without pods, DaemonSets apart.
	// WhenEmptyOrUnderutilized: those, and whichever can be removed or replaced for less money. Balanced:
	// as that, as long as what a move saves is in proportion to how much it disrupts.
	// +kubebuilder:default="WhenEmptyOrUnderutilized"
	// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// How many nodes of the pool may be disrupted at once. Of the budgets that apply at a moment the
	// strictest counts. An empty list sets no bound. Expiry, repair of unhealthy nodes and interruptions do not wait
	// for a budget.
	// +kubebuilder:default={{"nodes": "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(x, has(x.schedule) == has(x.duration))",message="set 'schedule' together with 'duration', or neither"
	// +listType=atomic
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
}

// ConsolidationPolicy names which nodes may be consolidated.
type ConsolidationPolicy string

// Consolidation policies.
const (
	ConsolidationPolicyWhenEmpty                ConsolidationPolicy = "WhenEmpty"
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	ConsolidationPolicyBalanced                 ConsolidationPolicy = "Balanced"
)

// DisruptionReason names why a node is disrupted voluntarily.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted
type DisruptionReason string

// Disruption reasons.
const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
)

// Budget bounds the number of nodes that are disrupted at the same time.
type Budget struct {
	// Reasons that the budget is for: Empty and Underutilized are consolidation of nodes without and with
	// pods, Drifted is replacement of nodes that differ from what their pool asks for. Unset: all three.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// Number of nodes, or a percentage of the pool's nodes (rounded up), that may be leaving or not ready
	// at a time. 0 lets none be disrupted.
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	// +required
	Nodes string `json:"nodes"`
	// When the budget begins to apply: five cron fields or a macro such as @daily, in UTC. A time zone
	// (TZ= or CRON_TZ=) is not supported: nothing is disrupted for the budget's reasons until it is
	// removed. Needs a duration. Unset: the budget applies always.
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// How long the budget applies after each start of its schedule, in hours and minutes, such as 8h or
	// 1h30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}
