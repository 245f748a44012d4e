package intake

import corev1 "k8s.io/api/core/v1"

// DisruptingAnnotation is on a Node that Kerf has begun to take away and that is not being deleted yet; its value is the
// reason. The pods of such a node keep what was given room on them elsewhere until they are evicted.
const DisruptingAnnotation = "kerf.sh/disrupting"

// Leaving reports whether Kerf has begun to take the node away.
func Leaving(node *corev1.Node) bool {
	return node != nil && node.DeletionTimestamp == nil && node.Annotations[DisruptingAnnotation] != ""
}
