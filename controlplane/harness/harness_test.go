package harness_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local/kube"
)

// patience is for an instance on which everything else runs as well.
const patience = 2 * time.Minute

func await(t *testing.T, what string, ready func(ctx context.Context) (bool, error)) {
	t.Helper()
	begin := time.Now()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, ready); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s after %s", what, time.Since(begin).Round(time.Millisecond))
}

func client(t *testing.T, cp *harness.ControlPlane, id kube.Identity) *kubernetes.Clientset {
	t.Helper()
	cfg, err := cp.ConfigFor(id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fakeNode(name string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   resource.MustParse("58"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{corev1.LabelHostname: name},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.0.10"}},
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1.36.0", OSImage: "an instance that is not there"},
		},
	}
}

func podTemplate(labels, annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/app",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}},
			}},
		},
	}
}

// TestControlPlane tells one story, because a control plane costs seconds.
func TestControlPlane(t *testing.T) {
	cp := harness.Start(t)
	t.Logf("ready after %.1f s", cp.StartupSeconds)
	admin := client(t, cp, kube.Admin)
	ctx := t.Context()

	v, err := admin.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v.GitVersion != cp.Version || v.Major != "1" || !strings.HasPrefix(v.GitVersion, "v1."+v.Minor+".") {
		t.Errorf("the apiserver says it is %+v, the binary says %q", v, cp.Version)
	}
	dns, err := admin.CoreV1().Services("kube-system").Get(ctx, "kube-dns", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if dns.Spec.ClusterIP != cp.ClusterDNS {
		t.Errorf("kube-dns is at %s, want %s", dns.Spec.ClusterIP, cp.ClusterDNS)
	}

	nodes := admin.CoreV1().Nodes()
	for i := range 3 {
		if _, err := nodes.Create(ctx, fakeNode(fmt.Sprintf("node-%d", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "three nodes Ready and untainted", func(ctx context.Context) (bool, error) {
		list, err := nodes.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		ready := 0
		for _, n := range list.Items {
			if nodeReady(&n) && len(n.Spec.Taints) == 0 {
				ready++
			}
		}
		return ready == 3, nil
	})
	node, err := nodes.Get(ctx, "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := node.Status.Allocatable.Cpu().String(); got != "4" || node.Status.NodeInfo.KubeletVersion != "v1.36.0" {
		t.Errorf("the node lost what it registered with: cpu %s, %+v", got, node.Status.NodeInfo)
	}

	t.Run("a deployment runs, scales away and leaves nothing", func(t *testing.T) { deploymentStory(t, admin) })
	t.Run("annotations end the pods of jobs", func(t *testing.T) { jobStory(t, admin) })
	t.Run("a pod that ignores SIGTERM stays until its grace period ends", func(t *testing.T) { graceStory(t, admin) })
	t.Run("an instance that says it is not ready is believed", func(t *testing.T) { holdStory(t, admin) })
	t.Run("a service account has only the rights that it is given", func(t *testing.T) { rightsStory(t, cp) })
	t.Run("a second control plane refuses the port", func(t *testing.T) {
		_, port, _ := strings.Cut(strings.TrimPrefix(cp.Server, "https://"), ":")
		var n int
		fmt.Sscan(port, &n)
		_, err := harness.Launch(ctx, func(o *kube.Options) { o.Port = n; o.StateDir = t.TempDir() })
		if err == nil || !strings.Contains(err.Error(), "port "+port+" is in use") {
			t.Fatalf("got %v, want an error that names port %s", err, port)
		}
	})
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func deploymentStory(t *testing.T, admin *kubernetes.Clientset) {
	labels := map[string]string{"app": "web"}
	deployments := admin.AppsV1().Deployments("default")
	_, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(30)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: podTemplate(labels, nil),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "30 replicas ready", func(ctx context.Context) (bool, error) {
		d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 30, err
	})
	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "no pod left", func(ctx context.Context) (bool, error) {
		pods, err := admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		return err == nil && len(pods.Items) == 0, err
	})
}

func jobStory(t *testing.T, admin *kubernetes.Clientset) {
	jobs := admin.BatchV1().Jobs("default")
	for name, annotation := range map[string]string{"ends": "local.kerf.sh/run-for", "fails": "local.kerf.sh/fail-after"} {
		template := podTemplate(map[string]string{"job": name}, map[string]string{annotation: "1s"})
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		_, err := jobs.Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: template},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	await(t, "one job complete, one failed", func(ctx context.Context) (bool, error) {
		ends, err := jobs.Get(ctx, "ends", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		fails, err := jobs.Get(ctx, "fails", metav1.GetOptions{})
		return err == nil && ends.Status.Succeeded == 1 && fails.Status.Failed == 1, err
	})
}

func graceStory(t *testing.T, admin *kubernetes.Clientset) {
	pods := admin.CoreV1().Pods("default")
	template := podTemplate(nil, map[string]string{"local.kerf.sh/ignore-sigterm": "true"})
	template.Spec.TerminationGracePeriodSeconds = new(int64(3))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stubborn", Annotations: template.Annotations}, Spec: template.Spec}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the pod runs", func(ctx context.Context) (bool, error) {
		p, err := pods.Get(ctx, "stubborn", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
	begin := time.Now()
	if err := pods.Delete(t.Context(), "stubborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the pod is gone", func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, "stubborn", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	// Deletion timestamps have whole seconds.
	if took := time.Since(begin); took < 2*time.Second {
		t.Errorf("the pod was gone after %s, want about 3 s", took)
	}
}

func holdStory(t *testing.T, admin *kubernetes.Clientset) {
	nodes := admin.CoreV1().Nodes()
	node := fakeNode("held")
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "no network plugin"}}
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Its lease proves that kwok has seen it.
	await(t, "the held node has a lease", func(ctx context.Context) (bool, error) {
		_, err := admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "held", metav1.GetOptions{})
		return err == nil, nil
	})
	got, err := nodes.Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if nodeReady(got) {
		t.Error("the held node is Ready")
	}
	got.Status.Conditions = nil
	if _, err := nodes.UpdateStatus(t.Context(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the released node is Ready", func(ctx context.Context) (bool, error) {
		n, err := nodes.Get(ctx, "held", metav1.GetOptions{})
		return err == nil && nodeReady(n), err
	})
}

func rightsStory(t *testing.T, cp *harness.ControlPlane) {
	admin := client(t, cp, kube.Admin)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "powerless"}}
	if _, err := admin.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := admin.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), "powerless", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(cp.Config)
	config.BearerToken = token.Status.Token
	powerless, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	who, err := powerless.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if name := who.Status.UserInfo.Username; name != "system:serviceaccount:kube-system:powerless" {
		t.Errorf("the token is that of %s", name)
	}
	err = powerless.CoreV1().Nodes().Delete(t.Context(), "none", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("deleting a node: got %v, want Forbidden: nobody granted it", err)
	}
}

// TestNoProcessIsLeft kills the supervisor, which then cannot clean up, and
// wants everything that it started to be gone all the same.
func TestNoProcessIsLeft(t *testing.T) {
	cp, err := harness.Launch(t.Context(), func(o *kube.Options) { o.StateDir = t.TempDir() })
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(cp.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-cp.Done()
	for name, pid := range cp.PIDs {
		await(t, name+" is gone", func(context.Context) (bool, error) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return err != nil || len(stat) == 0, nil //nolint:nilerr // gone, or a zombie nobody has reaped
		})
	}
	if cp.Err() == nil {
		t.Error("the end of the control plane is not reported")
	}
}

// TestTwoControlPlanesDoNotDisturbEachOther starts a second one, which removes
// what killed ones have left behind, beside a first that collects its garbage
// all the time, so that nothing which only a forgotten variable held is left.
func TestTwoControlPlanesDoNotDisturbEachOther(t *testing.T) {
	t.Setenv("GOGC", "5")
	first := harness.Start(t)
	t.Setenv("GOGC", "")
	second := harness.Start(t)
	for _, cp := range []*harness.ControlPlane{first, second} {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cp.PIDs["etcd"]))
		if err != nil {
			t.Fatal(err)
		}
		_, dir, ok := strings.Cut(strings.TrimRight(string(command), "\x00"), "--dir=")
		if !ok {
			t.Fatalf("etcd has no folder in its command line %q", command)
		}
		if _, err := os.Stat(filepath.Join(dir, "client.sock")); err != nil {
			t.Errorf("etcd has lost its folder: %v", err)
		}
	}
}
