package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// bootstrap checks for the objects that the apiserver makes by itself some
// time after it says that it is ready, and adds what a cluster's installer
// would add. It is tried until it returns nil.
func bootstrap(ctx context.Context, l layout) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig("admin"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
		if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	for _, name := range []string{"system-cluster-critical", "system-node-critical"} {
		if _, err := client.SchedulingV1().PriorityClasses().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("priority class %s: %w", name, err)
		}
	}
	_, err = client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, dnsService(l), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("service kube-dns: %w", err)
	}
	return nil
}

// dnsService is where instances are told to look names up. Nothing answers
// there; what counts is the address, which ends up in their user data.
func dnsService(l layout) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      "kube-dns",
			Namespace: metav1.NamespaceSystem,
			Labels:    map[string]string{"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: l.dnsIP.String(),
			Selector:  map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: corev1.ProtocolUDP},
				{Name: "dns-tcp", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}
