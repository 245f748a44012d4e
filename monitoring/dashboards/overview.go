package dashboards

// overview is where to look first: is it healthy, what waits and why, what is launched and what fails.
func overview() Dashboard {
	return Dashboard{
		Name: "kerf-overview", Title: "Kerf / Overview", Says: "Is Kerf healthy, what waits and why, what is launched and what fails.",
		Rows: []Row{
			{"Now", []Panel{
				{Title: "Alerts", Kind: Stat, Unit: "none", Width: 3, Bad: 1, Says: "Alerts of Kerf that fire. Each has a section in the runbook.",
					Queries: []Query{{Expr: `count(ALERTS{cluster=~"$cluster",alertname=~"Kerf.+",alertstate="firing"}) or vector(0)`}}},
				{Title: "In sync", Kind: Stat, Unit: "none", Width: 3, Bad: 1, Low: true, Texts: map[string]string{"0": "no", "1": "yes"},
					Says:    "Whether a controller sees the whole cluster. Without that no decision is made.",
					Queries: []Query{{Expr: `max(karpenter_cluster_state_synced{@})`}}},
				{Title: "Pods without a place", Kind: Stat, Unit: "none", Width: 3, Bad: 1, Says: "Pods for which the last decision found no place. kerf explain pod tells why, and what would help.",
					Queries: []Query{{Expr: `sum(karpenter_scheduler_unschedulable_pods_count{@,controller="provisioner"})`}}},
				{Title: "Oldest waiting pod", Kind: Stat, Unit: "s", Width: 3, Bad: 600, Says: "Age of the pod that has waited longest for a node. A node takes one to three minutes.",
					Queries: []Query{{Expr: `max(kerf_oldest_pending_pod_seconds{@})`}}},
				{Title: "Nodes", Kind: Stat, Unit: "none", Width: 3, Says: "Nodes that there are, and those that are being launched.",
					Queries: []Query{{Expr: `sum(karpenter_cluster_state_node_count{@})`}}},
				{Title: "Dollars per hour", Kind: Stat, Unit: "currencyUSD", Width: 3, Says: "What the nodes of all NodePools cost per hour, at the prices in use. Disks and traffic are not in it.",
					Queries: []Query{{Expr: `sum(karpenter_nodepools_cost_total{@})`}}},
				{Title: "Blocked savings per hour", Kind: Stat, Unit: "currencyUSD", Width: 3, Says: "What would be saved per hour if nothing kept nodes that could go. The dashboard Cost and disruption says what keeps them.",
					Queries: []Query{{Expr: `sum(kerf_disruption_blocked_savings_dollars{@}) or vector(0)`}}},
				{Title: "Interruption queue", Kind: Stat, Unit: "none", Width: 3, Bad: 1, Low: true, Texts: map[string]string{"0": "down", "1": "ready"},
					Says:    "Whether the interruption queue can be read. If not, spot instances end without notice.",
					Queries: []Query{{Expr: `min(kerf_interruption_queue_ready{@})`}}},
			}},
			{"Pods", []Panel{
				{Title: "Pods without a place, by reason", Kind: Area, Unit: "none", Width: 8, Trouble: true,
					Says:    "Why pods have no place. NoOffering and TooDear: EC2 has no capacity. PoolNotReady: look at the NodePool. The others are about the pods: docs/reference/reasons.md has all of them.",
					Queries: []Query{{`sum by (reason) (kerf_unplaced_pods{@})`, "{{reason}}"}}},
				{Title: "How long pods wait", Kind: Lines, Unit: "s", Width: 8, Says: "The oldest pod without a node; and of those that a decision had a place for, the one that has waited longest for it. If the second line rises, nodes don't come.",
					Queries: []Query{{`max(kerf_oldest_pending_pod_seconds{@})`, "without a node"}, {`max(kerf_oldest_placed_pod_seconds{@})`, "has a place"}}},
				{Title: "From pod to node", Kind: Lines, Unit: "s", Width: 8, Says: "How long pods took from their creation until they were bound to a node: half of them, and all but one in a hundred. Pods for which there was room count too.",
					Queries: []Query{
						{`histogram_quantile(0.5, sum by (le) (rate(karpenter_pods_bound_duration_seconds_bucket{@}[$__rate_interval])))`, "half"},
						{`histogram_quantile(0.99, sum by (le) (rate(karpenter_pods_bound_duration_seconds_bucket{@}[$__rate_interval])))`, "99 %"},
					}},
			}},
			{"Nodes", []Panel{
				{Title: "Nodes per NodePool", Kind: Area, Unit: "none", Width: 8, Says: "Nodes of each NodePool, those that are being launched included.",
					Queries: []Query{{`sum by (nodepool) (karpenter_nodepools_usage{@,resource_type="nodes"})`, "{{nodepool}}"}}},
				{Title: "NodeClaims launched and removed per hour", Kind: Lines, Unit: "none", Width: 8, Says: "NodeClaims that were created, by reason, and those that were removed. Many of both at the same time are churn: look at Cost and disruption.",
					Queries: []Query{
						{`sum by (reason) (rate(karpenter_nodeclaims_created_total{@}[$__rate_interval])) * 3600`, "launched: {{reason}}"},
						{`sum(rate(karpenter_nodeclaims_terminated_total{@}[$__rate_interval])) * 3600`, "removed"},
					}},
				{Title: "Not ready", Kind: Lines, Unit: "s", Width: 8, Says: "For how long the object of a kind has not been ready that has not been for longest; 0 if all are. A NodeClaim is not ready until its node takes pods.",
					Queries: []Query{{`max by (kind) (kerf_oldest_unready_seconds{@})`, "{{kind}}"}}},
			}},
			{"Launches", []Panel{
				{Title: "Launches that failed per hour", Kind: Lines, Unit: "none", Width: 8, Trouble: true,
					Says:    "Errors of EC2 for launches, by reason. InsufficientInstanceCapacity is usual with spot: other types and zones are tried. Quotas and rights need a person.",
					Queries: []Query{{`sum by (capacity_type, reason) (rate(karpenter_cloudprovider_instance_launch_failures_total{@}[$__rate_interval])) * 3600`, "{{capacity_type}} {{reason}}"}}},
				{Title: "Closed for launches", Kind: Lines, Unit: "none", Width: 8, Trouble: true,
					Says:    "What Kerf does not ask EC2 for at the moment, because it failed: types in a zone, subnets, capacity types, quotas. It is tried again after some minutes.",
					Queries: []Query{{`sum by (scope, capacity_type, reason) (kerf_cloud_unavailable{@})`, "{{scope}} {{capacity_type}} {{reason}}"}}},
				{Title: "Use of limits", Kind: Lines, Unit: "percentunit", Width: 8, Trouble: true, Says: "How much of its limits each NodePool has used. At 100 % its pods stay pending. NodePools without limits are not here.",
					Queries: []Query{{`max by (nodepool, resource_type) (karpenter_nodepools_usage{@} / (karpenter_nodepools_limit{@} > 0))`, "{{nodepool}} {{resource_type}}"}}},
			}},
		},
	}
}
