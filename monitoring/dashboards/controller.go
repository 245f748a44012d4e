package dashboards

// controller shows the process itself: how fast it decides, its calls to AWS and Kubernetes, what it uses.
func controller() Dashboard {
	return Dashboard{
		Name: "kerf-controller", Title: "Kerf / Controller", Says: "How fast decisions are, calls to AWS and to the Kubernetes API, and what the controller uses.",
		Rows: []Row{
			{"Now", []Panel{
				{Title: "Leader", Kind: Stat, Unit: "none", Width: 6, Bad: 1, Low: true, Says: "How many replicas lead: 1 is right.",
					Queries: []Query{{Expr: `sum(leader_election_master_status{@})`}}},
				{Title: "Version", Kind: Stat, Unit: "none", Width: 6, Says: "Replicas of each version that run. More than one during a rollout only.",
					Queries: []Query{{`count by (version) (karpenter_build_info{@})`, "{{version}}"}}},
				{Title: "AWS services down", Kind: Stat, Unit: "none", Width: 6, Bad: 1, Says: "AWS services that do not answer a replica. What is known of them is kept.",
					Queries: []Query{{Expr: `count(min by (service) (kerf_aws_service_up{@}) == 0) or vector(0)`}}},
				{Title: "Defects", Kind: Stat, Unit: "none", Width: 6, Bad: 1, Says: "Panics and refused plans since the controllers started. Anything above 0 is a defect of Kerf: please report it.",
					Queries: []Query{{Expr: `(sum(kerf_panics_total{@}) or vector(0)) + (sum(kerf_plan_violations_total{@}) or vector(0)) + (sum(kerf_disruption_violations_total{@}) or vector(0))`}}},
			}},
			{"Decisions", []Panel{
				{Title: "Time of decisions", Kind: Lines, Unit: "s", Width: 8, Says: "How long all but one decision in a hundred took: on pods (provisioner) and on nodes (disruption).",
					Queries: []Query{{`histogram_quantile(0.99, sum by (le, controller) (rate(karpenter_scheduler_scheduling_duration_seconds_bucket{@}[$__rate_interval])))`, "{{controller}}"}}},
				{Title: "Decision that is running", Kind: Lines, Unit: "s", Width: 8, Says: "How long the decision that is running has taken so far. More than a minute is unusual.",
					Queries: []Query{{`max by (controller) (karpenter_scheduler_unfinished_work_seconds{@})`, "{{controller}}"}}},
				{Title: "Snapshots of the cluster's state", Kind: Lines, Unit: "s", Width: 8, Says: "How long all but one snapshot in a hundred took, and how long it waited for the lock of the state.",
					Queries: []Query{
						{`histogram_quantile(0.99, sum by (le) (rate(kerf_snapshot_duration_seconds_bucket{@}[$__rate_interval])))`, "took"},
						{`histogram_quantile(0.99, sum by (le) (rate(kerf_snapshot_wait_seconds_bucket{@}[$__rate_interval])))`, "waited"},
					}},
				{Title: "From pod to launch", Kind: Lines, Unit: "s", Width: 8, Says: "Time from when a pod is found to wait until the call that launches its instance, for half and for all but one in a hundred. The wait for more pods (batching) is in it.",
					Queries: []Query{
						{`histogram_quantile(0.5, sum by (le) (rate(kerf_pod_to_launch_seconds_bucket{@}[$__rate_interval])))`, "half"},
						{`histogram_quantile(0.99, sum by (le) (rate(kerf_pod_to_launch_seconds_bucket{@}[$__rate_interval])))`, "99 %"},
					}},
				{Title: "Errors of loops per second", Kind: Lines, Unit: "ops", Width: 8, Says: "Reconciliations that failed and are tried again, by controller. Now and then one is normal: two writers met.",
					Queries: []Query{{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{@}[$__rate_interval]))`, "{{controller}}"}}},
				{Title: "Work that waits", Kind: Lines, Unit: "none", Width: 8, Says: "Objects that wait to be reconciled, by controller. A line that only rises is a controller that does not keep up.",
					Queries: []Query{{`sum by (controller) (workqueue_depth{@})`, "{{controller}}"}}},
			}},
			{"AWS", []Panel{
				{Title: "Calls to AWS per second", Kind: Lines, Unit: "reqps", Width: 8, Says: "Requests to AWS, by operation.",
					Queries: []Query{{`sum by (service, action) (rate(aws_sdk_go_request_total{@}[$__rate_interval]))`, "{{service}} {{action}}"}}},
				{Title: "Calls to AWS that fail per second", Kind: Lines, Unit: "reqps", Width: 8, Trouble: true, Says: "Requests to AWS that were answered with an error, or not at all (code 0), by operation and HTTP status. Dry runs that check rights are answered with 412.",
					Queries: []Query{{`sum by (service, action, code) (rate(aws_sdk_go_request_total{@,code!~"2.."}[$__rate_interval]))`, "{{service}} {{action}} {{code}}"}}},
				{Title: "Throttled attempts per second", Kind: Lines, Unit: "reqps", Width: 8, Trouble: true, Says: "Attempts that AWS throttled. Kerf waits and tries again; launches and terminations come later.",
					Queries: []Query{{`sum by (service, action) (rate(kerf_aws_throttled_attempts_total{@}[$__rate_interval]))`, "{{service}} {{action}}"}}},
				{Title: "Time of calls to AWS", Kind: Lines, Unit: "s", Width: 8, Says: "How long all but one call in a hundred took, retries included. ReceiveMessage waits up to 20 seconds for messages on purpose.",
					Queries: []Query{{`histogram_quantile(0.99, sum by (le, service, action) (rate(aws_sdk_go_request_duration_seconds_bucket{@,action!="ReceiveMessage"}[$__rate_interval])))`, "{{service}} {{action}}"}}},
				{Title: "Failed calls by kind of error, per second", Kind: Lines, Unit: "ops", Width: 8, Trouble: true, Says: "Calls to the cloud that failed, by kind. NodeClaimNotFoundError says that an instance is gone, which is what is waited for.",
					Queries: []Query{{`sum by (controller, method, error) (rate(karpenter_cloudprovider_errors_total{@}[$__rate_interval]))`, "{{controller}} {{method}} {{error}}"}}},
				{Title: "Age of prices", Kind: Lines, Unit: "s", Width: 8, Says: "How old the prices in use are. Those that are embedded in the program are used until AWS has answered.",
					Queries: []Query{{`min by (kind, source) (kerf_price_age_seconds{@})`, "{{kind}} {{source}}"}}},
			}},
			{"Kubernetes and the process", []Panel{
				{Title: "Calls to the Kubernetes API per second", Kind: Lines, Unit: "reqps", Width: 8, Says: "Requests to the Kubernetes API by method and status. 409 is a conflict between two writers and is tried again; 403 is a right that is missing.",
					Queries: []Query{{`sum by (method, code) (rate(client_go_request_total{@}[$__rate_interval]))`, "{{method}} {{code}}"}}},
				{Title: "Time of calls to the Kubernetes API", Kind: Lines, Unit: "s", Width: 8, Says: "How long all but one request in a hundred took until its answer began.",
					Queries: []Query{{`histogram_quantile(0.99, sum by (le, verb) (rate(client_go_request_duration_seconds_bucket{@}[$__rate_interval])))`, "{{verb}}"}}},
				{Title: "Processor", Kind: Lines, Unit: "none", Width: 8, Says: "Cores that each replica uses. docs/install.md says what is usual for the size of a cluster.",
					Queries: []Query{{`sum by (pod, instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))`, "{{pod}} {{instance}}"}}},
				{Title: "Memory", Kind: Lines, Unit: "bytes", Width: 8, Says: "Memory of each replica, and what of it is live. At the container's limit it is killed and another replica takes over.",
					Queries: []Query{
						{`max by (pod, instance) (process_resident_memory_bytes{@})`, "{{pod}} {{instance}}"},
						{`max by (pod, instance) (go_memstats_heap_inuse_bytes{@})`, "live: {{pod}} {{instance}}"},
					}},
				{Title: "Cost of the metrics", Kind: Lines, Unit: "s", Width: 8, Says: "How long it takes to make the metrics of the cluster's state for a scrape. Above some seconds leave series out: docs/metrics.md says how.",
					Queries: []Query{{`max(kerf_state_metrics_duration_seconds{@})`, "seconds per scrape"}}},
				{Title: "Differences from the API", Kind: Lines, Unit: "none", Width: 8, Says: "Differences found when the view of the cluster was last compared with the API. More than 0 for long is a defect.",
					Queries: []Query{{`max(kerf_cache_differences{@})`, "differences"}}},
			}},
		},
	}
}
