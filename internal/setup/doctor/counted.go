package doctor

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// probesCounted reads the metrics of a controller's pods through the API server.
func probesCounted(ctx context.Context, api kubernetes.Interface, c Controller) (int, error) {
	pods, err := api.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(c.Labels).String()})
	if err != nil {
		return 0, err
	}
	total := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase != corev1.PodRunning {
			continue
		}
		page, err := api.CoreV1().Pods(c.Namespace).ProxyGet("http", p.Name, strconv.Itoa(c.MetricsPort), "metrics", nil).DoRaw(ctx)
		if err != nil {
			return 0, err
		}
		total += countProbes(string(page))
	}
	return total, nil
}
