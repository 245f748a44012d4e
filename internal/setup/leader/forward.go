package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kerf-sh/kerf/internal/guard"
)

// metricsNumber is the metrics port of a pod that names none.
const metricsNumber = 8080

// Forward forwards a port of 127.0.0.1 to the metrics port of a controller's pod, until stop is called or the connection to the pod
// ends; gone is closed then, and the port may be somebody else's. No token is sent there.
//
// Errors: a right that is missing (create pods/portforward); a pod that does not answer.
func Forward(ctx context.Context, config *rest.Config, pod *corev1.Pod) (url string, gone <-chan struct{}, stop func(), err error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	to := port(pod)
	if to == 0 {
		to = metricsNumber
	}
	at := c.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	// WebSockets pass more proxies than SPDY, which older API servers want.
	round, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	older := spdy.NewDialer(upgrader, &http.Client{Transport: round}, http.MethodPost, at)
	newer, err := portforward.NewSPDYOverWebsocketDialer(at, config)
	if err != nil {
		return "", nil, nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	dialer := portforward.NewFallbackDialer(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	ended, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", to)}, ended, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	failed, over := make(chan error, 1), make(chan struct{})
	guard.Go("port-forward", func() {
		defer close(over)
		failed <- guard.Run("port-forward", f.ForwardPorts)
	})
	select {
	case err := <-failed:
		if err == nil {
			err = errors.New("the connection ended")
		}
		return "", nil, nil, fmt.Errorf("forwarding a port to pod %s/%s (you need the right to create pods/portforward): %w", pod.Namespace, pod.Name, err)
	case <-ctx.Done():
		close(ended)
		return "", nil, nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, context.Cause(ctx))
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil {
		close(ended)
		return "", nil, nil, fmt.Errorf("forwarding a port to pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local), over, func() { close(ended) }, nil
}
