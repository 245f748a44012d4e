package obs

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestWhatARequestIsAbout(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                                       " v1 pods ",
		"/api/v1/namespaces/a/pods/b/eviction":               " v1 pods eviction",
		"/api/v1/namespaces/a":                               " v1 namespaces ",
		"/api/v1/namespaces/a/status":                        " v1 namespaces status",
		"/apis/karpenter.sh/v1/nodeclaims/c/status":          "karpenter.sh v1 nodeclaims status",
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/b": "coordination.k8s.io v1 leases ",
		"/version":              "none",
		"/apis/karpenter.sh/v1": "none",
		"/apis/apps/v1/namespaces/kube-system/daemonsets/x":    "apps v1 daemonsets ",
		"/apis/policy/v1/namespaces/a/poddisruptionbudgets":    "policy v1 poddisruptionbudgets ",
		"/api/v1/nodes/ip-10-0-0-1.ec2.internal":               " v1 nodes ",
		"/apis/karpenter.k8s.aws/v1/ec2nodeclasses?watch=true": "karpenter.k8s.aws v1 ec2nodeclasses?watch=true ",
	} {
		group, version, resource, subresource, ok := resourceOf(path)
		got := group + " " + version + " " + resource + " " + subresource
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s is about %q, want %q", path, got, want)
		}
	}
}

type transport func() (*http.Response, error)

func (t transport) RoundTrip(*http.Request) (*http.Response, error) { return t() }

func TestRequestsToKubernetesAreCounted(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	for _, answer := range []transport{
		func() (*http.Response, error) { return &http.Response{StatusCode: http.StatusConflict}, nil },
		func() (*http.Response, error) { return nil, errors.New("no route") },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://kubernetes/api/v1/nodes/a?x=y", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Kube.Transport(answer).RoundTrip(r) //nolint:bodyclose // there is none
		if (got == nil) != (err != nil) {
			t.Errorf("the answer is not handed on: %v, %v", got, err)
		}
	}
	for _, code := range []string{"409", "<error>"} {
		if n := testutil.ToFloat64(m.Kube.requests.WithLabelValues(code, "PUT")); n != 1 {
			t.Errorf("%v requests with %s, want 1", n, code)
		}
	}
	if n := testutil.CollectAndCount(m.Kube.duration); n != 1 {
		t.Errorf("%d resources were timed, want 1", n)
	}
}

func TestADecisionThatRunsIsSeen(t *testing.T) {
	now := time.Unix(1000, 0)
	w := work(table{prometheus.NewRegistry(), new([]vector)})
	w.now = func() time.Time { return now }
	end := w.Begin("provisioner")
	now = now.Add(3 * time.Second)
	if got := w.running("provisioner"); got != 3*time.Second {
		t.Errorf("it has run for %v, want 3s", got)
	}
	if got := w.running("disruption"); got != 0 {
		t.Errorf("another has run for %v", got)
	}
	end()
	if got := w.running("provisioner"); got != 0 {
		t.Errorf("it still runs after its end: %v", got)
	}
}

func TestTransitionsAreCountedByKind(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Conditions.Changed("NodeClaim", "Ready", "False", "True", "Ready", time.Minute, []string{"class", "pool"})
	m.Conditions.Changed("Node", "Ready", "True", "False", "KubeletDown", time.Hour, []string{"class", "true", "pool"})
	m.Conditions.Changed("Secret", "Ready", "True", "False", "x", time.Hour, nil)
	m.Conditions.Ended("NodePool", time.Second, nil)
	if n := testutil.ToFloat64(m.Conditions.kinds["NodeClaim"].transitions.WithLabelValues("Ready", "True", "Ready", "class", "pool")); n != 1 {
		t.Errorf("%v transitions of NodeClaims, want 1", n)
	}
	if n := testutil.ToFloat64(m.Conditions.generic.transitions.WithLabelValues("Ready", "True", "Ready", "karpenter.sh", "NodeClaim")); n != 1 {
		t.Errorf("%v transitions of objects, want 1", n)
	}
	if n := testutil.CollectAndCount(m.Conditions.generic.transitions); n != 1 {
		t.Errorf("Nodes are in the metrics of all kinds, too: %d series", n)
	}
	if n := testutil.CollectAndCount(m.Conditions.generic.termination); n != 1 {
		t.Errorf("%d series of ends, want 1", n)
	}
}
