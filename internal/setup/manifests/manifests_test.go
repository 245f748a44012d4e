package manifests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// with are the objects of the defaults with values over them, in YAML.
func with(t *testing.T, over string) ([]client.Object, error) {
	t.Helper()
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(over), &tree); err != nil {
		t.Fatal(err)
	}
	v, err := manifests.Defaults().With(tree)
	if err != nil {
		return nil, err
	}
	return manifests.Objects(manifests.Release{Version: "v1"}, v)
}

const demo = "settings: {clusterName: demo}\n"

func find[T client.Object](t *testing.T, objects []client.Object, name string) T {
	t.Helper()
	for _, o := range objects {
		if x, ok := o.(T); ok && o.GetName() == name {
			return x
		}
	}
	t.Fatalf("there is no %T %s", *new(T), name)
	panic("unreachable")
}

// Each setting of Kerf's own is reached by one name under settings.kerf.
func TestEverySettingOfKerfHasANameInTheChart(t *testing.T) {
	names := manifests.OwnSettings()
	if len(names) < 10 || len(names) != len(settings.Own()) {
		t.Fatalf("%d names of %d settings", len(names), len(settings.Own()))
	}
	for name := range names {
		over := "settings: {clusterName: demo, kerf: {" + name + ": x}}"
		if _, err := with(t, over); err != nil && strings.Contains(err.Error(), "no such setting") {
			t.Error(err)
		}
	}
}

// What the Deployment sets is what the controller reads.
func TestEveryVariableIsASettingOfTheController(t *testing.T) {
	objects, err := with(t, `settings: {clusterName: demo, clusterEndpoint: "https://a", clusterCABundle: QQ==, interruptionQueue: q, kerf: {nodeUpkeep: 0.01, decisionsMib: 8},
  schedulerConfig: '{"defaultConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}],"defaultingType":"List"}'}`)
	if err != nil {
		t.Fatal(err)
	}
	env := find[*appsv1.Deployment](t, objects, "karpenter").Spec.Template.Spec.Containers[0].Env
	if len(env) < 25 {
		t.Errorf("only %d variables", len(env))
	}
	for _, e := range env {
		if !settings.Known(e.Name) {
			t.Errorf("the controller does not read %s", e.Name)
		}
	}
}

// Rights of features that are off are not given.
func TestRightsFollowTheFeatures(t *testing.T) {
	may := func(over, resource string) bool {
		objects, err := with(t, over)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(find[*rbacv1.ClusterRole](t, objects, "karpenter").Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, "list")
		})
	}
	for resource, over := range map[string]string{
		"nodeoverlays": "settings: {clusterName: demo, featureGates: {nodeOverlay: true}}", "capacitybuffers": "settings: {clusterName: demo, featureGates: {capacityBuffer: true}}",
		"services": `settings: {clusterName: demo, schedulerConfig: '{"defaultingType":"System"}'}`,
	} {
		if may(demo, resource) {
			t.Errorf("%s may be listed by default", resource)
		}
		if !may(over, resource) {
			t.Errorf("%s may not be listed with %s", resource, over)
		}
	}
	if !may(demo, "pods") {
		t.Error("pods may not be listed")
	}
}

// Who may read decisions is for the values to say; the account is there for those without a token, and has no token mounted.
func TestViewers(t *testing.T) {
	objects, err := with(t, demo+"viewers: {users: [ann], groups: [sre, 'kerf:readers']}")
	if err != nil {
		t.Fatal(err)
	}
	people := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ann"}, {APIGroup: rbacv1.GroupName, Kind: "Group", Name: "sre"}, {APIGroup: rbacv1.GroupName, Kind: "Group", Name: "kerf:readers"}}
	if got := find[*rbacv1.ClusterRoleBinding](t, objects, "kerf-viewer").Subjects; !slices.Equal(got[1:], people) || got[0].Kind != "ServiceAccount" {
		t.Errorf("the right is bound to %v", got)
	}
	if got := find[*rbacv1.RoleBinding](t, objects, "kerf-viewer").Subjects; !slices.Equal(got, people) {
		t.Errorf("the way there is bound to %v", got)
	}
	if labels := find[*rbacv1.ClusterRole](t, objects, "kerf-viewer").Labels; labels["rbac.authorization.k8s.io/aggregate-to-admin"] != "true" || labels["rbac.authorization.k8s.io/aggregate-to-view"] != "" {
		t.Errorf("the role is aggregated by %v", labels)
	}
	if account := find[*corev1.ServiceAccount](t, objects, "kerf-viewer"); account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
		t.Error("pods that take the account get its token")
	}
	none, err := with(t, demo+"viewers: {create: false, users: [ann]}")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range none {
		if o.GetName() == "kerf-viewer" {
			t.Errorf("%T is there without being wanted", o)
		}
	}
}

