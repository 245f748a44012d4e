package apply

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// typesSaid is how many instance types a log line names.
const typesSaid = 5

// said logs that a NodeClaim was created. Who asked for it is the controller under whose name the line stands.
func (a *Applier) said(b *launching, controller string, pods int, more ...any) {
	names := make([]string, 0, typesSaid)
	for i := range b.node.Types {
		if len(names) == typesSaid {
			break
		}
		names = append(names, b.node.Types[i].Name)
	}
	types := strings.Join(names, ", ")
	if left := len(b.node.Types) - len(names); left > 0 {
		types += fmt.Sprintf(" and %d other(s)", left)
	}
	line := append([]any{
		"controller", controller, "nodepool", b.pool.Name, "nodeclaim", b.claim.Name, "requests", amounts(b.claim.Spec.Resources.Requests), "instance_types", types,
		"pods", pods, "price_micro_usd_per_hour", int64(b.node.Price), "why", b.node.Why,
	}, more...)
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
