package leader

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

func lease(namespace, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settings.LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

func pod(namespace, name string, change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName:   "ip-10-0-0-1.ec2.internal",
		Containers: []corev1.Container{{Name: "controller", Ports: []corev1.ContainerPort{{Name: manifests.MetricsPort, ContainerPort: 8000}}}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

// naming is a controller whose settings name a Lease.
func naming(namespace, name string, lease, leaseIn string) *appsv1.Deployment {
	c := corev1.Container{Name: "controller", Image: "kerf:v1", Env: []corev1.EnvVar{{Name: "CLUSTER_NAME", Value: "demo"}, {Name: "LEADER_ELECTION_NAME", Value: lease}}}
	if leaseIn != "" {
		c.Args = []string{"--leader-election-namespace=" + leaseIn}
	}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}},
	}}
}

// namingByFlags names its Lease by flags in two arguments each.
func namingByFlags(namespace, name, lease, leaseIn string) *appsv1.Deployment {
	d := naming(namespace, name, "", "")
	d.Spec.Template.Spec.Containers[0].Args = []string{"--leader-election-name", lease, "--leader-election-namespace", leaseIn}
	return d
}

// namingByConfigMap has all its settings of one.
func namingByConfigMap(namespace, name string) *appsv1.Deployment {
	d := naming(namespace, name, "", "")
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env, c.EnvFrom = nil, []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	return d
}

func settingsMap(namespace, lease string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"CLUSTER_NAME": "demo", "LEADER_ELECTION_NAME": lease}}
}

func called(l *coordinationv1.Lease, name string) *coordinationv1.Lease {
	l.Name = name
	return l
}

// stale was renewed two minutes ago.
func stale(l *coordinationv1.Lease) *coordinationv1.Lease {
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &metav1.MicroTime{Time: time.Now().Add(-2 * time.Minute)}, new(int32(15))
	return l
}

func TestTheLeaderIsFound(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	onHost := func(s *corev1.PodSpec) { s.HostNetwork = true }
	for name, tc := range map[string]struct {
		namespace string
		objects   []runtime.Object
		want      string // a pod, or a part of the error
	}{
		"where charts install it":                   {"", []runtime.Object{lease("kube-system", "karpenter-1_x"), pod("kube-system", "karpenter-1", nil)}, "karpenter-1"},
		"in a namespace that is named":              {"kerf", []runtime.Object{lease("kerf", "karpenter-1_x"), lease("kube-system", "other_y"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"in another that has one":                   {"", []runtime.Object{lease("kerf", "karpenter-1_x"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"on the network of its node":                {"", []runtime.Object{lease("kube-system", "ip-10-0-0-1_x"), pod("kube-system", "karpenter-1", onHost)}, "karpenter-1"},
		"not by the node of another pod":            {"", []runtime.Object{lease("kube-system", "ip-10-0-0-1_x"), pod("kube-system", "karpenter-1", nil)}, "is no pod there"},
		"nowhere":                                   {"", nil, "no controller has led this cluster"},
		"not there":                                 {"kerf", []runtime.Object{lease("kube-system", "karpenter-1_x")}, "no controller has led there"},
		"two of them":                               {"", []runtime.Object{lease("a", "x_1"), lease("b", "y_1")}, "namespaces a, b"},
		"held by nobody":                            {"", []runtime.Object{lease("kube-system", "")}, "nobody holds"},
		"by another name, which a Deployment says":  {"", []runtime.Object{naming("kube-system", "karpenter", "kerf", ""), called(lease("kube-system", "karpenter-1_x"), "kerf"), pod("kube-system", "karpenter-1", nil)}, "karpenter-1"},
		"beside an old one":                         {"", []runtime.Object{naming("kube-system", "karpenter", "kerf", ""), lease("kube-system", "gone-1_x"), called(lease("kube-system", "karpenter-1_x"), "kerf"), pod("kube-system", "karpenter-1", nil)}, "karpenter-1"},
		"in another namespace than the pods":        {"", []runtime.Object{naming("kerf", "karpenter", "kerf", "leases"), called(lease("leases", "karpenter-1_x"), "kerf"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"by flags in two arguments":                 {"", []runtime.Object{namingByFlags("kerf", "karpenter", "kerf", "leases"), called(lease("leases", "karpenter-1_x"), "kerf"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"by a name in a ConfigMap":                  {"", []runtime.Object{namingByConfigMap("kerf", "karpenter"), settingsMap("kerf", "kerf"), called(lease("leases", "other_y"), "other"), called(lease("kerf", "karpenter-1_x"), "kerf"), pod("kerf", "karpenter-1", nil)}, "karpenter-1"},
		"two by other names":                        {"", []runtime.Object{naming("a", "one", "kerf", ""), naming("b", "two", "kerf", "")}, "Deployments a/one and b/two: name the namespace"},
		"two by other names, one of which is meant": {"b", []runtime.Object{naming("a", "one", "kerf", ""), naming("b", "two", "kerf", ""), called(lease("b", "karpenter-1_x"), "kerf"), pod("b", "karpenter-1", nil)}, "karpenter-1"},
		"by a name that nobody has":                 {"", []runtime.Object{naming("a", "one", "kerf", "")}, "reading the Lease a/kerf, which Deployment a/one names"},
		"held by a pod that has gone":               {"", []runtime.Object{lease("kube-system", "karpenter-0_x")}, `eval "$(kerf local env)"`},
		"held by a process on this computer":        {"", []runtime.Object{lease("kube-system", here+"_x")}, "but a process on this computer"},
		"held by one that does not renew":           {"", []runtime.Object{stale(lease("kube-system", here+"_x"))}, "has not renewed it for 2m"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Pod(t.Context(), fake.NewClientset(tc.objects...), tc.namespace)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = p.Name
			}
			if !strings.Contains(got, tc.want) || (err == nil) == strings.Contains(tc.want, " ") { // no pod's name has a blank
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAConfigMapThatCanNotBeReadIsSaid(t *testing.T) {
	c := fake.NewClientset(namingByConfigMap("kerf", "karpenter"))
	c.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("not you"))
	})
	_, err := Pod(t.Context(), c, "")
	for _, want := range []string{"no controller has led this cluster", "reading the ConfigMap kerf/settings"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
