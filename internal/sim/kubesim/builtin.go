package kubesim

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

func uid(text string) types.UID { return types.UID(text) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// prepare does to a new object what defaults and admission do in a real cluster, as far as anything looks at it.
func (s *Server) prepare(r *resource, c content) error {
	if r.custom != nil {
		return nil
	}
	switch r.plural {
	case "namespaces":
		def(c, "Active", "status", "phase")
		def(c, []any{"kubernetes"}, "spec", "finalizers")
	case "nodes":
		// Pods wait until the node's conditions have been looked at.
		addTaint(c, map[string]any{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
	case "pods":
		preparePod(c)
	case "persistentvolumeclaims", "persistentvolumes":
		def(c, "Pending", "status", "phase")
	case "deployments", "replicasets", "statefulsets":
		def(c, int64(1), "spec", "replicas")
	case "storageclasses":
		def(c, "Delete", "reclaimPolicy")
		def(c, "Immediate", "volumeBindingMode")
	}
	return nil
}

// def sets a field that is not set.
func def(c content, value any, path ...string) {
	if v, ok, _ := unstructured.NestedFieldNoCopy(c, path...); !ok || v == "" {
		_ = unstructured.SetNestedField(c, value, path...)
	}
}

func addTaint(c content, taint map[string]any) {
	taints, _, _ := unstructured.NestedSlice(c, "spec", "taints")
	for _, t := range taints {
		if m, ok := t.(map[string]any); ok && m["key"] == taint["key"] && m["effect"] == taint["effect"] {
			return
		}
	}
	_ = unstructured.SetNestedSlice(c, append(taints, taint), "spec", "taints")
}

func preparePod(c content) {
	def(c, "Always", "spec", "restartPolicy")
	def(c, "default-scheduler", "spec", "schedulerName")
	def(c, "ClusterFirst", "spec", "dnsPolicy")
	def(c, "default", "spec", "serviceAccountName")
	def(c, int64(30), "spec", "terminationGracePeriodSeconds")
	def(c, true, "spec", "enableServiceLinks")
	def(c, int64(0), "spec", "priority")
	def(c, "PreemptLowerPriority", "spec", "preemptionPolicy")
	_ = unstructured.SetNestedMap(c, map[string]any{"phase": "Pending", "qosClass": qosOf(c)}, "status")
	requestWhatIsLimited(c)
	// A node that can't be reached or is not ready loses its pods after five minutes.
	tolerations, _, _ := unstructured.NestedSlice(c, "spec", "tolerations")
	for _, k := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		if !tolerated(tolerations, k) {
			tolerations = append(tolerations, map[string]any{"key": k, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)})
		}
	}
	_ = unstructured.SetNestedSlice(c, tolerations, "spec", "tolerations")
}

func tolerated(tolerations []any, taint string) bool {
	for _, t := range tolerations {
		m, _ := t.(map[string]any)
		if (m["key"] == taint || m["key"] == nil) && (m["effect"] == nil || m["effect"] == "NoExecute") {
			return true
		}
	}
	return false
}

// eachContainer calls f for each list of containers; what f returns is stored.
func eachContainer(c content, f func(container map[string]any)) {
	for _, list := range []string{"containers", "initContainers"} {
		all, ok, _ := unstructured.NestedSlice(c, "spec", list)
		if !ok {
			continue
		}
		for _, item := range all {
			if m, ok := item.(map[string]any); ok {
				f(m)
			}
		}
		_ = unstructured.SetNestedSlice(c, all, "spec", list)
	}
}

// requestWhatIsLimited makes a limit without a request a request.
func requestWhatIsLimited(c content) {
	eachContainer(c, func(m map[string]any) {
		limits, _, _ := unstructured.NestedMap(m, "resources", "limits")
		for name, v := range limits {
			def(m, v, "resources", "requests", name)
		}
	})
	wholeRequests(c)
}

// wholeRequests completes the requests of a pod that limits what it takes as a whole: by what its containers request, else by the limit.
func wholeRequests(c content) {
	limits, _, _ := unstructured.NestedMap(c, "spec", "resources", "limits")
	if len(limits) == 0 {
		return
	}
	var spec corev1.PodSpec
	raw, _, _ := unstructured.NestedMap(c, "spec")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &spec) != nil {
		return // it is refused for that
	}
	for name, q := range resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: spec}, resourcehelper.PodResourcesOptions{}) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			def(c, q.String(), "spec", "resources", "requests", string(name))
		}
	}
	for name, v := range limits {
		if resourcehelper.IsSupportedPodLevelResource(corev1.ResourceName(name)) {
			def(c, v, "spec", "resources", "requests", name)
		}
	}
}

func qosOf(c content) string {
	some, all := false, true
	eachContainer(c, func(m map[string]any) {
		limits, _, _ := unstructured.NestedMap(m, "resources", "limits")
		requests, _, _ := unstructured.NestedMap(m, "resources", "requests")
		for _, name := range []string{"cpu", "memory"} {
			l, r := limits[name], requests[name]
			some = some || l != nil || r != nil
			all = all && l != nil && (r == nil || r == l)
		}
	})
	switch {
	case !some:
		return "BestEffort"
	case all:
		return "Guaranteed"
	}
	return "Burstable"
}

// graceOf is how many seconds a deletion waits for.
func graceOf(r *resource, u *unstructured.Unstructured, o metav1.DeleteOptions) int64 {
	if r.group != "" || r.plural != "pods" {
		return 0
	}
	grace := int64(30)
	if own, ok, _ := unstructured.NestedInt64(u.Object, "spec", "terminationGracePeriodSeconds"); ok {
		grace = own
	}
	if o.GracePeriodSeconds != nil {
		grace = max(*o.GracePeriodSeconds, 0)
	}
	node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	return grace
}

// immutable refuses changes of what can't be changed once it is there.
func immutable(r *resource, now, old content) error {
	if r.custom != nil {
		return nil
	}
	name := (&unstructured.Unstructured{Object: now}).GetName()
	switch r.plural {
	case "nodes":
		before, _, _ := unstructured.NestedString(old, "spec", "providerID")
		after, _, _ := unstructured.NestedString(now, "spec", "providerID")
		if before != "" && before != after {
			return apierrors.NewInvalid(r.gk(), name, field.ErrorList{field.Forbidden(field.NewPath("spec", "providerID"), "node updates may not change providerID except from \"\" to valid")})
		}
	case "pods":
		before, _, _ := unstructured.NestedString(old, "spec", "nodeName")
		after, _, _ := unstructured.NestedString(now, "spec", "nodeName")
		if before != after {
			return apierrors.NewInvalid(r.gk(), name, field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations), `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")})
		}
	}
	return nil
}
