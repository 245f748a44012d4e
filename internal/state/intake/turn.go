package intake

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// TurnKey is an annotation on NodeClaims that were launched to take pods over, and a taint PreferNoSchedule on their nodes; the value is
// their number. Such nodes take the pods of their command one after the other: the scheduler, which spreads pods over nodes with
// room, could not put as many on them as the plan has.
const TurnKey = "kerf.sh/turn"

// TurnTaint is on the node of a number while its turn has not come.
func TurnTaint(turn string) corev1.Taint {
	return corev1.Taint{Key: TurnKey, Value: turn, Effect: corev1.TaintEffectPreferNoSchedule}
}

// IsTurnTaint reports whether a taint says that the turn of a node has not come.
func IsTurnTaint(t corev1.Taint) bool { return t.Key == TurnKey }

// AwaitsTurn reports whether the turn of a node has not come.
func AwaitsTurn(node *corev1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Spec.Taints, IsTurnTaint)
}

// Turn is the number in an annotation or taint; what is no number comes first.
func Turn(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return n
}