// Kubernetes refuses a Deployment whose pods its selector does not find, and one that recreates pods and says how they roll.
func TestTheDeploymentIsOneThatKubernetesTakes(t *testing.T) {
	objects, err := with(t, demo+"strategy: {type: Recreate}\npodLabels: {app.kubernetes.io/name: mine, pod: label}")
	if err != nil {
		t.Fatal(err)
	}
	d := find[*appsv1.Deployment](t, objects, "karpenter").Spec
	if d.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Strategy.RollingUpdate != nil {
		t.Errorf("the strategy is %+v", d.Strategy)
	}
	labels := d.Template.Labels
	for k, v := range d.Selector.MatchLabels {
		if labels[k] != v {
			t.Errorf("pods have %s=%s, and the selector wants %s", k, labels[k], v)
		}
	}
	if labels["pod"] != "label" {
		t.Errorf("pods have the labels %v", labels)
	}
}

// Pods that are not ready are evicted in any case: two of them would keep their nodes from being drained for ever.
func TestPodsThatAreNotReadyHoldUpNoDrain(t *testing.T) {
	for over, want := range map[string]policyv1.UnhealthyPodEvictionPolicyType{
		"": policyv1.AlwaysAllow, "podDisruptionBudget: {unhealthyPodEvictionPolicy: ''}": policyv1.AlwaysAllow,
		"podDisruptionBudget: {unhealthyPodEvictionPolicy: IfHealthyBudget}": policyv1.IfHealthyBudget,
	} {
		objects, err := with(t, demo+over)
		if err != nil {
			t.Fatal(err)
		}
		if got := find[*policyv1.PodDisruptionBudget](t, objects, "karpenter").Spec.UnhealthyPodEvictionPolicy; got == nil || *got != want {
			t.Errorf("%s: %v, want %s", over, got, want)
		}
	}
}

func TestImages(t *testing.T) {
	for over, want := range map[string]string{
		`{}`: manifests.Image + ":v1",
		`{repository: public.ecr.aws/karpenter/controller, tag: 1.14.1, digest: "sha256:1"}`: manifests.Image + ":v1",
		`{repository: "mirror.example.com:5000/kerf"}`:                                       "mirror.example.com:5000/kerf:v1",
		`{tag: v2, digest: "sha256:2"}`:                                                      manifests.Image + ":v2@sha256:2",
	} {
		objects, err := with(t, demo+"controller: {image: "+over+"}")
		if err != nil {
			t.Fatal(err)
		}
		if got := find[*appsv1.Deployment](t, objects, "karpenter").Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%s: %s, want %s", over, got, want)
		}
	}
}

// TestAnImageOfOnesOwn tells where nobody has named an image that can be pulled.
func TestAnImageOfOnesOwn(t *testing.T) {
	for repository, want := range map[string]bool{"": false, manifests.Image: false, "public.ecr.aws/karpenter/controller": false, "r.example.com/kerf": true} {
		if got := (manifests.ImageValues{Repository: repository}).Own(); got != want {
			t.Errorf("%q: %t", repository, got)
		}
	}
}

func TestWrongValuesAreNamed(t *testing.T) {
	for over, words := range map[string][]string{
		"{}":                          {"settings.clusterName"},
		demo + "replica: 3":           {`"replica"`},
		demo + "fullnameOverride: A_": {`"A_"`},
		"settings: {clusterName: demo, kerf: {upkeep: 3}}":                                     {"settings.kerf.upkeep", "KERF_UPKEEP"},
		"settings: {clusterName: demo, batchIdleDuration: soon}":                               {"BATCH_IDLE_DURATION", "10s"},
		"settings: {clusterName: demo, kerf: {launchPriceBound: -1}}":                          {"KERF_LAUNCH_PRICE_BOUND"},
		demo + "controller: {env: [{name: KUBE_CLIENT_QPS, value: fast}]}":                     {"KUBE_CLIENT_QPS", "a whole number"},
		`settings: {clusterName: demo, schedulerConfig: "{}"}`:                                 {"settings.schedulerConfig", "no defaultConstraints"},
		`settings: {clusterName: demo, schedulerConfig: "defaultConstraints: [{maxSkew: 0}]"}`: {"settings.schedulerConfig", "maxSkew must be above zero"},
		demo + "controller: {metrics: {port: 0}, healthProbe: {port: 0}}":                      {"controller.metrics.port", "controller.healthProbe.port", "from 1 to 65535"},
		demo + "controller: {metrics: {port: 8081}}":                                           {"values controller.metrics.port and controller.healthProbe.port: METRICS_PORT and HEALTH_PROBE_PORT are both 8081: give each a port of its own"},
		demo + "podDisruptionBudget: {unhealthyPodEvictionPolicy: Never}":                      {"unhealthyPodEvictionPolicy", "AlwaysAllow or IfHealthyBudget"},
		demo + "logLevel: loud": {"logLevel", "LOG_LEVEL", "debug, info or error"},
		demo + "controller: {env: [{name: FEATURE_GATES, value: NodeRepair=true}]}":                                       {"controller.env: FEATURE_GATES", "set from settings.featureGates", "remove FEATURE_GATES from controller.env"},
		demo + "controller: {env: [{name: LEADER_ELECTION_NAMESPACE, value: x}]}":                                         {"controller.env: LEADER_ELECTION_NAMESPACE", "namespace of the installation"},
		demo + "controller: {image: {repository: a b}}":                                                                   {"controller.image", `"a b:v1" is not the name of an image`},
		demo + "controller: {image: {tag: 'v1@sha256'}}":                                                                  {"controller.image"},
		demo + "controller: {env: [{name: MEMORY_LIMIT, value: x}]}":                                                      {"set from controller.resources.limits.memory"},
		demo + "controller: {env: [{name: X, value: a}, {name: X, value: b}]}":                                            {"controller.env: X is there twice"},
		"settings: {clusterName: demo, kerf: {priceGuard: 3}}\ncontroller: {env: [{name: KERF_PRICE_GUARD, value: '4'}]}": {"set from settings.kerf.priceGuard"},
	} {
		_, err := with(t, over)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %s", over, err, w)
			}
		}
	}
}

