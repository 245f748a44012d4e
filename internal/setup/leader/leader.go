// Package leader finds the replica of the controller that leads a cluster, and reaches its ports through the Kubernetes API
// with the user's own rights, as kubectl port-forward does. Only the leader knows what was decided.
package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// metricsNumber is the metrics port of a pod that names none.
const metricsNumber = 8080

// Pod is the pod that holds the Lease of the controller. The namespace may be empty: kube-system, or wherever there is one such
// Lease.
//
// Errors: no Lease, one that nobody holds, or a holder that is no pod, each with what to look at.
func Pod(ctx context.Context, c kubernetes.Interface, namespace string) (*corev1.Pod, error) {
	lease, err := leaseIn(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil, fmt.Errorf("nobody holds the Lease %s/%s: no controller runs, or it has just ended", lease.Namespace, lease.Name)
	}
	// The holder is the host's name and a UUID. The host of a pod is the pod; with hostNetwork it is the node.
	host, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	pod, err := c.CoreV1().Pods(lease.Namespace).Get(ctx, host, metav1.GetOptions{})
	if err == nil {
		return pod, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading pod %s/%s, which leads: %w", lease.Namespace, host, err)
	}
	pods, err := c.CoreV1().Pods(lease.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods of namespace %s: %w", lease.Namespace, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.HostNetwork && (p.Spec.NodeName == host || strings.HasPrefix(p.Spec.NodeName, host+".")) && named(p) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("the Lease %s/%s is held by %s, which is no pod there: wait until the next replica leads, or name the address with --server", lease.Namespace, lease.Name, *lease.Spec.HolderIdentity)
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
		return nil, fmt.Errorf("there is no Lease %s in any namespace: no controller has led this cluster, or its LEADER_ELECTION_NAME is another: then name its address with --server", settings.LeaseName)
	case 1:
		return &all.Items[0], nil
	}
	var names []string
	for _, l := range all.Items {
		names = append(names, l.Namespace)
	}
	return nil, fmt.Errorf("there are Leases %s in namespaces %s: name the address of the one you mean with --server", settings.LeaseName, strings.Join(names, ", "))
}

// Reach forwards a port of 127.0.0.1 to the metrics port of the controller that leads, until close is called.
//
// Errors: those of Pod; a right that is missing (create pods/portforward); a pod that does not answer.
func Reach(ctx context.Context, config *rest.Config, namespace string) (url string, stop func(), err error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	pod, err := Pod(ctx, c, namespace)
	if err != nil {
		return "", nil, err
	}
	to := port(pod)
	if to == 0 {
		to = metricsNumber
	}
	at := c.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	// WebSockets pass more proxies than SPDY, which older API servers want.
	round, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	older := spdy.NewDialer(upgrader, &http.Client{Transport: round}, http.MethodPost, at)
	newer, err := portforward.NewSPDYOverWebsocketDialer(at, config)
	if err != nil {
		return "", nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	dialer := portforward.NewFallbackDialer(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	ended, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", to)}, ended, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	failed := make(chan error, 1)
	guard.Go("port-forward", func() { failed <- guard.Run("port-forward", f.ForwardPorts) })
	select {
	case err := <-failed:
		if err == nil {
			err = errors.New("the connection ended")
		}
		return "", nil, fmt.Errorf("forwarding a port to pod %s/%s, which leads (you need the right to create pods/portforward): %w", pod.Namespace, pod.Name, err)
	case <-ctx.Done():
		close(ended)
		return "", nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, context.Cause(ctx))
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil {
		close(ended)
		return "", nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local), func() { close(ended) }, nil
}
