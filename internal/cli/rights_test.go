package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// discovery is what everybody may read: which kinds there are.
var discovery = map[string]string{
	"/api":          `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":         `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`,
	"/api/v1":       `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
	"/apis/apps/v1": `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["list"]}]}`,
}

// TestWhoMayNotReadIsToldTheWayOut has an API server refuse everything.
func TestWhoMayNotReadIsToldTheWayOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if text, ok := discovery[r.URL.Path]; ok {
			_, _ = w.Write([]byte(text))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,` +
			`"message":"deployments.apps is forbidden: User \"jane@example.com\" cannot list resource \"deployments\" in API group \"apps\" at the cluster scope"}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: \""+server.URL+"\"}}], users: [{name: a, user: {}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor", "--no-aws", "--cluster-name", "demo"}, {"migrate", "check", "--no-aws"}, {"explain", "node", "a"}} {
		var out, errs bytes.Buffer
		if code := Main(append(args, "--kubeconfig", file), &out, &errs); code != 1 || !strings.Contains(errs.String(), "\n  kubectl create clusterrolebinding kerf-reader --clusterrole kerf-reader --user jane@example.com\n") {
			t.Errorf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
	if text := rightToRead(newPlanCommand(), "it is not there"); text != "" {
		t.Errorf("for another error: %s", text)
	}
}
