// Package leader finds the replica of the controller that leads a cluster, and reaches its ports through the Kubernetes API
// with the user's own rights, as kubectl port-forward does. Only the leader knows what was decided.
package leader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Pod is the pod that holds the Lease of the controller. The namespace may be empty: kube-system, or wherever there is one such
// Lease. A Lease of another name is the one that the controller's Deployment names.
//
// Errors: no Lease, one that nobody holds, or a holder that is no pod, each with what to look at.
func Pod(ctx context.Context, c kubernetes.Interface, namespace string) (*corev1.Pod, error) {
	lease, err := leaseIn(ctx, c, namespace)
	if err == nil {
		var pod *corev1.Pod
		if pod, err = holder(ctx, c, lease, lease.Namespace); err == nil {
			return pod, nil
		}
	}
	named, podsIn, second := namedLease(ctx, c, namespace)
	switch {
	case second != nil:
		return nil, errors.Join(err, second)
	case named == nil:
		return nil, err
	}
	return holder(ctx, c, named, podsIn)
}

// namedLease is the Lease that the settings of a controller's Deployment name, where it is not the usual one, and the namespace
// of the Deployment's pods; nil where there is none.
func namedLease(ctx context.Context, c kubernetes.Interface, namespace string) (lease *coordinationv1.Lease, podsIn string, err error) {
	list, err := c.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) && namespace == "" {
		list, err = c.AppsV1().Deployments(manifests.DefaultNamespace).List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return nil, "", fmt.Errorf("listing deployments, for the name of the Lease in the controller's settings: %w", err)
	}
	var found *appsv1.Deployment
	var at, name string
	var unread error
	for i := range list.Items {
		d := &list.Items[i]
		lookup, ok, err := doctor.SettingsOf(d, configMaps(ctx, c))
		unread = errors.Join(unread, err)
		if !ok {
			continue
		}
		leaseName, given := lookup("LEADER_ELECTION_NAME")
		leaseAt, placed := lookup("LEADER_ELECTION_NAMESPACE")
		if !given {
			leaseName = settings.LeaseName
		}
		if !placed {
			leaseAt = d.Namespace
		}
		if leaseName == settings.LeaseName && leaseAt == d.Namespace {
			continue // it was looked for already
		}
		if found != nil {
			return nil, "", fmt.Errorf("there are controllers with Leases of their own in Deployments %s/%s and %s/%s: name the namespace of the one you mean with --controller-namespace, or its address with --server",
				found.Namespace, found.Name, d.Namespace, d.Name)
		}
		found, at, name = d, leaseAt, leaseName
	}
	if found == nil {
		return nil, "", unread
	}
	lease, err = c.CoordinationV1().Leases(at).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("reading the Lease %s/%s, which Deployment %s/%s names: %w", at, name, found.Namespace, found.Name, err)
	}
	return lease, found.Namespace, nil
}

// configMaps reads ConfigMaps that a Deployment's variables are from.
func configMaps(ctx context.Context, c kubernetes.Interface) doctor.ConfigMaps {
	return func(namespace, name string) (map[string]string, error) {
		m, err := c.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return m.Data, nil
	}
}

// holder is the pod that holds a Lease.
func holder(ctx context.Context, c kubernetes.Interface, lease *coordinationv1.Lease, namespace string) (*corev1.Pod, error) {
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil, fmt.Errorf("nobody holds the Lease %s/%s: no controller runs, or it has just ended", lease.Namespace, lease.Name)
	}
	// The holder is the host's name and a UUID. The host of a pod is the pod; with hostNetwork it is the node.
	host, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	pod, err := c.CoreV1().Pods(namespace).Get(ctx, host, metav1.GetOptions{})
	if err == nil {
		return pod, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading pod %s/%s, which leads: %w", namespace, host, err)
	}
	pods, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods of namespace %s: %w", namespace, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.HostNetwork && (p.Spec.NodeName == host || strings.HasPrefix(p.Spec.NodeName, host+".")) && named(p) {
			return p, nil
		}
	}
	return nil, noPod(lease, host)
}

// noPod is the error where a Lease is held by no pod of its namespace. A controller renews its Lease every few seconds.
func noPod(lease *coordinationv1.Lease, host string) error {
	is := fmt.Sprintf("the Lease %s/%s is held by %s, which is no pod there", lease.Namespace, lease.Name, *lease.Spec.HolderIdentity)
	if s := lease.Spec; s.RenewTime != nil && s.LeaseDurationSeconds != nil {
		if since := time.Since(s.RenewTime.Time); since > time.Duration(*s.LeaseDurationSeconds)*time.Second {
			return fmt.Errorf("%s and has not renewed it for %s: no controller leads. Look at its pods (kubectl -n %s get pods), or wait until the next replica leads", is, since.Round(time.Second), lease.Namespace)
		}
	}
	own, err := os.Hostname()
	if err == nil && own == host {
		is += ", but a process on this computer"
	}
	return fmt.Errorf(`%s. The controller of a local cluster (kerf local, kerf demo) runs outside of it; set its address, KERF_SERVER, in this shell with
  eval "$(kerf local env)"
Any other that runs outside of its cluster is named with --server. If the pod has just ended, the next replica leads within seconds: ask again`, is)
}

// named reports whether the pod has a port for metrics by the chart's name.
func named(p *corev1.Pod) bool { return port(p) != 0 }

// port is the number of the metrics port; 0 where the pod names none.
func port(p *corev1.Pod) int32 {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == manifests.MetricsPort {
				return port.ContainerPort
			}
		}
	}
	return 0
}

func leaseIn(ctx context.Context, c kubernetes.Interface, namespace string) (*coordinationv1.Lease, error) {
	first := namespace
	if first == "" {
		first = manifests.DefaultNamespace
	}
	lease, err := c.CoordinationV1().Leases(first).Get(ctx, settings.LeaseName, metav1.GetOptions{})
	switch {
	case err == nil:
		return lease, nil
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the Lease %s/%s: %w", first, settings.LeaseName, err)
	case namespace != "":
		return nil, fmt.Errorf("there is no Lease %s in namespace %s: no controller has led there", settings.LeaseName, namespace)
	}
	all, err := c.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", settings.LeaseName).String()})
	if err != nil {
		return nil, fmt.Errorf("there is no Lease %s in namespace %s, and looking for it elsewhere failed: %w", settings.LeaseName, first, err)
	}
	switch len(all.Items) {
	case 0:
		return nil, fmt.Errorf("there is no Lease %s in any namespace: no controller has led this cluster (a controller with another LEADER_ELECTION_NAME has a Deployment that says so; otherwise name its address with --server)", settings.LeaseName)
	case 1:
		return &all.Items[0], nil
	}
	var names []string
	for _, l := range all.Items {
		names = append(names, l.Namespace)
	}
	return nil, fmt.Errorf("there are Leases %s in namespaces %s: name the one you mean with --controller-namespace, or its address with --server", settings.LeaseName, strings.Join(names, ", "))
}
