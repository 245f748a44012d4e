package obs

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Kube are the requests to the Kubernetes API.
type Kube struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func kube(t table) Kube {
	return Kube{
		requests: t.counter("client_go_request_total", "Requests to the Kubernetes API, by HTTP method and status; code is `<error>` where no answer came.", "code", "method"),
		duration: t.histogram("client_go_request_duration_seconds", "Time of requests to the Kubernetes API until the answer begins; kind is the resource as it stands in the path, such as nodeclaims.", "verb", "group", "version", "kind", "subresource"),
	}
}

// Transport counts and times what goes through a transport to the Kubernetes API.
func (k Kube) Transport(next http.RoundTripper) http.RoundTripper { return measured{k, next} }

type measured struct {
	Kube
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (m measured) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	answer, err := m.next.RoundTrip(r)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(answer.StatusCode)
	}
	m.requests.WithLabelValues(code, r.Method).Inc()
	if group, version, kind, subresource, ok := resourceOf(r.URL.Path); ok {
		m.duration.WithLabelValues(r.Method, group, version, kind, subresource).Observe(time.Since(begun).Seconds())
	}
	return answer, err //nolint:wrapcheck // a transport hands errors on as they are
}

// resourceOf reads what a request is about from its path, by the rules of the Kubernetes API: /api/v1/… for the core group,
// /apis/group/version/… for others, then namespaces/name/ for what lies in a namespace, resource, name and subresource.
func resourceOf(path string) (group, version, resource, subresource string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return "", "", "", "", false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !(len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")) {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		subresource = parts[2]
	}
	return group, version, parts[0], subresource, true
}
