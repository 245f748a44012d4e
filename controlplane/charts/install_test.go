package charts_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

const release, namespace = manifests.DefaultName, manifests.DefaultNamespace

// site is a cluster into which Helm installs.
type site struct {
	*testing.T
	cluster *local.Cluster
	client  client.Client
	helm    *action.Configuration
	binary  string // of Kerf
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteWithNodes(t, 0)
}

// newSiteWithNodes is a site with nodes that run what Helm installs.
func newSiteWithNodes(t *testing.T, nodes int) *site {
	t.Helper()
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "kerf")
	build := exec.Command("go", "build", "-o", binary, "./cmd/kerf")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cluster, err := local.Up(t.Context(), local.Options{
		ClusterName: "demo", StateDir: t.TempDir(), ControlPlane: controlPlane, Binary: binary, Bare: true, SystemNodes: nodes, Report: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	s := &site{T: t, cluster: cluster, helm: action.NewConfiguration(), binary: binary}
	if s.client, err = cluster.Client(); err != nil {
		t.Fatal(err)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = new(cluster.Kubeconfig), new(namespace)
	if err := s.helm.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) install(name, chart string, values map[string]any) {
	s.Helper()
	a := action.NewInstall(s.helm)
	a.ReleaseName, a.Namespace, a.WaitStrategy, a.ServerSideApply, a.Timeout = name, namespace, helmkube.HookOnlyStrategy, true, time.Minute
	if _, err := a.Run(load(s, chart), values); err != nil {
		s.Fatalf("installing %s: %v", chart, err)
	}
	s.Logf("installed %s as %s", filepath.Base(chart), name)
}

func (s *site) upgrade(values map[string]any) {
	s.Helper()
	a := action.NewUpgrade(s.helm)
	a.Namespace, a.WaitStrategy, a.ReuseValues, a.ServerSideApply, a.Timeout = namespace, helmkube.HookOnlyStrategy, true, "auto", time.Minute
	if _, err := a.Run(release, load(s, kerfChart), values); err != nil {
		s.Fatalf("upgrading: %v", err)
	}
	s.Logf("upgraded %s with %v", release, values)
}

// run starts the controller as the Deployment in the cluster says, on ports that are free.
func (s *site) run() *appsv1.Deployment {
	s.Helper()
	d := &appsv1.Deployment{}
	s.get(release, d)
	if err := s.cluster.Run(s.Context(), d); err != nil {
		s.Fatal(err)
	}
	return d
}

func (s *site) get(name string, o client.Object) {
	s.Helper()
	if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		s.Fatal(err)
	}
}

// eventually waits until something is so.
func (s *site) eventually(within time.Duration, what string, so func(context.Context) (bool, string)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), within)
	defer cancel()
	var seen string
	for {
		var ok bool
		if ok, seen = so(ctx); ok {
			return
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not within %s; %s", what, within, seen)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// deploy makes a Deployment of pods that need nodes, and waits until they run.
func (s *site) deploy(name string, pods int) {
	s.Helper()
	text := fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, namespace: default}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}},
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: main, image: none, resources: {requests: {cpu: 500m, memory: 512Mi}}}]}}}}`, name, pods)
	if err := s.cluster.Apply(s.Context(), []byte(text)); err != nil {
		s.Fatal(err)
	}
	s.eventually(2*time.Minute, "pods of "+name+" run", func(ctx context.Context) (bool, string) {
		var list corev1.PodList
		if err := s.client.List(ctx, &list, client.InNamespace("default"), client.MatchingLabels{"app": name}); err != nil {
			return false, err.Error()
		}
		running := 0
		for _, p := range list.Items {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == pods, fmt.Sprintf("%d of %d run", running, pods)
	})
}

func envOf(d *appsv1.Deployment, name string) string {
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// TestInstallUpgradeRollBackUninstall goes the way of an installation: the controller runs as the Deployment that Helm made has
// it, with the rights that Helm gave it and no others.
func TestInstallUpgradeRollBackUninstall(t *testing.T) {
	s := newSite(t)
	ports, free, err := kubelet.ClaimPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	// The CRD of CapacityBuffers may be Cluster Autoscaler's; without its feature gate the controller does not need it.
	s.install("kerf-crd", crdChart, map[string]any{"capacityBuffers": false})
	s.takes(render(t, load(t, kerfChart), map[string]any{"settings": map[string]any{"clusterName": "demo"}, "networkPolicy": map[string]any{"enabled": true}}))
	s.takes(renderAs(t, "kerf-shadow", load(t, kerfChart), map[string]any{
		"settings": map[string]any{"clusterName": "demo", "kerf": map[string]any{"shadow": true}},
		"strategy": map[string]any{"type": "Recreate"}, "podLabels": map[string]any{"app.kubernetes.io/name": "mine"},
	}))
	s.install(release, kerfChart, map[string]any{
		"settings":   map[string]any{"clusterName": "demo", "interruptionQueue": "demo"},
		"controller": map[string]any{"metrics": map[string]any{"port": ports[0]}, "healthProbe": map[string]any{"port": ports[1]}},
	})
	s.run()
	if err := s.cluster.Apply(t.Context(), local.DefaultManifests("demo")); err != nil {
		t.Fatal(err)
	}
	s.deploy("first", 5)
	for _, path := range []string{"/healthz", "/readyz"} { // as the probes of the Deployment ask
		resp, err := http.Get(s.cluster.Controller.HealthURL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}

	s.upgrade(map[string]any{"settings": map[string]any{"batchIdleDuration": "2s", "featureGates": map[string]any{"nodeOverlay": true}}})
	if d := s.run(); envOf(d, "BATCH_IDLE_DURATION") != "2s" || envOf(d, "CLUSTER_NAME") != "demo" {
		t.Errorf("the upgrade lost a setting: %v", d.Spec.Template.Spec.Containers[0].Env)
	}
	s.deploy("second", 5)

	back := action.NewRollback(s.helm)
	back.Version, back.WaitStrategy, back.ServerSideApply, back.Timeout = 1, helmkube.HookOnlyStrategy, "auto", time.Minute
	if err := back.Run(release); err != nil {
		t.Fatalf("rolling back: %v", err)
	}
	t.Log("rolled back to revision 1")
	if d := s.run(); envOf(d, "BATCH_IDLE_DURATION") != "1s" {
		t.Errorf("it is not as it was: %v", d.Spec.Template.Spec.Containers[0].Env)
	}
	s.deploy("third", 5)

	nodes := s.claims()
	remove := action.NewUninstall(s.helm)
	remove.WaitStrategy, remove.Timeout = helmkube.HookOnlyStrategy, time.Minute
	if _, err := remove.Run(release); err != nil {
		t.Fatalf("uninstalling: %v", err)
	}
	if err := s.cluster.Controller.Terminate(); err != nil {
		t.Fatal(err)
	}
	t.Log("uninstalled " + release)
	if left := s.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if after := s.claims(); !slices.Equal(nodes, after) {
		t.Errorf("nodes before %v, after %v: removing the controller removes no node", nodes, after)
	}
}

// takes has the API server look at objects without keeping them: it refuses fields that it does not know, too.
func (s *site) takes(objects map[string]map[string]any) {
	s.Helper()
	for name, tree := range objects {
		o := &unstructured.Unstructured{Object: tree}
		if err := s.client.Create(s.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	}
}

// claims are the names of the NodeClaims; there are some.
func (s *site) claims() []string {
	s.Helper()
	var list karpv1.NodeClaimList
	if err := s.client.List(s.Context(), &list); err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, c := range list.Items {
		out = append(out, c.Name)
	}
	if len(out) == 0 {
		s.Fatal("there are no NodeClaims")
	}
	return out
}

// left are the objects of the release that are still there.
func (s *site) left() []string {
	s.Helper()
	v, err := manifests.Defaults().With(map[string]any{"settings": map[string]any{"clusterName": "demo"}})
	if err != nil {
		s.Fatal(err)
	}
	objects, err := manifests.Objects(manifests.Release{}, v)
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, o := range objects {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(o), m)
		if !apierrors.IsNotFound(err) {
			out = append(out, fmt.Sprint(m.Kind, " ", o.GetName(), " ", err))
		}
	}
	return out
}

// TestAReleaseOfTheKarpenterChartIsUpgraded puts a release into the cluster that has the values, the name and the selector of
// one of the Karpenter chart, and upgrades it as its owner would: the Deployment is changed in place.
func TestAReleaseOfTheKarpenterChartIsUpgraded(t *testing.T) {
	s := newSite(t)
	text, err := os.ReadFile("testdata/karpenter-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before := load(t, kerfChart) // what matters of that chart: its values and names
	before.Metadata.Name, before.Metadata.AppVersion, before.Schema = "karpenter", "1.14.1", nil
	values, err := parseValues(text)
	if err != nil {
		t.Fatal(err)
	}
	before.Values = values
	a := action.NewInstall(s.helm)
	a.ReleaseName, a.Namespace, a.WaitStrategy, a.ServerSideApply, a.Timeout = release, namespace, helmkube.HookOnlyStrategy, true, time.Minute
	if _, err := a.Run(before, map[string]any{"settings": map[string]any{"interruptionQueue": "demo"}}); err != nil {
		t.Fatal(err)
	}
	was, is := &appsv1.Deployment{}, &appsv1.Deployment{}
	s.get(release, was)
	s.upgrade(nil)
	s.get(release, is)
	if was.UID != is.UID {
		t.Error("the Deployment was made anew")
	}
	if image := is.Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, manifests.Image+":") {
		t.Errorf("it runs %s", image)
	}
	if envOf(is, "INTERRUPTION_QUEUE") != "demo" {
		t.Error("a value of the release is lost")
	}
	ports, free, err := kubelet.ClaimPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	s.upgrade(map[string]any{"controller": map[string]any{"metrics": map[string]any{"port": ports[0]}, "healthProbe": map[string]any{"port": ports[1]}}})
	s.run()
	if err := s.cluster.Apply(t.Context(), local.DefaultManifests("demo")); err != nil {
		t.Fatal(err)
	}
	s.deploy("web", 3)
}
