// Package overlays holds the rights in the cluster that the controller needs besides with the feature gate NodeOverlay. The
// role is generated from the markers below.
package overlays

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeoverlays,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeoverlays/status,verbs=patch
