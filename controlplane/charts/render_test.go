// Package charts_test holds the charts to the objects of "kerf manifests", and installs, upgrades and removes them with Helm's
// own code in a real control plane.
package charts_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	chartv2util "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	releasecommon "helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
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
	return renderAs(t, manifests.DefaultName, c, values)
}

// renderAs gives those of a release of another name.
func renderAs(t testing.TB, release string, c *chartv2.Chart, values map[string]any) map[string]map[string]any {
	t.Helper()
	all, err := chartutil.ToRenderValues(c, values, chartcommon.ReleaseOptions{Name: release, Namespace: manifests.DefaultNamespace, Revision: 1, IsInstall: true}, chartcommon.DefaultCapabilities)
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

// A shadow installation beside the controller that runs shares no object with it but what lets people read decisions, may only
// read, and holds nothing up.
func TestAShadowTouchesNothingOfTheReleaseBesideIt(t *testing.T) {
	c := load(t, kerfChart)
	everything := map[string]any{
		"networkPolicy": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true},
		"prometheusRule": map[string]any{"enabled": true}, "grafanaDashboards": map[string]any{"enabled": true},
	}
	beside := renderAs(t, "karpenter", c, chartutil.CoalesceTables(setting("kerf", nil), everything))
	shadow := renderAs(t, "kerf-shadow", c, chartutil.CoalesceTables(setting("kerf", map[string]any{"shadow": true}), everything))
	for name, object := range shadow {
		if _, shared := beside[name]; shared && !strings.HasSuffix(name, " kerf-viewer") {
			t.Errorf("both have %s", name)
		}
		if strings.HasPrefix(name, "PodDisruptionBudget") {
			t.Errorf("it has a %s", name)
		}
		if rules, _, _ := unstructured.NestedSlice(object, "rules"); !strings.HasSuffix(name, " kerf-viewer") {
			for _, r := range rules {
				rule := r.(map[string]any)
				for _, verb := range rule["verbs"].([]any) {
					question := strings.HasPrefix(fmt.Sprint(rule["apiGroups"]), "[auth") // whose a token is, and what that user may
					if !slices.Contains([]any{"get", "list", "watch"}, verb) && !question {
						t.Errorf("%s may %s %v", name, verb, rule["resources"])
					}
				}
			}
		}
	}
	if shadow["ClusterRole kerf-shadow"] == nil || beside["PodDisruptionBudget karpenter"] == nil {
		t.Error("the shadow has no ClusterRole, or the controller beside it no PodDisruptionBudget")
	}
}

func setting(name string, value any) map[string]any {
	settings := map[string]any{"clusterName": "demo"}
	settings[name] = value
	return map[string]any{"settings": settings}
}

// with are values that are enough, and another.
func with(name string, value any) map[string]any {
	return map[string]any{"settings": map[string]any{"clusterName": "demo"}, name: value}
}

func image(name, value string) map[string]any {
	return with("controller", map[string]any{"image": map[string]any{name: value}})
}

