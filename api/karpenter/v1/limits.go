package v1

import corev1 "k8s.io/api/core/v1"

// Limits are upper bounds on the sum of the resources of a pool's nodes.
type Limits corev1.ResourceList
