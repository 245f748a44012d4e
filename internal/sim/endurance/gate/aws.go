package gate

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
)

// readAWS reads what a request to AWS does, in each of the protocols that its services speak: forms, JSON with a target
// header, and REST, where the method and the path stand for the operation.
func readAWS(r *http.Request, body []byte) invariant.Call {
	c := invariant.Call{API: awsAPI}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		c.Verb = target[strings.LastIndexByte(target, '.')+1:]
		return c
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		c.Verb = map[string]string{http.MethodGet: "Get", http.MethodHead: "Get"}[r.Method]
		if c.Verb == "" {
			c.Verb = r.Method + " "
		}
		c.Verb += r.URL.Path
		return c
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		c.Verb = "unreadable"
		return c
	}
	c.Verb = form.Get("Action")
	c.Dry = form.Get("DryRun") == "true"
	for key, values := range form {
		if strings.HasPrefix(key, "InstanceId.") || strings.HasPrefix(key, "ResourceId.") {
			c.Instances = append(c.Instances, values...)
		}
	}
	return c
}

// refuseAWS answers as a service in trouble does, in the protocol of the request.
func refuseAWS(r *http.Request, k Kind) *http.Response {
	code, status := "InternalError", http.StatusInternalServerError
	if k == Throttled {
		code, status = "RequestLimitExceeded", http.StatusServiceUnavailable
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		text := "<Response><Errors><Error><Code>" + code + "</Code><Message>made by the gate</Message></Error></Errors><RequestID>gate</RequestID></Response>"
		return response(r, status, "text/xml", []byte(text))
	}
	return response(r, status, "application/x-amz-json-1.1", []byte(`{"__type":"`+code+`","message":"made by the gate"}`))
}
