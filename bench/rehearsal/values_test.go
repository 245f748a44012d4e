package rehearsal

import (
	"path/filepath"
	"strings"
	"testing"

	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Who has a file with all values of upstream's chart, from "helm show values", upgrades with it as it is.
func TestKerfsChartTakesAllValuesOfUpstreams(t *testing.T) {
	folder, version, err := upstreamModule(t.Context())
	if err != nil {
		t.Skipf("upstream's module can't be had: %v", err)
	}
	r := &rehearsal{upstream: folder, version: version}
	if r.kerf, err = root(); err != nil {
		t.Fatal(err)
	}
	_, theirs, err := r.charts()
	if err != nil {
		t.Fatal(err)
	}
	_, ours, err := r.kerfCharts()
	if err != nil {
		t.Fatal(err)
	}
	theirs.Values["settings"].(map[string]any)["clusterName"] = "shop"
	values, err := chartutil.ToRenderValues(ours, theirs.Values, chartcommon.ReleaseOptions{Name: release, Namespace: namespace, IsUpgrade: true}, chartcommon.DefaultCapabilities)
	if err != nil {
		t.Fatalf("Kerf's chart refuses the values of upstream's: %v", err)
	}
	files, err := engine.Render(ours, values)
	if err != nil {
		t.Fatal(err)
	}
	want := "image: " + manifests.Image + ":" + ours.AppVersion()
	if got := files[filepath.Join("kerf", "templates", "deployment.yaml")]; !strings.Contains(got, want) {
		t.Errorf("want %s in\n%s", want, got)
	}
}
