package migrate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
)

// healthy is a cluster that Karpenter 1.14 runs, by a Helm release, with nothing in the way.
func healthy(t *testing.T) *Seen {
	t.Helper()
	labels := map[string]string{nameLabel: "karpenter", instanceLabel: "karpenter"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter", Annotations: map[string]string{helmRelease: "karpenter", helmNamespace: "kube-system"}}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Spec.ServiceAccountName = "karpenter"
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "controller", Image: "public.ecr.aws/karpenter/controller:1.14.1@sha256:1", Env: []corev1.EnvVar{
		{Name: "CLUSTER_NAME", Value: "demo"}, {Name: "INTERRUPTION_QUEUE", Value: "demo"}, {Name: "FEATURE_GATES", Value: "ReservedCapacity=true"},
	}}}
	s := &Seen{ClusterName: "demo", Kubernetes: "v1.33.2-eks-1", Deployment: d, Owner: ownerOf(d), ServiceAccount: &corev1.ServiceAccount{}, Objects: map[string][]unstructured.Unstructured{}}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		crd.Status.StoredVersions = []string{crd.Spec.Versions[len(crd.Spec.Versions)-1].Name}
		s.Definitions = append(s.Definitions, *crd)
	}
	objects, err := s.installation()
	if err != nil {
		t.Fatal(err)
	}
	s.Granted, s.GrantedInNamespace = needed(objects, ofController)
	return s
}

func (s *Seen) add(t *testing.T, text string) {
	t.Helper()
	o := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	s.Objects[o.GetKind()] = append(s.Objects[o.GetKind()], o)
}

func (s *Seen) container() *corev1.Container { return &s.Deployment.Spec.Template.Spec.Containers[0] }

