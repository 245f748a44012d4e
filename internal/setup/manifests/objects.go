package manifests

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (i *installation) serviceAccountName() string {
	switch {
	case i.v.ServiceAccount.Name != "":
		return i.v.ServiceAccount.Name
	case i.v.ServiceAccount.Create:
		return i.fullname
	}
	return "default"
}

func (i *installation) serviceAccount() *corev1.ServiceAccount {
	m := i.namespaced(i.serviceAccountName())
	m.Annotations = copied(i.v.AdditionalAnnotations, i.v.ServiceAccount.Annotations)
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: m}
}

func (i *installation) service() *corev1.Service {
	m := i.namespaced(i.fullname)
	m.Annotations = copied(i.v.AdditionalAnnotations, i.v.Service.Annotations)
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: m, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, Selector: i.selector(),
		Ports: []corev1.ServicePort{{Name: MetricsPort, Port: i.v.Controller.Metrics.Port, TargetPort: intstr.FromString(MetricsPort), Protocol: corev1.ProtocolTCP}},
	}}
}

func (i *installation) budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: i.namespaced(cmp.Or(i.v.PodDisruptionBudget.Name, i.fullname)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: i.v.PodDisruptionBudget.MaxUnavailable, Selector: &metav1.LabelSelector{MatchLabels: i.selector()},
			// Two pods that are not ready would keep their nodes from being drained for ever.
			UnhealthyPodEvictionPolicy: new(cmp.Or(i.v.PodDisruptionBudget.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow)),
		},
	}
}

// networkPolicy lets in who reads metrics and who asks for health. What goes out (AWS, the API server) is not narrowed: its
// addresses are not known here.
func (i *installation) networkPolicy() *networkingv1.NetworkPolicy {
	port := func(name string) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Port: new(intstr.FromString(name)), Protocol: new(corev1.ProtocolTCP)}
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: i.namespaced(i.fullname),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: i.selector()}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{port(MetricsPort), port(HealthPort)}}},
		},
	}
}

// serviceMonitor is what Prometheus Operator scrapes by. Its types are no dependency of Kerf's.
func (i *installation) serviceMonitor() *unstructured.Unstructured {
	m := &i.v.ServiceMonitor
	endpoint := map[string]any{"port": MetricsPort, "path": "/metrics"}
	for key, list := range map[string][]map[string]any{"relabelings": m.Relabelings, "metricRelabelings": m.MetricRelabelings} {
		if len(list) > 0 {
			var out []any
			for _, e := range list {
				out = append(out, e)
			}
			endpoint[key] = out
		}
	}
	for k, v := range m.EndpointConfig {
		endpoint[k] = v
	}
	spec := map[string]any{
		"namespaceSelector": map[string]any{"matchNames": []any{i.Namespace}},
		"selector":          map[string]any{"matchLabels": anyMap(i.selector())},
		"endpoints":         []any{endpoint},
	}
	if m.SampleLimit != nil {
		spec["sampleLimit"] = *m.SampleLimit
	}
	meta := map[string]any{"name": i.fullname, "namespace": i.Namespace, "labels": anyMap(copied(i.labels(), m.AdditionalLabels))}
	if a := i.v.AdditionalAnnotations; len(a) > 0 {
		meta["annotations"] = anyMap(a)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": meta, "spec": spec}}
}

func anyMap(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}