func TestOnePortForTwoIsSaidOnceAndHasNoWayOutThatIsRefused(t *testing.T) {
	_, err := with(t, demo+"controller: {metrics: {port: 8081}}")
	if err == nil || strings.Count(err.Error(), "8081") != 1 || strings.Contains(err.Error(), "with 0") {
		t.Errorf("got %v", err)
	}
}

// The Karpenter chart has an empty object where there is no list.
func TestAnEmptyObjectSaysNothing(t *testing.T) {
	if _, err := with(t, demo+"initContainers: {}\ntolerations: {}\nnodeSelector: {}\nglobal: {}\nenabled: true\n"); err != nil {
		t.Error(err)
	}
	if _, err := with(t, demo+"initContainer: {}\n"); err == nil || !strings.Contains(err.Error(), "initContainer") {
		t.Errorf("a name that no value has: got %v, want an error that names it", err)
	}
}

func TestTheVersionThatABuildInstalls(t *testing.T) {
	chart := manifests.VersionOf("dev")
	for build, want := range map[string]string{"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "d5c4045": chart, "1234567": chart, "v0.1.0-5-gd5c4045": chart} {
		if got := manifests.VersionOf(build); got != want {
			t.Errorf("a build of %s installs %s, want %s", build, got, want)
		}
	}
	if chart == "" {
		t.Error("the chart says no version")
	}
}

// Alerts and dashboards are for clusters that have what reads them, so they are off by default.
func TestMonitoring(t *testing.T) {
	objects, err := with(t, demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if kind := o.GetObjectKind().GroupVersionKind().Kind; kind == "PrometheusRule" || kind == "ConfigMap" {
			t.Errorf("there is a %s by default", kind)
		}
	}
	names := func(over string) []string {
		t.Helper()
		objects, err := with(t, demo+over)
		if err != nil {
			t.Fatal(err)
		}
		groups, _, err := unstructured.NestedSlice(find[*unstructured.Unstructured](t, objects, "karpenter").Object, "spec", "groups")
		if err != nil || len(groups) != 1 {
			t.Fatalf("%d groups: %v", len(groups), err)
		}
		var out []string
		for _, r := range groups[0].(map[string]any)["rules"].([]any) {
			out = append(out, r.(map[string]any)["alert"].(string))
		}
		return out
	}
	all, fewer := names("prometheusRule: {enabled: true}"), names("prometheusRule: {enabled: true, disabled: [KerfDown]}")
	if len(all) < 10 || len(fewer) != len(all)-1 || !slices.Contains(all, "KerfDown") || slices.Contains(fewer, "KerfDown") {
		t.Errorf("alerts are %v, and without KerfDown %v", all, fewer)
	}
	if _, err := with(t, demo+"prometheusRule: {enabled: true, disabled: [KerfUp]}"); err == nil || !strings.Contains(err.Error(), `there is no alert "KerfUp": there are KerfDown, `) {
		t.Errorf("an alert that there is not: %v", err)
	}
	objects, err = with(t, demo+"grafanaDashboards: {enabled: true, namespace: monitoring}")
	if err != nil {
		t.Fatal(err)
	}
	dashboards := find[*corev1.ConfigMap](t, objects, "karpenter-dashboards")
	if dashboards.Namespace != "monitoring" || dashboards.Labels["grafana_dashboard"] != "1" || len(dashboards.Data) < 3 || !strings.Contains(dashboards.Data["kerf-overview.json"], "Kerf / Overview") {
		t.Errorf("the dashboards are in %s with labels %v", dashboards.Namespace, dashboards.Labels)
	}
	for name, text := range dashboards.Data {
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
}
