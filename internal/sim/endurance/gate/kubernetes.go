package gate

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// kubernetesAPI and awsAPI are the names of the APIs in calls.
const kubernetesAPI, awsAPI = "kubernetes", "aws"

// readKubernetes reads what a request to the Kubernetes API does.
//
// The paths are /api/v1/... and /apis/GROUP/VERSION/..., and then [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]].
func readKubernetes(r *http.Request, body []byte) invariant.Call {
	c := invariant.Call{API: kubernetesAPI}
	c.Verb = map[string]string{
		http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		c.Resource = "discovery"
		return c
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	c.Resource = parts[0]
	switch query := r.URL.Query(); {
	case len(parts) > 1:
		c.Key = namespace + parts[1]
	case c.Verb == "get" && truth(query, "watch"):
		c.Verb = "watch"
	case c.Verb == "get":
		c.Verb = "list"
	case c.Verb == "create":
		if name := nameIn(body); name != "" {
			c.Key = namespace + name
		}
	}
	c.Dry = r.URL.Query().Get("dryRun") != ""
	switch {
	case len(parts) > 2 && parts[2] == "eviction":
		c.Verb = "evict"
	case len(parts) > 2:
		c.Resource += "/" + parts[2]
	}
	return c
}

func truth(q url.Values, key string) bool { return q.Get(key) == "true" || q.Get(key) == "1" }

// nameIn is the name of an object in JSON; other encodings have none that can be read here.
func nameIn(body []byte) string {
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if !bytes.HasPrefix(body, []byte("{")) || json.Unmarshal(body, &o) != nil {
		return ""
	}
	return o.Metadata.Name
}

// reads reports whether a call changes nothing.
func reads(c *invariant.Call) bool {
	switch c.API {
	case kubernetesAPI:
		return c.Verb == "get" || c.Verb == "list" || c.Verb == "watch" || strings.HasSuffix(c.Resource, "reviews")
	default:
		for _, prefix := range []string{"Describe", "Get", "List", "Receive", "Simulate"} {
			if strings.HasPrefix(c.Verb, prefix) {
				return true
			}
		}
		return c.Dry
	}
}

// refuseKubernetes answers as an API server in trouble does.
func refuseKubernetes(r *http.Request, k Kind) *http.Response {
	code, reason, message := http.StatusInternalServerError, "InternalError", "Internal error occurred: etcdserver: request timed out"
	switch k {
	case Throttled:
		code, reason, message = http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later"
	case Conflict:
		code, reason, message = http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again"
	}
	text, _ := json.Marshal(map[string]any{ // of strings and a number: it can't fail
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason, "code": code,
	})
	return response(r, code, "application/json", text)
}

func response(r *http.Request, code int, kind string, text []byte) *http.Response {
	h := http.Header{"Content-Type": {kind}}
	if code == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}
}
