package readonly_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/state/readonly"
)

func TestOnlyWhatChangesNothingLeavesTheProcess(t *testing.T) {
	for sentence, tt := range map[string]struct {
		method, path string
		upgrade      bool
		dryRuns      bool
		refused      string // empty: it is let out
	}{
		"a list":                             {method: "GET", path: "/api/v1/pods"},
		"a watch":                            {method: "GET", path: "/apis/karpenter.sh/v1/nodepools?watch=true"},
		"whose a token is":                   {method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews"},
		"what somebody may do":               {method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
		"a token":                            {method: "POST", path: "/api/v1/namespaces/a/serviceaccounts/b/token", refused: "POST serviceaccounts/token"},
		"a new object":                       {method: "POST", path: "/apis/karpenter.sh/v1/nodeclaims", refused: "POST nodeclaims.karpenter.sh"},
		"a status":                           {method: "PATCH", path: "/apis/karpenter.sh/v1/nodeclaims/a/status", refused: "PATCH nodeclaims.karpenter.sh/status"},
		"an eviction":                        {method: "POST", path: "/api/v1/namespaces/a/pods/b/eviction", refused: "POST pods/eviction"},
		"an event":                           {method: "POST", path: "/api/v1/namespaces/default/events", refused: "POST events"},
		"a lease":                            {method: "PUT", path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x", refused: "PUT leases.coordination.k8s.io"},
		"a deletion":                         {method: "DELETE", path: "/api/v1/nodes/n", refused: "DELETE nodes"},
		"a namespace itself":                 {method: "DELETE", path: "/api/v1/namespaces/a", refused: "DELETE namespaces"},
		"a shell in a pod":                   {method: "GET", path: "/api/v1/namespaces/a/pods/b/exec", upgrade: true, refused: "GET pods/exec"},
		"a dry run where none is allowed":    {method: "PATCH", path: "/apis/karpenter.sh/v1/nodepools/a?dryRun=All", refused: "PATCH nodepools.karpenter.sh"},
		"a dry run":                          {method: "PATCH", path: "/apis/karpenter.sh/v1/nodepools/a?dryRun=All", dryRuns: true},
		"a change where dry runs are let be": {method: "PUT", path: "/apis/karpenter.sh/v1/nodepools/a", dryRuns: true, refused: "PUT nodepools.karpenter.sh"},
		"half a dry run":                     {method: "PUT", path: "/apis/karpenter.sh/v1/nodepools/a?dryRun=", dryRuns: true, refused: "PUT nodepools.karpenter.sh"},
		"a deletion as a dry run":            {method: "DELETE", path: "/api/v1/nodes/n?dryRun=All", dryRuns: true, refused: "DELETE nodes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			arrived := 0
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived++ }))
			defer server.Close()
			var told []string
			g := &readonly.Guard{DryRuns: tt.dryRuns}
			g.Tell(func(what string) { told = append(told, what) })
			r, err := http.NewRequest(tt.method, server.URL+tt.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.upgrade {
				r.Header.Set("Upgrade", "SPDY/3.1")
			}
			resp, err := g.Kubernetes(http.DefaultTransport).RoundTrip(r)
			if err == nil {
				_ = resp.Body.Close()
			}
			if tt.refused == "" {
				if err != nil || arrived != 1 || g.Total() != 0 {
					t.Fatalf("%v, %d arrived, refused %v", err, arrived, g.Refused())
				}
				return
			}
			if !errors.Is(err, readonly.ErrRefused) || arrived != 0 || !maps.Equal(g.Refused(), map[string]int{tt.refused: 1}) || len(told) != 1 || told[0] != tt.refused {
				t.Fatalf("%v, %d arrived, refused %v, told %q", err, arrived, g.Refused(), told)
			}
		})
	}
}
