package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Usage is what a node has in use, as the kubelet measured it: thousandths of a core, and bytes.
type Usage struct {
	CPU    int64 `json:"cpu"`
	Memory int64 `json:"memory"`
}

const (
	// usageEvery is how often the metrics API is asked while somebody looks: metrics-server measures every 15 seconds.
	usageEvery = 15 * time.Second
	// usageAgain is after which time it is asked again where it is not there, or the user may not read it.
	usageAgain = 5 * time.Minute
	// usageWithin bounds one answer.
	usageWithin = 10 * time.Second
)

// usageReader reads what nodes have in use from the metrics API (metrics.k8s.io) with the user's rights. Many clusters have none:
// then nothing is known, which is no error.
//
// Concurrency: safe.
type usageReader struct {
	config func() (*rest.Config, error)

	mu   sync.Mutex
	now  map[string]Usage
	at   time.Time // of now
	next time.Time
}

// read returns what is known, by the names of nodes; nil where nothing is. A reader that goes away does not end the question: the
// answer is for all.
func (u *usageReader) read(ctx context.Context) map[string]Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.config == nil || time.Now().Before(u.next) {
		return u.now
	}
	now, err := u.ask(context.WithoutCancel(ctx))
	u.next = time.Now().Add(usageEvery)
	switch {
	case err == nil:
		u.now, u.at = now, time.Now()
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		u.now, u.next = nil, time.Now().Add(usageAgain)
	case time.Since(u.at) > usageAgain:
		u.now = nil // what was in use then says nothing any more
	}
	return u.now
}

// nodeMetrics is the part of a NodeMetricsList (metrics.k8s.io/v1beta1) that is used.
type nodeMetrics struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Usage map[string]resource.Quantity `json:"usage"`
	} `json:"items"`
}

func (u *usageReader) ask(ctx context.Context) (map[string]Usage, error) {
	config, err := u.config()
	if err != nil {
		return nil, err
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the metrics API: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, usageWithin)
	defer cancel()
	text, err := c.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the metrics API: %w", err)
	}
	var list nodeMetrics
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading the metrics API's answer: %w", err)
	}
	out := make(map[string]Usage, len(list.Items))
	for _, n := range list.Items {
		cpu, memory := n.Usage["cpu"], n.Usage["memory"]
		out[n.Metadata.Name] = Usage{CPU: cpu.MilliValue(), Memory: memory.Value()}
	}
	return out, nil
}

// serveUsage answers with what is in use on nodes; an empty object where that is not known.
func (s *Server) serveUsage(w http.ResponseWriter, r *http.Request) {
	used := s.usage.read(r.Context())
	if used == nil {
		used = map[string]Usage{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(used)
}