func TestAHealthyClusterIsReady(t *testing.T) {
	r := Examine(healthy(t))
	if !r.Ready || r.Count(Blocks) > 0 || r.Karpenter != "1.14.1" || r.Release != "karpenter" {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	pool := `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: web}, spec: {%s template: {spec: {nodeClassRef: {group: %s, kind: EC2NodeClass, name: web}, requirements: []}}}}`
	for name, test := range map[string]struct {
		spoil        func(*testing.T, *Seen)
		severity     Severity
		object, text string
	}{
		"old Kubernetes":   {func(_ *testing.T, s *Seen) { s.Kubernetes = "v1.27.3" }, Blocks, "the API server", "too old"},
		"new Kubernetes":   {func(_ *testing.T, s *Seen) { s.Kubernetes = "v1.40.0" }, Differs, "the API server", "newer"},
		"old Karpenter":    {func(_ *testing.T, s *Seen) { s.container().Image = "public.ecr.aws/karpenter/controller:0.37.0" }, Blocks, "karpenter", "0.37.0"},
		"no controller":    {func(_ *testing.T, s *Seen) { s.Deployment = nil }, Blocks, "the cluster", "no Deployment"},
		"a stored version": {func(_ *testing.T, s *Seen) { s.Definitions[3].Status.StoredVersions = []string{"v1beta1", "v1"} }, Blocks, "Definition", "v1beta1"},
		"a webhook":        {func(_ *testing.T, s *Seen) { s.Webhooks = []Webhook{{"ValidatingWebhookConfiguration", "v", "a/b"}} }, Blocks, "Validating", "a/b"},
		"an unknown field": {func(t *testing.T, s *Seen) { s.add(t, fmt.Sprintf(pool, "novel: 1,", "karpenter.k8s.aws")) }, Blocks, "NodePool web", "novel"},
		"a wrong schedule": {func(t *testing.T, s *Seen) {
			s.add(t, fmt.Sprintf(pool, `disruption: {budgets: [{nodes: "1", schedule: "99 * * * *", duration: 1h}]},`, "karpenter.k8s.aws"))
		}, Blocks, "NodePool web", "budgets[0]"},
		"kubelets of v1beta1": {func(t *testing.T, s *Seen) {
			s.container().Image = "public.ecr.aws/karpenter/controller:1.0.8"
			s.add(t, strings.Replace(fmt.Sprintf(pool, "", "karpenter.k8s.aws"), "{name: web}", `{name: web, annotations: {compatibility.karpenter.sh/v1beta1-kubelet-conversion: '{"maxPods":110}'}}`, 1))
		}, Blocks, "NodePool web", "v1beta1-kubelet-conversion"},
		"kubelets of v1beta1 in a later release": {func(t *testing.T, s *Seen) {
			s.add(t, strings.Replace(fmt.Sprintf(pool, "", "karpenter.k8s.aws"), "{name: web}", `{name: web, annotations: {compatibility.karpenter.sh/v1beta1-kubelet-conversion: '{"maxPods":110}'}}`, 1))
		}, Differs, "NodePool web", "has no effect"},
		"a taint without a reason": {func(t *testing.T, s *Seen) {
			s.add(t, `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: c1}, spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}, requirements: []}, status: {nodeName: n1, providerID: "aws:///a/i-1"}}`)
			s.Nodes = append(s.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}}})
		}, Differs, "Nodes n1", "do not say why"},
		"a taint with a reason": {func(t *testing.T, s *Seen) {
			s.Nodes = append(s.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}}})
			s.add(t, `{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: c1}, spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}, requirements: []},
  status: {nodeName: n1, providerID: "aws:///a/i-1", conditions: [{type: DisruptionReason, status: "True", reason: Drifted, message: Drifted, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)
		}, Fine, "Nodes n1", "goes on with their disruption"},
		"reservations of 1.4": {func(_ *testing.T, s *Seen) { s.container().Env[2].Value = "ReservedCapacity=false" }, Differs, "Deployment", "ReservedCapacity is off"},
		"reservations of 1.1": {func(_ *testing.T, s *Seen) {
			s.container().Image, s.container().Env[2].Value = "public.ecr.aws/karpenter/controller:1.1.2", "NodeRepair=false"
		}, Differs, "Deployment", "ReservedCapacity is off"},
		"another class": {func(t *testing.T, s *Seen) { s.add(t, fmt.Sprintf(pool, "", "eks.amazonaws.com")) }, Differs, "NodePools web", "eks.amazonaws.com"},
		"an unknown setting": {func(_ *testing.T, s *Seen) {
			s.container().Env = append(s.container().Env, corev1.EnvVar{Name: "NOVEL"})
		}, Differs, "Deployment", "NOVEL"},
		"an unknown flag": {func(_ *testing.T, s *Seen) { s.NoStart = []string{"unknown flag: --novel"} }, Blocks, "Deployment", "--novel"},
		"a malformed flag": {func(_ *testing.T, s *Seen) {
			s.container().Env = append(s.container().Env, corev1.EnvVar{Name: "BATCH_MAX_DURATION", Value: "soon"})
		}, Differs, "Deployment", "BATCH_MAX_DURATION"},
		"no cluster name": {func(_ *testing.T, s *Seen) { s.ClusterName, s.container().Env = "", nil }, Blocks, "Deployment", "CLUSTER_NAME"},
		"a gate":          {func(_ *testing.T, s *Seen) { s.container().Env[2].Value = "Novel=true" }, Differs, "Deployment", "Novel"},
		"own roles":       {func(_ *testing.T, s *Seen) { s.Granted = s.Granted[1:] }, Differs, "ServiceAccount", "lack"},
		"no rights": {func(_ *testing.T, s *Seen) {
			s.Refused = []Access{{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "a", For: "b"}}
		}, Blocks, "you", "may not"},
		"a selector":   {func(_ *testing.T, s *Seen) { s.Deployment.Spec.Selector.MatchLabels = map[string]string{"app": "k"} }, Blocks, "Deployment", "selector"},
		"another name": {func(_ *testing.T, s *Seen) { s.Deployment.Name = "kp-karpenter" }, Fine, "Deployment", "--set fullnameOverride=kp-karpenter"},
		"a mirror":     {func(_ *testing.T, s *Seen) { s.container().Image = "my.registry/karpenter:1.14.1" }, Differs, "Deployment", "mirror"},
		"an unknown value": {func(_ *testing.T, s *Seen) {
			s.Given = &Given{Object: "Helm release a/b", Values: map[string]any{"webhooks": map[string]any{"enabled": false}}}
		}, Blocks, "Helm release a/b", "webhooks: the chart has no such value"},
		"a variable that the chart sets": {func(_ *testing.T, s *Seen) {
			s.Given = &Given{Object: "Helm release a/b", Values: tree(t, "{settings: {clusterName: demo}, controller: {env: [{name: FEATURE_GATES, value: NodeRepair=true}]}}")}
		}, Blocks, "Helm release a/b", "FEATURE_GATES"},
		"a value without effect": {func(_ *testing.T, s *Seen) {
			s.Given = &Given{Object: "Helm release a/b", Values: tree(t, "{settings: {clusterName: demo}, logConfig: {enabled: true}}")}
		}, Differs, "Helm release a/b", "logConfig has no effect"},
		"a file of values": {func(_ *testing.T, s *Seen) {
			s.Given = &Given{Object: "Application a/b", Unread: []string{"prod.yaml"}}
		}, Unknown, "Application a/b", "prod.yaml"},
		"a stuck rollout": {func(_ *testing.T, s *Seen) {
			s.Pods = []Pod{{Name: "p", Image: s.container().Image}, {Name: "q", Image: "kerf:v1", Waiting: "ErrImagePull: no such image"}}
			s.container().Image = "kerf:v1"
		}, Blocks, "Deployment", "1 of its 2 pods can't start: ErrImagePull"},
		"a rollout":    {func(_ *testing.T, s *Seen) { s.Pods = []Pod{{Name: "p", Image: "other"}} }, Differs, "Deployment", "1 of 1 pods"},
		"Helm at work": {func(_ *testing.T, s *Seen) { s.Owner.Revisions = []Revision{{Number: 3, Status: "pending-upgrade"}} }, Blocks, "Helm release", "pending-upgrade"},
		"a failed upgrade": {func(_ *testing.T, s *Seen) {
			s.Owner.Revisions = []Revision{{Number: 3, Status: "deployed"}, {Number: 4, Status: "failed"}}
		}, Differs, "Helm release", "revision 4"},
		"a foreign holder": {func(_ *testing.T, s *Seen) {
			s.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("vm_1")}}
		}, Differs, "Lease", "calls itself vm"},
		"a holder on the network of its node": {func(_ *testing.T, s *Seen) {
			s.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("ip-10-0-0-1.ec2.internal_1")}}
			s.Deployment.Spec.Template.Spec.HostNetwork, s.Pods = true, []Pod{{Name: "p", Node: "ip-10-0-0-1.ec2.internal", Image: s.container().Image}}
		}, Fine, "Lease", "holds it"},
		"two releases of definitions": {func(_ *testing.T, s *Seen) {
			s.DefinitionsOwner = Owner{Manager: Helm, Release: "kerf-crd", ReleaseNamespace: "kube-system"}
			s.DefinitionsReleases = []string{"karpenter-crd", "kerf-crd"}
		}, Differs, "karpenter-crd, kerf-crd", "are of kerf-crd"},
		"two controllers": {func(_ *testing.T, s *Seen) { s.Controllers = []doctor.Controller{{Namespace: "a", Name: "b"}} }, Blocks, "a/b", "besides"},
		"an autoscaler": {func(_ *testing.T, s *Seen) {
			s.Workloads = []Workload{{"Deployment", "a", "b", []string{"x/cluster-autoscaler:v1"}, 1}}
		}, Differs, "a/b", "Cluster Autoscaler"},
		"Auto Mode": {func(_ *testing.T, s *Seen) {
			s.Definitions = append(s.Definitions, apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: autoModeClass}})
		}, Differs, autoModeClass, "Auto Mode"},
		"no AWS": {func(_ *testing.T, s *Seen) { s.NoAWS = "no credentials" }, Unknown, "AWS", "no credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(t)
			test.spoil(t, s)
			r := Examine(s)
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return f.Severity == test.severity && strings.Contains(f.Object, test.object) && strings.Contains(f.Text, test.text)
			}) {
				var b bytes.Buffer
				_ = r.Write(&b, true)
				t.Errorf("not found:\n%s", b.String())
			}
			if r.Ready != (r.Count(Blocks) == 0) || test.severity == Blocks && r.Ready {
				t.Errorf("ready: %v", r.Ready)
			}
		})
	}
}

// TestASwapThatDidNotFinishIsTheAnswer has Helm's last revision fail at an image that can't be pulled.
func TestASwapThatDidNotFinishIsTheAnswer(t *testing.T) {
	s := healthy(t)
	was := s.container().Image
	s.container().Image = "r/kerf:v9"
	s.Owner.Revisions = []Revision{{Number: 1, Status: "deployed", Chart: karpenterChart}, {Number: 2, Status: "failed", Chart: kerfChart}}
	s.Pods = []Pod{{Name: "p", Image: was, Ready: true}, {Name: "q", Image: "r/kerf:v9", Waiting: "ErrImagePull"}, {Name: "r", Image: "r/kerf:v9"}}
	for want, change := range map[string]func(){
		"The swap did not finish: Karpenter leads. 1 thing to fix.\ncluster demo, Kubernetes v1.33.2-eks-1, controller kube-system/karpenter, which is to run kerf v9": func() {},
		"The swap is under way: Karpenter leads until a pod of Kerf is ready.":                                                                                         func() { s.Pods[1].Waiting = "" },
		"Runs Kerf already: ": func() { s.Pods[1].Waiting, s.Pods[1].Ready = "", true },
	} {
		kept := slices.Clone(s.Pods)
		change()
		var b bytes.Buffer
		if err := Examine(s).Write(&b, false); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("want %q, got %v\n%s", want, err, b.String())
		}
		s.Pods = kept
	}
}

func TestVersionsAreThoseOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/releases.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{oldestKubernetes + " to " + newestKubernetes, oldestKarpenter + " to " + newestKarpenter} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/releases.md does not say %q", want)
		}
	}
}

func TestOwners(t *testing.T) {
	for want, o := range map[Manager]metav1.ObjectMeta{
		Helm:              {Annotations: map[string]string{helmRelease: "a"}},
		FluxHelmRelease:   {Annotations: map[string]string{helmRelease: "a"}, Labels: map[string]string{fluxHelm + "name": "a"}},
		FluxKustomization: {Labels: map[string]string{fluxKustomize + "name": "a"}},
		ArgoCD:            {Annotations: map[string]string{argoTracking: "a:apps/Deployment:kube-system/karpenter"}},
		Unmanaged:         {},
	} {
		if got := ownerOf(&appsv1.Deployment{ObjectMeta: o}); got.Manager != want || want != Unmanaged && want != Helm && got.Name != "a" {
			t.Errorf("%q: %+v", want, got)
		}
	}
}

func TestTheWayBackGoesToTheLastRevisionOfKarpenter(t *testing.T) {
	var revisions []Revision
	for i, chart := range []string{"karpenter", "karpenter", "kerf"} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		fmt.Fprintf(w, `{"chart":{"metadata":{"name":%q,"version":"1"}}}`, chart)
		w.Close()
		r, err := revisionOf(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"version": fmt.Sprint(i + 1), "status": "superseded"}},
			Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))}})
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, r)
	}
	s := healthy(t)
	s.Owner.Revisions = revisions
	s.add(t, `{kind: EC2NodeClass, metadata: {name: web}, spec: {launchTemplate: {name: a}}}`)
	var b bytes.Buffer
	if err := ToKarpenter(s.Facts("")).Write(&b); err != nil || !strings.Contains(b.String(), "helm rollback karpenter 2 --namespace kube-system") || !strings.Contains(b.String(), "EC2NodeClass web: spec.launchTemplate") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestFlagsOfADeploymentAreReadAsTheControllerDoes(t *testing.T) {
	s := healthy(t)
	s.container().Args = []string{"--compat", "karpenter", "--isolated-vpc", "--shadow=false", "--reserved-enis", "1"}
	env := s.environment()
	for name, want := range map[string]string{"KERF_COMPAT": "karpenter", "ISOLATED_VPC": "true", "KERF_SHADOW": "false", "RESERVED_ENIS": "1"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}