func TestAWrongValueIsRefused(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"unknown": {"setings": map[string]any{}}, "nested": {"settings": map[string]any{"clustername": "demo"}}, "of another type": {"replicas": "two"},
		"a setting of Kerf":        {"settings": map[string]any{"clusterName": "demo", "kerf": map[string]any{"nodeUpkep": 1}}},
		"a gate of nobody":         {"settings": map[string]any{"featureGates": map[string]any{"nodeRepiar": true}}},
		"a level of other loggers": {"logLevel": "warn"}, "a level in capitals": {"logLevel": "INFO"},
		"a policy in small letters": setting("preferencePolicy", "ignore"), "a policy misspelt": setting("minValuesPolicy", "Besteffort"),
		"no duration": setting("batchMaxDuration", "abc"), "a duration without a unit": setting("batchMaxDuration", 10), "compat misspelt": setting("kerf", map[string]any{"compat": "karpentr"}),
		"no boolean": setting("isolatedVPC", "yes"), "a share too large": setting("vmMemoryOverheadPercent", 1.5), "no number": setting("reservedENIs", "one"),
		"an interval too short": setting("amiRefreshInterval", "5s"), "all the memory": setting("vmMemoryOverheadPercent", 1), "a wait below zero": setting("batchIdleDuration", "-1s"),
		"a price guard that is on": setting("kerf", map[string]any{"priceGuard": true}), "receivers without end": setting("kerf", map[string]any{"queueReceivers": 100}),
		"a policy of eviction that there is not": with("podDisruptionBudget", map[string]any{"unhealthyPodEvictionPolicy": "Never"}),
		"no port for metrics":                    with("controller", map[string]any{"metrics": map[string]any{"port": 0}}), "no port for probes": with("controller", map[string]any{"healthProbe": map[string]any{"port": "0"}}),
		"a port too large":        with("controller", map[string]any{"metrics": map[string]any{"port": 65536}}),
		"a digest without a hash": image("digest", "sha256"), "a repository with a blank": image("repository", "a b"), "a repository with a scheme": image("repository", "https://a/b"),
		"a tag with a digest":    image("tag", "v1@sha256"),
		"a cluster with a blank": setting("clusterName", "a b"), "an endpoint without a scheme": setting("clusterEndpoint", "abc"),
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

// A variable that is set already is refused with the value to set in its place, by the chart and by manifests in the same words.
func TestAVariableIsNotSetTwice(t *testing.T) {
	for variable, want := range map[string]string{
		"FEATURE_GATES": "settings.featureGates", "LOG_LEVEL": "logLevel", "METRICS_PORT": "controller.metrics.port", "CLUSTER_NAME": "settings.clusterName", "EKS_CONTROL_PLANE": "settings.eksControlPlane",
		"MEMORY_LIMIT": "controller.resources.limits.memory", "CPU_REQUESTS": "controller.resources.requests.cpu", "KERF_NODE_UPKEEP": "settings.kerf.nodeUpkeep",
		"LEADER_ELECTION_NAMESPACE": "namespace of the installation", "AWS_REGION": "is there twice", "CLUSTER_ENDPOINT": "", "KERF_PRICE_GUARD": "", "AWS_PROFILE": "",
	} {
		value := "3" // of whatever setting it is
		if variable == "CLUSTER_ENDPOINT" {
			value = "https://example.com"
		}
		env := []any{map[string]any{"name": "AWS_REGION", "value": "eu-west-1"}, map[string]any{"name": variable, "value": value}}
		values := map[string]any{
			"controller": map[string]any{"env": env}, "settings": map[string]any{"clusterName": "demo", "kerf": map[string]any{"nodeUpkeep": 0.01}},
		}
		_, err := renderErr(load(t, kerfChart), values)
		v, modelErr := manifests.Defaults().With(values)
		if modelErr == nil {
			_, modelErr = manifests.Objects(manifests.Release{Version: "v1"}, v)
		}
		if want == "" {
			if err != nil || modelErr != nil {
				t.Errorf("%s: %v; manifests: %v", variable, err, modelErr)
			}
			continue
		}
		if err == nil || modelErr == nil || !strings.Contains(modelErr.Error(), want) || !strings.Contains(err.Error(), modelErr.Error()) {
			t.Errorf("%s: the chart says %v, manifests %v, want %s", variable, err, modelErr, want)
		}
	}
}

// No replica starts where both listeners have one port.
func TestTheListenersHaveTwoPorts(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"a number": with("controller", map[string]any{"metrics": map[string]any{"port": 8081}}),
		"a text":   with("controller", map[string]any{"healthProbe": map[string]any{"port": "8080"}}),
	} {
		_, err := renderErr(load(t, kerfChart), values)
		v, modelErr := manifests.Defaults().With(values)
		if modelErr == nil {
			_, modelErr = manifests.Objects(manifests.Release{Version: "v1"}, v)
		}
		const want = "values controller.metrics.port and controller.healthProbe.port: METRICS_PORT and HEALTH_PROBE_PORT are both 808"
		if err == nil || modelErr == nil || !strings.Contains(modelErr.Error(), want) || !strings.Contains(err.Error(), modelErr.Error()) {
			t.Errorf("%s: the chart says %v, manifests %v, want %s", name, err, modelErr, want)
		}
	}
}

// What Karpenter's charts had is no obstacle, and the notes say what has no effect.
func TestValuesOfOldChartsAreTakenAndNamed(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/unused.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			text, want, _ := strings.Cut(string(f.Data), "\nnamed:")
			values := map[string]any{}
			if err := plain.Unmarshal([]byte(text), &values); err != nil {
				t.Fatal(err)
			}
			files, err := renderErr(load(t, kerfChart), values)
			if err != nil {
				t.Fatal(err)
			}
			var named []string
			for _, u := range manifests.Unused(values) {
				named = append(named, u.Path)
			}
			if got := strings.Join(named, " "); got != strings.TrimSpace(want) {
				t.Errorf("named are %q, want %q", got, want)
			}
			for _, u := range manifests.UnusedValues() {
				says := strings.Contains(files["kerf/templates/NOTES.txt"], "  "+u.Path+": "+u.Why+"\n")
				if says != slices.Contains(named, u.Path) {
					t.Errorf("the notes name %s: %t\n%s", u.Path, says, files["kerf/templates/NOTES.txt"])
				}
			}
			c := load(t, kerfChart)
			if diff := cmp.Diff(model(t, c.Metadata.AppVersion, values), render(t, c, values)); diff != "" {
				t.Errorf("the chart has + what manifests has -:\n%s", diff)
			}
		})
	}
}

