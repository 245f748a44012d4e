package apply

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// typesSaid is how many instance types a log line names.
const typesSaid = 5

// said logs that a NodeClaim was created. Who asked for it is the controller under whose name the line stands.
func (a *Applier) said(b *launching, controller string, pods []cluster.PodRef, more ...any) {
	types := story.List(len(b.node.Types), typesSaid, func(i int) string { return b.node.Types[i].Name })
	line := append([]any{
		"controller", controller, "nodepool", b.pool.Name, "nodeclaim", b.claim.Name, "requests", amounts(b.claim.Spec.Resources.Requests), "instance_types", types,
		"pods", len(pods), "price_micro_usd_per_hour", int64(b.node.Price), "why", b.node.Why,
	}, more...)
	if len(pods) > 0 {
		line = append(line, "pod-names", story.List(len(pods), story.PodsSaid, func(i int) string { return pods[i].String() }))
	}
	a.o.Log.Info("created nodeclaim", line...)
}

// amounts are resources as people write them.
func amounts(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}
