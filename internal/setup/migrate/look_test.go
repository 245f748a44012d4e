package migrate

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestTheControllersContainerIsTheOneThatIsToldOfTheCluster(t *testing.T) {
	s := healthy(t)
	c := s.container()
	c.Name, c.Env, c.Args = "karpenter", append(c.Env[1:], corev1.EnvVar{Name: "LOG_LEVEL", Value: "info"}, corev1.EnvVar{Name: "LOG_LEVEL", Value: "debug"}), []string{"--cluster-name=demo"}
	pod := &s.Deployment.Spec.Template.Spec
	pod.Containers = []corev1.Container{{Name: "beside", Image: "proxy", Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "verbose"}}}, *c}
	if env := s.environment(); env["LOG_LEVEL"] != "debug" || env["CLUSTER_NAME"] != "demo" {
		t.Errorf("got %v", env)
	}
	if r := Examine(s); !r.Ready {
		t.Errorf("%+v", r.Findings)
	}
}

func TestACorrectionDiffersFromWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		env  []corev1.EnvVar
		args []string
		want string
	}{
		{[]corev1.EnvVar{{Name: "METRICS_PORT", Value: "8080"}, {Name: "HEALTH_PROBE_PORT", Value: "8080"}}, nil, " HEALTH_PROBE_PORT=8081"},
		{[]corev1.EnvVar{{Name: "METRICS_PORT", Value: "8081"}}, nil, " METRICS_PORT=8080"},
		{[]corev1.EnvVar{{Name: "BATCH_MAX_DURATION", Value: "500ms"}}, nil, " BATCH_MAX_DURATION=10s"},
		{[]corev1.EnvVar{{Name: "BATCH_IDLE_DURATION", Value: "1000ms"}, {Name: "BATCH_MAX_DURATION", Value: "900ms"}}, nil, " BATCH_MAX_DURATION=10s"},
		{[]corev1.EnvVar{{Name: "BATCH_IDLE_DURATION", Value: "15s"}, {Name: "BATCH_MAX_DURATION", Value: "900ms"}}, nil, " BATCH_IDLE_DURATION=1s   # or the value that you mean\nkubectl --namespace kube-system set env deployment/karpenter BATCH_MAX_DURATION=10s"},
		{[]corev1.EnvVar{{Name: "METRICS_PORT", Value: "08080"}, {Name: "HEALTH_PROBE_PORT", Value: "8080"}}, nil, " HEALTH_PROBE_PORT=8081"},
		{[]corev1.EnvVar{{Name: "METRICS_PORT", Value: "8080"}}, []string{"--health-probe-port=8080"}, "correct --health-probe-port in the container's args"},
	} {
		s := healthy(t)
		s.container().Env, s.container().Args = append(s.container().Env, c.env...), c.args
		var fixes []string
		for _, f := range Examine(s).Findings {
			if f.Area == "settings" && f.Severity != Fine {
				fixes = append(fixes, f.Fix...)
			}
		}
		if text := strings.Join(fixes, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%v %v: %s\nwant %s", c.env, c.args, text, c.want)
		}
	}
}

func TestGatesAreReadAsTheControllerReadsThem(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"NodeRepair = true , StaticCapacity=1":             {"settings.featureGates.nodeRepair": "true", "settings.featureGates.staticCapacity": "true"},
		"noderepair=true,reservedcapacity=false":           {}, // no such gates
		"ReservedCapacity = false":                         {reservedCapacity: "false"},
		"ReservedCapacity=false,ReservedCapacity=true":     {},
		"NodeRepair=true,ReservedCapacity=f,NodeRepair=no": {"settings.featureGates.nodeRepair": "true", reservedCapacity: "false"},
	} {
		s := healthy(t)
		s.container().Env[2].Value = text
		got := map[string]string{}
		for path, value := range s.chosen() {
			if strings.HasPrefix(path, "settings.featureGates.") {
				got[path] = value
			}
		}
		if _, off := want[reservedCapacity]; !maps.Equal(got, want) || s.reservedCapacityOff() != off {
			t.Errorf("%s: got %v, want %v; reservations are off: %t", text, got, want, s.reservedCapacityOff())
		}
	}
}

func TestWhatTheControllerSaysOfArgumentsBlocks(t *testing.T) {
	d := healthy(t).Deployment
	c := &d.Spec.Template.Spec.Containers[0]
	c.Command, c.Args = []string{"/kerf", "controller", "--quiet"}, []string{"--reserved-enis"}
	var asked []string
	s, err := Look(t.Context(), Options{Reader: cluster(t, d), Arguments: func(args []string) []error {
		asked = args
		return []error{errors.New("unknown flag: --quiet"), errors.New("flag needs an argument: --reserved-enis")}
	}})
	if err != nil || !slices.Equal(asked, []string{"--quiet", "--reserved-enis"}) {
		t.Fatalf("asked for %q: %v", asked, err)
	}
	for _, refused := range []string{"unknown flag: --quiet", "flag needs an argument: --reserved-enis"} {
		if !slices.ContainsFunc(Examine(s).Findings, func(f Finding) bool {
			return f.Severity == Blocks && f.Text == "the container's arguments: "+refused
		}) {
			t.Errorf("%q does not block", refused)
		}
	}
}

// cluster is an API server that has some objects.
func cluster(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// TestAControllerThatIsToldAllByAConfigMapIsJudged by what stands there.
func TestAControllerThatIsToldAllByAConfigMapIsJudged(t *testing.T) {
	d := healthy(t).Deployment
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env, c.EnvFrom = nil, []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "beside", Image: "proxy"}}, *c)
	s, err := Look(t.Context(), Options{Reader: cluster(t, d, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "settings"},
		Data: map[string]string{"CLUSTER_NAME": "demo", "BATCH_MAX_DURATION": "ten"}})})
	if err != nil || s.Deployment == nil || s.ClusterName != "demo" || len(s.Gaps) > 0 {
		t.Fatalf("seen %+v, %v", s, err)
	}
	if !slices.ContainsFunc(Examine(s).Findings, func(f Finding) bool { return f.Area == "settings" && strings.Contains(f.Text, "BATCH_MAX_DURATION") }) {
		t.Error("the value of the ConfigMap is not judged")
	}
}
