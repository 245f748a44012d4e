// Package charts_test holds the charts to the objects of "kerf manifests", and installs, upgrades and removes them with Helm's
// own code in a real control plane.
package charts_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/action"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	plain "sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

const (
	kerfChart = "../../charts/kerf"
	crdChart  = "../../charts/kerf-crd"
)

func load(t testing.TB, dir string) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render gives the objects of a chart, by kind and name, as trees in the form that the API server keeps them.
func render(t testing.TB, c *chartv2.Chart, values map[string]any) map[string]map[string]any {
	t.Helper()
	all, err := chartutil.ToRenderValues(c, values, chartcommon.ReleaseOptions{Name: manifests.DefaultName, Namespace: manifests.DefaultNamespace, Revision: 1, IsInstall: true}, chartcommon.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") || strings.TrimSpace(text) == "" {
			continue
		}
		decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
		for {
			tree := map[string]any{}
			if err := decoder.Decode(&tree); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			add(t, out, tree)
		}
	}
	return out
}

// add puts a tree among others in the form of its type, in which 1 and "1" are the same amount.
func add(t testing.TB, out map[string]map[string]any, tree map[string]any) {
	t.Helper()
	text, err := plain.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	o, kind, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	switch {
	case runtime.IsNotRegisteredError(err):
		u := &unstructured.Unstructured{}
		if err := plain.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		out[u.GetKind()+" "+u.GetName()] = u.Object
		return
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	if err := plain.UnmarshalStrict(text, o); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	normal, err := manifests.Plain(o.(client.Object))
	if err != nil {
		t.Fatal(err)
	}
	out[kind.Kind+" "+o.(client.Object).GetName()] = normal
}

// model gives the objects of "kerf manifests" in the same form.
func model(t testing.TB, version string, values ...map[string]any) map[string]map[string]any {
	t.Helper()
	v := manifests.Defaults()
	for _, over := range values {
		var err error
		if v, err = v.With(over); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := manifests.Objects(manifests.Release{Version: version}, v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, o := range objects {
		tree, err := manifests.Plain(o)
		if err != nil {
			t.Fatal(err)
		}
		add(t, out, tree)
	}
	return out
}

func TestTheChartIsWhatManifestsPrints(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/values.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			values := map[string]any{}
			if err := plain.Unmarshal(f.Data, &values); err != nil {
				t.Fatal(err)
			}
			c := load(t, kerfChart)
			if diff := cmp.Diff(model(t, c.Metadata.AppVersion, values), render(t, c, values)); diff != "" {
				t.Errorf("the chart has + what manifests has -:\n%s", diff)
			}
		})
	}
}

// Where somebody upgrades a release of the Karpenter chart with --reuse-values, the chart has none of its own defaults.
func TestTheValuesOfTheKarpenterChartAreEnough(t *testing.T) {
	text, err := os.ReadFile("testdata/karpenter-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := plain.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	c := load(t, kerfChart)
	c.Values = values
	got := render(t, c, nil)
	noResources := map[string]any{"controller": map[string]any{"resources": nil}}
	if diff := cmp.Diff(model(t, c.Metadata.AppVersion, noResources, values), got); diff != "" {
		t.Errorf("the chart has + what manifests has -:\n%s", diff)
	}
	deployment, err := plain.Marshal(got["Deployment karpenter"])
	if err != nil {
		t.Fatal(err)
	}
	if want := manifests.Image + ":" + c.Metadata.AppVersion; !bytes.Contains(deployment, []byte("image: "+want)) {
		t.Errorf("it does not run %s:\n%s", want, deployment)
	}
}

func TestAWrongValueIsRefused(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"unknown": {"setings": map[string]any{}}, "nested": {"settings": map[string]any{"clustername": "demo"}}, "of another type": {"replicas": "two"},
		"a setting of Kerf": {"settings": map[string]any{"clusterName": "demo", "kerf": map[string]any{"nodeUpkep": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chartutil.ToRenderValues(load(t, kerfChart), values, chartcommon.ReleaseOptions{Name: "karpenter"}, chartcommon.DefaultCapabilities)
			if err == nil {
				t.Error("the schema lets it pass")
			}
			v, err := manifests.Defaults().With(values)
			if err == nil {
				_, err = manifests.Objects(manifests.Release{Version: "v1"}, v)
			}
			if err == nil {
				t.Error("manifests lets it pass")
			}
		})
	}
}

// The chart makes the variable of each setting of Kerf's own from its name in the values.
func TestTheChartKnowsEverySettingOfKerf(t *testing.T) {
	own := map[string]any{}
	for name := range manifests.OwnSettings() {
		own[name] = "x"
	}
	objects := render(t, load(t, kerfChart), map[string]any{"settings": map[string]any{"clusterName": "demo", "kerf": own}})
	text, err := plain.Marshal(objects["Deployment karpenter"])
	if err != nil {
		t.Fatal(err)
	}
	for variable := range settings.Own() {
		if !bytes.Contains(text, []byte("name: "+variable+"\n")) {
			t.Errorf("nothing sets %s", variable)
		}
	}
}

func TestTheChartWantsTheNameOfTheCluster(t *testing.T) {
	c := load(t, kerfChart)
	values, err := chartutil.ToRenderValues(c, map[string]any{}, chartcommon.ReleaseOptions{Name: "karpenter"}, chartcommon.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Render(c, values); err == nil || !strings.Contains(err.Error(), "settings.clusterName") {
		t.Errorf("got %v", err)
	}
}

// TestHelmHasNothingToSay is "helm lint --strict".
func TestHelmHasNothingToSay(t *testing.T) {
	for _, chart := range []string{kerfChart, crdChart} {
		l := action.NewLint()
		l.Strict, l.Namespace = true, manifests.DefaultNamespace
		result := l.Run([]string{chart}, map[string]any{"settings": map[string]any{"clusterName": "demo"}})
		for _, m := range result.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", chart, m)
			}
		}
		for _, err := range result.Errors {
			t.Errorf("%s: %v", chart, err)
		}
	}
}

// The chart of CRDs has what api/crds has, and nothing in them is taken for a template. Helm keeps them when it removes the
// release, as all nodes would go with them.
func TestTheChartOfCRDsHasThemAll(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	for _, o := range crds {
		tree, err := manifests.Plain(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(tree, "keep", "metadata", "annotations", "helm.sh/resource-policy"); err != nil {
			t.Fatal(err)
		}
		add(t, want, tree)
	}
	if diff := cmp.Diff(want, render(t, load(t, crdChart), nil)); diff != "" {
		t.Error(diff)
	}
}
