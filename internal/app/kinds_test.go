package app

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/internal/settings"
)

func TestWhatIsSaidOfMissingKindsIsThere(t *testing.T) {
	files := crds.YAML()
	for _, c := range customs(settings.Settings{FeatureGates: settings.Gates{NodeOverlay: true, CapacityBuffer: true}}) {
		text := string(files[c.group+"_"+c.plural+".yaml"])
		if !strings.Contains(text, "name: "+c.String()) || !strings.Contains(text, "name: "+c.version) {
			t.Errorf("the CRDs do not define %s %s", c, c.version)
		}
	}
}

func TestProbesAnswerWhileKindsAreMissing(t *testing.T) {
	h := kindProbes(func() string { return "nodepools.karpenter.sh is missing" })
	for target, want := range map[string]struct {
		code int
		text string
	}{"/healthz": {200, "ok"}, "/readyz": {500, "nodepools.karpenter.sh is missing"}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != want.code || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}
