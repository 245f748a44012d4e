package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Pods are how long pods take on their way to running. What a pod waits for at the moment is a metric of the state
// (package statemetrics).
type Pods struct {
	startup             prometheus.Summary
	bound               prometheus.Histogram
	provisioningStartup prometheus.Histogram
	provisioningBound   prometheus.Histogram
	decided             prometheus.Histogram
}

func pods(t table) Pods {
	one := func(name, help string) prometheus.Histogram {
		return add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}))
	}
	return Pods{
		startup: add(t, prometheus.NewSummary(prometheus.SummaryOpts{Name: "karpenter_pods_startup_duration_seconds",
			Help: "Time from a pod's creation until it runs.", Objectives: quantiles})),
		bound:               one("karpenter_pods_bound_duration_seconds", "Time from a pod's creation until it is bound to a node."),
		provisioningStartup: one("karpenter_pods_provisioning_startup_duration_seconds", "Time from the first decision that has a place for a pod until the pod runs."),
		provisioningBound:   one("karpenter_pods_provisioning_bound_duration_seconds", "Time from the first decision that has a place for a pod until it is bound to a node."),
		decided:             one("karpenter_pods_scheduling_decision_duration_seconds", "Time from when Kerf first finds that a pod waits for a node until the first decision on it."),
	}
}

// Decided notes the first decision on a pod.
func (p Pods) Decided(after time.Duration) { p.decided.Observe(after.Seconds()) }

// Bound notes that a pod was bound so long after its creation, and so long after a decision had a place for it; below zero: none
// had.
func (p Pods) Bound(after, placed time.Duration) {
	p.bound.Observe(after.Seconds())
	if placed >= 0 {
		p.provisioningBound.Observe(placed.Seconds())
	}
}

// Started notes that a pod began to run; see Bound.
func (p Pods) Started(after, placed time.Duration) {
	p.startup.Observe(after.Seconds())
	if placed >= 0 {
		p.provisioningStartup.Observe(placed.Seconds())
	}
}
