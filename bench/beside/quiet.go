package beside

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// quiet brings up classes with a pool and an instance each, and then leaves them alone.
func quiet(classes, instances int, d time.Duration) func(context.Context, *testCluster) (*Figures, error) {
	return func(ctx context.Context, h *testCluster) (*Figures, error) {
		var all strings.Builder
		for i := range classes {
			name := fmt.Sprintf("c%d", i)
			all.WriteString(class(name, []string{"al2023@latest", "bottlerocket@latest"}[i%2]))
			all.WriteString(pool(name, name, `
- {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
- {key: kubernetes.io/arch, operator: In, values: [amd64]}`))
		}
		for i := range instances {
			all.WriteString(deployment(fmt.Sprintf("d%d", i), 1, "1", "1Gi", fmt.Sprintf("nodeSelector: {karpenter.sh/nodepool: c%d}", i%classes)))
		}
		if err := h.apply(ctx, all.String()); err != nil {
			return nil, err
		}
		if err := h.runs(ctx, 5*time.Minute, instances); err != nil {
			return nil, err
		}
		h.say("%d pods run; two minutes to come to rest, then %s are measured", instances, d)
		if err := h.steady(ctx, 2*time.Minute); err != nil {
			return nil, err
		}
		return h.asleep(ctx, d)
	}
}

// rest brings up nodes full of pods, and then leaves them alone.
func rest(nodes, podsEach int, d time.Duration) func(context.Context, *testCluster) (*Figures, error) {
	return func(ctx context.Context, h *testCluster) (*Figures, error) {
		manifests := class("default", "al2023@latest") + pool("default", "default", `
- {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m6i.large, m7i.large, m6a.large]}
- {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
- {key: kubernetes.io/arch, operator: In, values: [amd64]}`)
		// What fills an instance of two vCPU and eight GiB: one pod on each node that takes the most of it, which spreads by
		// host, and fourteen small ones. They come when all nodes are there: while both come at once the scheduler puts small
		// pods where they were not planned, and the instances that are too many then go one after the other, which is no rest.
		if err := h.apply(ctx, manifests+deployment("wide", nodes, "900m", "3Gi", `
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: wide}}}]}}`)); err != nil {
			return nil, err
		}
		if err := h.runs(ctx, 20*time.Minute, nodes); err != nil {
			return nil, err
		}
		h.say("%d nodes are there", nodes)
		manifests = ""
		for i := range podsEach - 1 {
			manifests += deployment(fmt.Sprintf("small-%d", i), nodes, "65m", "220Mi", "")
		}
		if err := h.apply(ctx, manifests); err != nil {
			return nil, err
		}
		if err := h.runs(ctx, 20*time.Minute, nodes*podsEach); err != nil {
			return nil, err
		}
		h.say("%d pods run; waiting for the bill to stand still for two minutes, then %s are measured", nodes*podsEach, d)
		if err := h.steady(ctx, 2*time.Minute); err != nil {
			return nil, err
		}
		return h.asleep(ctx, d)
	}
}

// steady waits until the bill has not moved for a while.
func (h *testCluster) steady(ctx context.Context, d time.Duration) error {
	return h.until(ctx, 30*time.Minute, "the bill stands still", h.still(ctx, d))
}

// still is a check of whether the bill has not moved for a while.
func (h *testCluster) still(ctx context.Context, d time.Duration) func() (bool, string) {
	last, since := int64(-1), time.Now()
	return func() (bool, string) {
		_, now, err := h.bill(ctx)
		if err != nil || now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= d, fmt.Sprintf("%d micro-USD/h for %s", last, time.Since(since).Round(time.Second))
	}
}
