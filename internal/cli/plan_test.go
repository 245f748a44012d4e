package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/settings"
)

// deployments is an API server that has one Deployment.
func deployments(t *testing.T, d *appsv1.Deployment) *rest.Config {
	t.Helper()
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	version := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: "apps", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	answers := map[string]any{
		"/api":  metav1.APIVersions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIVersions"}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: []metav1.APIGroup{group}}, "/apis/apps": group,
		"/apis/apps/v1": metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: "apps/v1",
			APIResources: []metav1.APIResource{{Name: "deployments", SingularName: "deployment", Namespaced: true, Kind: "Deployment", Verbs: metav1.Verbs{"list"}}},
		},
		"/apis/apps/v1/deployments": appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}, Items: []appsv1.Deployment{*d}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestAPlanHasTheSettingsOfTheDeployment(t *testing.T) {
	for _, name := range []string{"CLUSTER_NAME", "KERF_COMPAT", "ISOLATED_VPC", "FEATURE_GATES", "LOG_LEVEL", "BATCH_MAX_DURATION"} {
		t.Setenv(name, "") // an empty variable hides nothing
	}
	t.Setenv("RESERVED_ENIS", "2")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter"}}
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "beside", Image: "proxy", Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "error"}}},
		{Name: "controller", Image: "kerf:1", Args: []string{"--isolated-vpc", "--compat", "karpenter"}, Env: []corev1.EnvVar{
			{Name: "CLUSTER_NAME", Value: "demo"}, {Name: "RESERVED_ENIS", Value: "1"}, {Name: "FEATURE_GATES", Value: "NodeRepiar=true"},
			{Name: "BATCH_MAX_DURATION", Value: "20s"}, {Name: "BATCH_MAX_DURATION", Value: "30s"},
		}},
	}
	config := deployments(t, d)
	var said bytes.Buffer
	s, err := (&planFlags{}).settings(t.Context(), config, &said)
	if err != nil {
		t.Fatal(err)
	}
	if s.ClusterName != "demo" || s.ReservedENIs != 2 || !s.IsolatedVPC || s.Compat != settings.KarpenterDefaults || s.LogLevel != "info" || s.BatchMaxDuration != 30*time.Second {
		t.Errorf("cluster %q, ENIs %d, isolated %t, defaults of %s, log %s, batch %s", s.ClusterName, s.ReservedENIs, s.IsolatedVPC, s.Compat, s.LogLevel, s.BatchMaxDuration)
	}
	if want := "FEATURE_GATES: feature gate \"NodeRepiar\" is not known and has no effect\n"; said.String() != want {
		t.Errorf("it prints %q, want %q", said.String(), want)
	}
	t.Setenv("CLUSTER_NAME", "environment")
	if s, err := (&planFlags{clusterName: "flag"}).settings(t.Context(), config, io.Discard); err != nil || s.ClusterName != "flag" {
		t.Errorf("a flag gives the cluster %q, %v", s.ClusterName, err)
	}
}

func TestALocalPortCollidesWithAnotherThatIsGivenOnly(t *testing.T) {
	for _, pair := range []string{"METRICS_PORT=8081", "HEALTH_PROBE_PORT=8080"} {
		if err := settingsRead([]string{pair}, io.Discard); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if err := settingsRead([]string{"METRICS_PORT=9000", "HEALTH_PROBE_PORT=9000"}, io.Discard); err == nil {
		t.Error("one port for both is taken")
	}
}

func TestWhatTheControllerWarnsOfIsPrinted(t *testing.T) {
	const want = "FEATURE_GATES: feature gate \"NodeRepiar\" is not known and has no effect\n"
	var local bytes.Buffer
	if err := settingsRead([]string{"FEATURE_GATES=NodeRepiar=true"}, &local); err != nil || local.String() != want {
		t.Errorf("kerf local up prints %q, %v", local.String(), err)
	}
}
