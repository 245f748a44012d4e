// Package viewer holds the rights of those who read decisions: the pages that the controller serves beside metrics, and what
// "kerf explain" needs to reach them. The roles are generated from the markers below.
package viewer

// The pages. They hold the names and labels of all pods of all namespaces. Profiles are served where a setting says so.
// +kubebuilder:rbac:urls=/debug/decisions;/debug/decisions/*;/debug/shadow;/debug/overview;/debug/overview/*;/debug/pprof/*,verbs=get

// The way there, in the controller's namespace: the Lease names the pod, a port of it is forwarded. A Lease of another name is
// named by the Deployment.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=get
// +kubebuilder:rbac:groups=apps,namespace=kube-system,resources=deployments,verbs=list
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=pods,verbs=get;list
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=pods/portforward,verbs=create

// A token, for those whose kubeconfig yields none.
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=serviceaccounts/token,resourceNames=kerf-viewer,verbs=create
