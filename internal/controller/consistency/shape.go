package consistency

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// enough is the part, in percent, of the capacity that was expected of an instance that its node has to report
// (Karpenter v1 API).
const enough = 90

// missing tells which of the resources that were asked of the node it has less of than its instance reserved for; empty when
// it has them.
func missing(claim *karpv1.NodeClaim, node *corev1.Node) string {
	var out []string
	for _, name := range slices.SortedFunc(maps.Keys(claim.Spec.Resources.Requests), func(a, b corev1.ResourceName) int { return cmp.Compare(a, b) }) {
		asked, want, have := claim.Spec.Resources.Requests[name], claim.Status.Capacity[name], node.Status.Capacity[name]
		if asked.IsZero() || want.IsZero() {
			continue
		}
		if share := have.AsApproximateFloat64() / want.AsApproximateFloat64() * 100; share < enough {
			out = append(out, fmt.Sprintf("%s: expected %s, found %s (%.1f%%)", name, want.String(), have.String(), share))
		}
	}
	return strings.Join(out, "; ")
}
