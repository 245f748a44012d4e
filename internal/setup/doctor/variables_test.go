package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func fromConfigMap(env, name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: env, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}}
}

func allOf(name, prefix string) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func TestVariablesAreThoseThatTheKubeletGives(t *testing.T) {
	secret := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "hidden"}, Key: "k"}}
	c := &corev1.Container{
		EnvFrom: []corev1.EnvFromSource{allOf("common", ""), allOf("more", "KERF_"), allOf("not-there", ""), {SecretRef: &corev1.SecretEnvSource{}}},
		Env: []corev1.EnvVar{
			{Name: "LOG_LEVEL", Value: "debug"}, fromConfigMap("RESERVED_ENIS", "common", "enis"), fromConfigMap("VM_MEMORY_OVERHEAD_PERCENT", "common", "no-such-key"),
			fromConfigMap("ISOLATED_VPC", "forbidden", "k"), fromConfigMap("BATCH_MAX_DURATION", "forbidden", "k"), {Name: "CLUSTER_ENDPOINT", ValueFrom: secret},
			{Name: "INTERRUPTION_QUEUE", ValueFrom: secret}, {Name: "INTERRUPTION_QUEUE", Value: "last"}, {Name: "CLUSTER_CA_BUNDLE", Value: "a"}, {Name: "CLUSTER_CA_BUNDLE", ValueFrom: secret},
			{Name: "LEADER_ELECTION_NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
			{Name: "MEMORY_LIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
		},
	}
	asked := map[string]int{}
	values, elsewhere, err := Variables(c, "kerf", func(namespace, name string) (map[string]string, error) {
		asked[namespace+"/"+name]++
		if name == "forbidden" {
			return nil, errors.New("it is forbidden")
		}
		return map[string]map[string]string{"common": {"CLUSTER_NAME": "demo", "LOG_LEVEL": "info", "enis": "2"}, "more": {"COMPAT": "karpenter"}}[name], nil
	})
	if d := cmp.Diff(map[string]string{"CLUSTER_NAME": "demo", "LOG_LEVEL": "debug", "enis": "2", "KERF_COMPAT": "karpenter", "RESERVED_ENIS": "2",
		"INTERRUPTION_QUEUE": "last", "LEADER_ELECTION_NAMESPACE": "kerf"}, values); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"ISOLATED_VPC": "the ConfigMap forbidden", "BATCH_MAX_DURATION": "the ConfigMap forbidden", "CLUSTER_ENDPOINT": "the Secret hidden",
		"CLUSTER_CA_BUNDLE": "the Secret hidden", "MEMORY_LIMIT": "what the variable MEMORY_LIMIT refers to"}, elsewhere); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"kerf/common": 1, "kerf/more": 1, "kerf/not-there": 1, "kerf/forbidden": 1}, asked); d != "" {
		t.Error(d)
	}
	if want := "reading the ConfigMap kerf/forbidden, for the controller's settings: it is forbidden"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestAControllerIsFoundBySettingsOfAConfigMap, by the doctor and by kerf plan.
func TestAControllerIsFoundBySettingsOfAConfigMap(t *testing.T) {
	d := deployment("kerf", "kerf", "kerf:1", nil)
	c := &d.Spec.Template.Spec.Containers[0]
	c.EnvFrom, c.Env = []corev1.EnvFromSource{allOf("settings", "")}, []corev1.EnvVar{fromConfigMap("INTERRUPTION_QUEUE", "queue", "name")}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kerf", Name: "settings"}, Data: map[string]string{"CLUSTER_NAME": "demo", "METRICS_PORT": "9000", "ISOLATED_VPC": "true"}}
	queue := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kerf", Name: "queue"}, Data: map[string]string{"name": "q"}}
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "settings"}, Data: map[string]string{"CLUSTER_NAME": "other"}}
	reader := cluster(t, d, settings, queue, other).Build()
	o, err := ReadObjects(t.Context(), reader)
	if err != nil || len(o.Controllers) != 1 {
		t.Fatalf("found %v, %v", o.Controllers, err)
	}
	if c := o.Controllers[0]; c.ClusterName != "demo" || c.Queue != "q" || c.QueueFrom != "" || c.MetricsPort != 9000 || !c.Isolated {
		t.Errorf("it is told %+v", c)
	}
	lookup, from, err := ControllerSettings(t.Context(), reader)
	if v, ok := lookup("CLUSTER_NAME"); err != nil || from != "kerf/kerf" || v != "demo" || !ok {
		t.Errorf("%s is told of cluster %q, %t, %v", from, v, ok, err)
	}
	if ControllerContainer(d) != c {
		t.Error("its container is not known without the ConfigMap")
	}
}

func TestAConfigMapThatCanNotBeReadIsAGap(t *testing.T) {
	d := deployment("kerf", "kerf", "kerf:1", map[string]string{"CLUSTER_NAME": "demo"})
	d.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{allOf("settings", "")}
	whole := deployment("z", "whole", "kerf:1", nil)
	whole.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{allOf("settings", "")}
	reader := cluster(t, d, whole).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, more ...client.GetOption) error {
		if _, is := o.(*corev1.ConfigMap); is {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, key.Name, errors.New("not you"))
		}
		return c.Get(ctx, key, o, more...)
	}}).Build()
	o, err := ReadObjects(t.Context(), reader)
	if err != nil || len(o.Controllers) != 1 {
		t.Fatalf("found %v, %v", o.Controllers, err)
	}
	gaps := strings.Join(o.Gaps, "\n")
	for _, want := range []string{"deployment kerf/kerf: reading the ConfigMap kerf/settings", "deployment z/whole: reading the ConfigMap z/settings"} {
		if !strings.Contains(gaps, want) {
			t.Errorf("gaps %q, want %q", gaps, want)
		}
	}
	lookup, _, err := ControllerSettings(t.Context(), reader)
	if v, _ := lookup("CLUSTER_NAME"); v != "demo" || err == nil {
		t.Errorf("cluster %q, %v; want the name, and the ConfigMap that was not read", v, err)
	}
}
