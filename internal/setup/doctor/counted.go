package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// Forward forwards a port of this host to the metrics port of a controller's pod, until stop is called.
type Forward func(ctx context.Context, pod *corev1.Pod) (url string, stop func(), err error)

const (
	// metricsTimeout bounds one page of metrics. With thousands of nodes a page takes a second.
	metricsTimeout = 15 * time.Second
	// metricsMost bounds a page, in bytes: a cluster of 5,000 nodes has some 20 MB.
	metricsMost = 256 << 20
)

// probesCounted reads the metrics of a controller's pods through a forwarded port: pods/proxy would need the same trust, and not
// every cluster allows it.
func probesCounted(ctx context.Context, api kubernetes.Interface, forward Forward, c Controller) (int, error) {
	pods, err := api.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(c.Labels).String()})
	if err != nil {
		return 0, err
	}
	total := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		page, err := metricsOf(ctx, forward, p)
		if err != nil {
			return 0, err
		}
		total += countProbes(page)
	}
	return total, nil
}

// metricsOf is the page of metrics of a pod.
func metricsOf(ctx context.Context, forward Forward, p *corev1.Pod) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	at, stop, err := forward(ctx, p)
	if err != nil {
		return "", err
	}
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	req.Close = true // the port is forwarded for this page only
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("pod %s/%s answers %s to /metrics", p.Namespace, p.Name, resp.Status)
	}
	page, err := io.ReadAll(io.LimitReader(resp.Body, metricsMost))
	if err != nil {
		return "", fmt.Errorf("reading /metrics of pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return string(page), nil
}