// A value that a release brings along, and that Helm refuses by name, goes by --set NAME=null, as the chart's page says. One of a file
// of values has to be removed there.
func TestNullTakesAValueOfTheReleaseAway(t *testing.T) {
	old := map[string]any{"setings": map[string]any{"a": "b"}, "settings": map[string]any{"clusterName": "demo", "featureGates": map[string]any{"x": true}}}
	upgrade := func(values map[string]any) error {
		capabilities := chartcommon.DefaultCapabilities.Copy()
		capabilities.KubeVersion = chartcommon.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
		cfg := &action.Configuration{Releases: storage.Init(driver.NewMemory()), KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Capabilities: capabilities}
		err := cfg.Releases.Create(&releasev1.Release{
			Name: "karpenter", Namespace: "kube-system", Version: 1, Config: old,
			Info: &releasev1.Info{Status: releasecommon.StatusDeployed}, Chart: &chartv2.Chart{Metadata: &chartv2.Metadata{Name: "karpenter", Version: "1.0.0"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		up := action.NewUpgrade(cfg)
		up.Namespace, up.ResetThenReuseValues, up.DryRunStrategy = "kube-system", true, action.DryRunClient
		_, err = up.RunWithContext(t.Context(), "karpenter", load(t, kerfChart), values)
		return err
	}
	if err := upgrade(map[string]any{}); err == nil || !strings.Contains(err.Error(), "at '/settings/featureGates': additional properties 'x' not allowed") {
		t.Errorf("the values of the release: %v", err)
	}
	if err := upgrade(map[string]any{"setings": nil, "settings": map[string]any{"featureGates": map[string]any{"x": nil}}}); err != nil {
		t.Errorf("with null: %v", err)
	}
}

// renderErr gives the files that a chart makes.
func renderErr(c *chartv2.Chart, values map[string]any) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(c, values, chartcommon.ReleaseOptions{Name: manifests.DefaultName, Namespace: manifests.DefaultNamespace, Revision: 1, IsInstall: true}, chartcommon.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// The chart makes the variable of each setting of Kerf's own from its name in the values.
func TestTheChartKnowsEverySettingOfKerf(t *testing.T) {
	own := map[string]any{}
	for name := range manifests.OwnSettings() {
		variable, ok := manifests.Variable("settings.kerf." + name)
		if !ok {
			t.Fatalf("settings.kerf.%s is no setting", name)
		}
		own[name] = "1" // which is a number, a boolean or a text
		if a, _ := settings.Accepted(variable); len(a.Choices) > 0 {
			own[name] = a.Choices[0]
		} else if strings.Contains(a.Pattern, "ms") {
			own[name] = "1h"
		} else if strings.Contains(a.Pattern, "pods|") {
			own[name] = "pods,nodes"
		}
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

// A chart that has this one as a dependency may switch it off by a condition, which Helm passes on with the values.
func TestAnotherChartMaySwitchItOff(t *testing.T) {
	for _, on := range []bool{true, false} {
		parent := &chartv2.Chart{Metadata: &chartv2.Metadata{
			APIVersion: "v2", Name: "umbrella", Version: "1.0.0", Dependencies: []*chartv2.Dependency{{Name: "kerf", Version: ">=0.1.0-0", Condition: "kerf.enabled"}},
		}}
		parent.AddDependency(load(t, kerfChart))
		own := with("enabled", on)
		values := map[string]any{"global": map[string]any{"team": "platform"}, "kerf": own}
		if err := chartv2util.ProcessDependencies(parent, values); err != nil {
			t.Fatal(err)
		}
		got := render(t, parent, values)
		if on {
			if diff := cmp.Diff(model(t, load(t, kerfChart).Metadata.AppVersion, own), got); diff != "" {
				t.Errorf("as a dependency it has + what manifests has -:\n%s", diff)
			}
		} else if len(got) > 0 {
			t.Errorf("it is off, and there are %d objects", len(got))
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

// An alert to leave out that there is not is a typing error, and is told by the chart and by manifests in the same words.
func TestAnAlertThatThereIsNotIsRefused(t *testing.T) {
	values := map[string]any{"settings": map[string]any{"clusterName": "demo"}, "prometheusRule": map[string]any{"enabled": true, "disabled": []any{"KerfUp"}}}
	c := load(t, kerfChart)
	all, err := chartutil.ToRenderValues(c, values, chartcommon.ReleaseOptions{Name: "karpenter"}, chartcommon.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Render(c, all)
	v, bad := manifests.Defaults().With(values)
	if bad != nil {
		t.Fatal(bad)
	}
	_, want := manifests.Objects(manifests.Release{Version: "v1"}, v)
	if err == nil || want == nil || !strings.Contains(err.Error(), want.Error()) {
		t.Errorf("the chart says %v, manifests %v", err, want)
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
	delete(want, "CustomResourceDefinition "+manifests.CapacityBufferCRD)
	if diff := cmp.Diff(want, render(t, load(t, crdChart), map[string]any{"capacityBuffers": false})); diff != "" {
		t.Error(diff)
	}
}
