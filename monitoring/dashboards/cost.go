package dashboards

// cost shows what the cluster costs, what would be saved, and what moves because of that.
func cost() Dashboard {
	return Dashboard{
		Name: "kerf-cost", Title: "Kerf / Cost and disruption", Says: "What the nodes cost, what keeps savings from being made, what is moved, and interruptions.", ByPool: true,
		Rows: []Row{
			{"Cost", []Panel{
				{Title: "Dollars per hour", Kind: Area, Unit: "currencyUSD", Width: 8, Says: "What the nodes of each NodePool cost per hour at the prices in use, NodeOverlays included. It is no bill: disks, traffic and other nodes are not in it.",
					Queries: []Query{{`sum by (nodepool) (karpenter_nodepools_cost_total{@,nodepool=~"$nodepool"})`, "{{nodepool}}"}}},
				{Title: "Dollars per hour, and what it could be", Kind: Lines, Unit: "currencyUSD", Width: 8,
					Says: "What all nodes cost per hour; what they would if nothing kept those that could go; and the floor, for less than which no instances can carry the pods. The floor is there if the setting kerf-floor-every is; kerf status and kerf ui always show it.",
					Queries: []Query{
						{`sum(karpenter_nodepools_cost_total{@})`, "now"},
						{`sum(karpenter_nodepools_cost_total{@}) - (sum(kerf_disruption_blocked_savings_dollars{@}) or vector(0))`, "if nothing were blocked"},
						{`sum(kerf_cost_floor_dollars{@})`, "floor"},
					}},
				{Title: "Use of the nodes", Kind: Lines, Unit: "percent", Width: 8, Says: "What pods ask for, as a share of what all nodes have. DaemonSets count as pods.",
					Queries: []Query{{`max by (resource_type) (karpenter_cluster_utilization_percent{@})`, "{{resource_type}}"}}},
			}},
			{"Savings", []Panel{
				{Title: "Blocked savings per hour, by reason", Kind: Area, Unit: "currencyUSD", Width: 8, Trouble: true,
					Says:    "Savings that are missed, by what keeps the nodes: a PodDisruptionBudget, an annotation, a budget of the NodePool. kerf status names the objects.",
					Queries: []Query{{`sum by (reason) (kerf_disruption_blocked_savings_dollars{@})`, "{{reason}}"}}},
				{Title: "Nodes that are kept, by reason", Kind: Area, Unit: "none", Width: 8, Says: "Nodes that are not disrupted, by the first reason that keeps them. Most are kept because removing them would save nothing.",
					Queries: []Query{{`sum by (reason) (kerf_disruption_kept_nodes{@})`, "{{reason}}"}}},
				{Title: "Moves are held back", Kind: Lines, Unit: "none", Width: 8, Says: "1 while moves are on hold because pods did not fit where they were placed. Beside it the share of pods that are where the decision placed them: if it falls, the breaker opens.",
					Queries: []Query{{`max(kerf_disruption_breaker_open{@})`, "on hold"}, {`min by (decision) (kerf_placement_as_planned_ratio{@})`, "as planned: {{decision}}"}}},
			}},
			{"Disruption", []Panel{
				{Title: "Disruptions per hour", Kind: Lines, Unit: "none", Width: 8, Says: "Disruptions that were started, by reason and by whether the node was deleted or replaced.",
					Queries: []Query{{`sum by (reason, decision) (rate(karpenter_voluntary_disruption_decisions_total{@}[$__rate_interval])) * 3600`, "{{reason}}: {{decision}}"}}},
				{Title: "Nodes that are removed per hour, by reason", Kind: Lines, Unit: "none", Width: 8, Says: "NodeClaims whose disruption was started or that were given up, by reason: forced ones, such as interruptions and expiry, are in it.",
					Queries: []Query{{`sum by (reason) (rate(karpenter_nodeclaims_disrupted_total{@,nodepool=~"$nodepool"}[$__rate_interval])) * 3600`, "{{reason}}"}}},
				{Title: "Pods evicted per hour", Kind: Lines, Unit: "none", Width: 8, Says: "Calls to evict a pod, by the answer: 429 is a PodDisruptionBudget that forbids it at the moment, and is tried again.",
					Queries: []Query{{`sum by (code) (rate(karpenter_pods_eviction_requests_total{@}[$__rate_interval])) * 3600`, "{{code}}"}}},
				{Title: "Under way", Kind: Lines, Unit: "none", Width: 8, Says: "Disruptions that are under way; and nodes that count against the budgets of NodePools.",
					Queries: []Query{{`sum(kerf_disruption_commands{@})`, "disruptions"}, {`max by (nodepool, reason) (karpenter_nodepools_nodes_consuming_budgets{@,nodepool=~"$nodepool"})`, "against budgets: {{nodepool}} {{reason}}"}}},
				{Title: "Allowed by budgets", Kind: Lines, Unit: "none", Width: 8, Says: "How many more nodes the budgets of NodePools allow to be disrupted now. At 0 nothing is consolidated or updated.",
					Queries: []Query{{`min by (nodepool, reason) (karpenter_nodepools_allowed_disruptions{@,nodepool=~"$nodepool"})`, "{{nodepool}} {{reason}}"}}},
				{Title: "How long nodes drain", Kind: Lines, Unit: "s", Width: 8, Says: "The node that has been draining longest now, and how long NodeClaims took from their deletion until they were gone. A PodDisruptionBudget or a pod that does not end may hold a drain.",
					Queries: []Query{{`max(kerf_oldest_drain_seconds{@})`, "longest now"}, {`histogram_quantile(0.99, sum by (le) (rate(karpenter_nodeclaims_termination_duration_seconds_bucket{@,nodepool=~"$nodepool"}[$__rate_interval])))`, "99 % took"}}},
			}},
			{"Interruptions and prices", []Panel{
				{Title: "Interruption messages per hour", Kind: Lines, Unit: "none", Width: 8, Says: "Messages from the interruption queue, by type. spot_interrupted: AWS takes an instance back in two minutes.",
					Queries: []Query{{`sum by (message_type) (rate(karpenter_interruption_received_messages_total{@}[$__rate_interval])) * 3600`, "{{message_type}}"}}},
				{Title: "Delay of messages", Kind: Lines, Unit: "s", Width: 8, Says: "How long messages were on the queue before they were read. Of a spot interruption's two minutes this much is lost.",
					Queries: []Query{{`histogram_quantile(0.99, sum by (le) (rate(karpenter_interruption_message_queue_duration_seconds_bucket{@}[$__rate_interval])))`, "99 %"}}},
				{Title: "Paid over planned", Kind: Lines, Unit: "percentunit", Width: 8, Says: "Prices of launched instances over those that the plan counted on: 100 % is as planned. More means that the cheapest had no capacity.",
					Queries: []Query{{`sum by (capacity_type) (rate(kerf_launch_price_over_plan_ratio_sum{@}[$__rate_interval])) / sum by (capacity_type) (rate(kerf_launch_price_over_plan_ratio_count{@}[$__rate_interval]))`, "{{capacity_type}}"}}},
			}},
		},
	}
}
