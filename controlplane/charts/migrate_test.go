package charts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	plain "sigs.k8s.io/yaml"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/migrate"
)

// kerf runs a command of Kerf as the administrator of cluster and account.
func (s *site) kerf(args ...string) (out string, code int) {
	s.Helper()
	c := exec.CommandContext(s.Context(), s.binary, args...)
	c.Env = append(os.Environ(), s.cluster.Env()...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else if err != nil {
		s.Fatal(err)
	}
	if stderr.Len() > 0 {
		s.Logf("kerf %s: %s", strings.Join(args, " "), stderr.String())
	}
	return stdout.String(), code
}

func (s *site) check(args ...string) (*migrate.Report, int) {
	s.Helper()
	out, code := s.kerf(append([]string{"migrate", "check", "--output", "json"}, args...)...)
	r := &migrate.Report{}
	if err := json.Unmarshal([]byte(out), r); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	return r, code
}

// found tells whether a report has a finding of a severity whose object and text contain the given ones.
func found(r *migrate.Report, severity migrate.Severity, object, text string) bool {
	return slices.ContainsFunc(r.Findings, func(f migrate.Finding) bool {
		return f.Severity == severity && strings.Contains(f.Object, object) && strings.Contains(f.Text, text)
	})
}

func blocking(r *migrate.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		if f.Severity == migrate.Blocks || f.Severity == migrate.Unknown {
			b.WriteString(string(f.Severity) + " " + f.Object + ": " + f.Text + " " + strings.Join(f.Evidence, "; ") + "\n")
		}
	}
	return b.String()
}

// setImage has the Deployment name an image, as if another controller ran there.
func (s *site) setImage(image string) {
	s.Helper()
	d := &appsv1.Deployment{}
	s.get(release, d)
	d.Spec.Template.Spec.Containers[0].Image = image
	if err := s.client.Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}

// TestMigrate takes a release of the Karpenter chart over by the steps that kerf migrate prints, and puts trouble in between,
// each of which kerf migrate check finds.
func TestMigrate(t *testing.T) {
	s := newSite(t)
	text, err := os.ReadFile("testdata/karpenter-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.install("karpenter-crd", crdChart, nil)
	before := load(t, kerfChart) // what matters of that chart: its values and names
	before.Metadata.Name, before.Metadata.Version, before.Metadata.AppVersion, before.Schema = "karpenter", "1.14.1", "1.14.1", nil
	if before.Values, err = parseValues(text); err != nil {
		t.Fatal(err)
	}
	ports, free, err := kubelet.ClaimPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	a := action.NewInstall(s.helm)
	a.ReleaseName, a.Namespace, a.WaitStrategy, a.ServerSideApply, a.Timeout = release, namespace, helmkube.HookOnlyStrategy, true, time.Minute
	if _, err := a.Run(before, map[string]any{"webhook": map[string]any{"enabled": false}, "webhooks": map[string]any{"enabled": false}, "settings": map[string]any{"clusterName": "demo", "interruptionQueue": "demo"}, "controller": map[string]any{"metrics": map[string]any{"port": ports[0]}, "healthProbe": map[string]any{"port": ports[1]}}}); err != nil {
		t.Fatal(err)
	}
	s.run()
	if err := s.cluster.Apply(t.Context(), local.DefaultManifests("demo")); err != nil {
		t.Fatal(err)
	}
	s.deploy("web", 3)
	s.eventually(time.Minute, "its nodes are initialized", func(ctx context.Context) (bool, string) {
		var list karpv1.NodeClaimList
		if err := s.client.List(ctx, &list); err != nil {
			return false, err.Error()
		}
		for i := range list.Items {
			if !list.Items[i].StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
				return false, list.Items[i].Name
			}
		}
		return len(list.Items) > 0, ""
	})
	s.setImage("public.ecr.aws/karpenter/controller:1.14.1")

	r, code := s.check()
	// A value that no chart knows, which the steps take away, is all that blocks. One of older charts has no effect.
	if code != 3 || r.Count(migrate.Blocks) != 1 || !found(r, migrate.Blocks, "Helm release", "webhooks") || !found(r, migrate.Differs, "Helm release", "webhook") || r.Release != release || r.Karpenter != "1.14.1" {
		t.Fatalf("exit code %d, ready %v, release %q, %q:\n%s", code, r.Ready, r.Release, r.Karpenter, blocking(r))
	}
	if r, code := s.check("--no-aws"); code != 3 || r.Count(migrate.Blocks) != 1 {
		t.Errorf("without AWS by choice: exit code %d\n%s", code, blocking(r))
	}
	if r, code := s.check("--namespace", "default"); code != 3 || !found(r, migrate.Blocks, "the cluster", "in the namespace default") {
		t.Errorf("in the wrong namespace: exit code %d\n%s", code, blocking(r))
	}
	if r, code := s.check("--region", "eu-central-7"); code != 3 || !found(r, migrate.Unknown, "AWS", "not in eu-central-7") {
		t.Errorf("in the wrong region: exit code %d\n%s", code, blocking(r))
	}
	if out, code := s.kerf("migrate", "check", "--namespace", "default", "--quiet"); code != 3 || !strings.Contains(out, "no Deployment") {
		t.Errorf("in the wrong namespace, quietly: exit code %d: %s", code, out)
	}
	for _, wrong := range [][]string{{"--region", "eu-central-7"}, {"--release", "nope"}} {
		if out, code := s.kerf(append([]string{"migrate", "to-kerf"}, wrong...)...); code != 2 {
			t.Errorf("%v: exit code %d: %s", wrong, code, out)
		}
	}
	s.trouble()

	out, code := s.kerf("migrate", "to-kerf", "--image", "ghcr.io/kerf-sh/kerf:v0.1.0", "--output", "json")
	guide := &migrate.Guide{}
	if err := json.Unmarshal([]byte(out), guide); err != nil || code != 0 || guide.Form != migrate.WithHelm || len(guide.Fill) > 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	claims := s.claims()
	if n := s.carryOut(guide); n != 2 {
		t.Fatalf("%d commands of Helm were carried out, want the CRDs and the controller:\n%s", n, out)
	}
	if d := s.run(); envOf(d, "KERF_COMPAT") != "karpenter" || envOf(d, "INTERRUPTION_QUEUE") != "demo" {
		t.Errorf("after the swap: %v", d.Spec.Template.Spec.Containers[0].Env)
	}
	if r, code = s.check(); code != 0 || !r.Ready || !r.Kerf {
		t.Errorf("after the swap: exit code %d:\n%s", code, blocking(r))
	}
	s.deploy("more", 3)
	for _, c := range claims {
		if !slices.Contains(s.claims(), c) {
			t.Errorf("NodeClaim %s was replaced", c)
		}
	}

	out, code = s.kerf("migrate", "to-karpenter", "--output", "json")
	guide = &migrate.Guide{}
	if err := json.Unmarshal([]byte(out), guide); err != nil || code != 0 || len(guide.Fill) > 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if n := s.carryOut(guide); n != 1 {
		t.Fatalf("%d commands of Helm were carried out, want the way back:\n%s", n, out)
	}
	d := &appsv1.Deployment{}
	s.get(release, d)
	if envOf(d, "KERF_COMPAT") != "" {
		t.Errorf("after the way back: %v", d.Spec.Template.Spec.Containers[0].Env)
	}
}

// trouble puts trouble into the cluster, one after the other, and takes it out again.
func (s *site) trouble() {
	s.Helper()
	var claims karpv1.NodeClaimList
	if err := s.client.List(s.Context(), &claims); err != nil {
		s.Fatal(err)
	}
	claim := claims.Items[0].Name
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	stored := func(versions ...any) {
		if err := s.client.Get(s.Context(), client.ObjectKey{Name: "nodepools.karpenter.sh"}, crd); err != nil {
			s.Fatal(err)
		}
		if err := unstructured.SetNestedSlice(crd.Object, versions, "status", "storedVersions"); err != nil {
			s.Fatal(err)
		}
		if err := s.client.Status().Update(s.Context(), crd); err != nil {
			s.Fatal(err)
		}
	}
	stored("v1beta1", "v1")
	autoscaler := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: cluster-autoscaler, namespace: kube-system}, spec: {selector: {matchLabels: {app: ca}},
  template: {metadata: {labels: {app: ca}}, spec: {containers: [{name: main, image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0"}]}}}}`
	if err := s.cluster.Apply(s.Context(), []byte(autoscaler)); err != nil {
		s.Fatal(err)
	}
	d := &appsv1.Deployment{}
	s.get(release, d)
	was := d.DeepCopy()
	d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, was.Spec.Template.Spec.Containers[0].Env[0])
	last := &d.Spec.Template.Spec.Containers[0].Env[len(d.Spec.Template.Spec.Containers[0].Env)-1]
	last.Name, last.Value, last.ValueFrom = "NOVEL_SETTING", "1", nil
	if err := s.client.Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
	c := &karpv1.NodeClaim{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: claim}, c); err != nil {
		s.Fatal(err)
	}
	hash := c.Annotations[karpv1.NodePoolHashAnnotationKey]
	// The controller at work marks the claim as drifted sooner or later; until then, and without AWS, the hash tells.
	if err := s.cluster.Controller.Terminate(); err != nil {
		s.Fatal(err)
	}
	s.annotate(claim, "1")
	r, code := s.check("--no-aws")
	for _, want := range []struct {
		severity     migrate.Severity
		object, text string
	}{
		{migrate.Blocks, "nodepools.karpenter.sh", "v1beta1"},
		{migrate.Differs, "cluster-autoscaler", "Cluster Autoscaler"},
		{migrate.Differs, "Deployment", "NOVEL_SETTING"},
		{migrate.Blocks, claim, "hash"},
	} {
		if !found(r, want.severity, want.object, want.text) {
			s.Errorf("no finding %+v in\n%+v", want, r.Findings)
		}
	}
	if code != 3 {
		s.Errorf("exit code %d", code)
	}
	if r, _ = s.check(); !found(r, migrate.Blocks, claim, "would replace") {
		s.Errorf("with AWS the hash is not seen:\n%s", blocking(r))
	}
	s.annotate(claim, hash)
	stored("v1")
	s.get(release, d)
	d.Spec.Template.Spec.Containers[0].Env = was.Spec.Template.Spec.Containers[0].Env
	if err := s.client.Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
	d = &appsv1.Deployment{}
	d.Name, d.Namespace = "cluster-autoscaler", "kube-system"
	if err := s.client.Delete(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}

// annotate sets the hash of a claim.
func (s *site) annotate(claim, hash string) {
	s.Helper()
	c := &karpv1.NodeClaim{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: claim}, c); err != nil {
		s.Fatal(err)
	}
	patch := client.MergeFrom(c.DeepCopy())
	c.Annotations[karpv1.NodePoolHashAnnotationKey] = hash
	if err := s.client.Patch(s.Context(), c, patch); err != nil {
		s.Fatal(err)
	}
}

// carryOut does what the commands of Helm in the steps say, by Helm's own code, and returns how many there were.
func (s *site) carryOut(guide *migrate.Guide) int {
	s.Helper()
	n, file := 0, ""
	for _, step := range guide.Steps {
		for _, command := range step.Commands {
			if text, ok := strings.CutPrefix(command, "cat > kerf-values.yaml <<'EOF'\n"); ok {
				file = strings.TrimSuffix(text, "EOF")
			}
			words := strings.Fields(strings.ReplaceAll(command, "\\\n", " "))
			if words[0] != "helm" || !slices.Contains([]string{"upgrade", "rollback"}, words[1]) {
				continue
			}
			s.Logf("%s", command)
			s.helmCommand(words[1:], file)
			n++
		}
	}
	return n
}

// helmCommand is a command of Helm, with the text of the file that --values names.
func (s *site) helmCommand(words []string, file string) {
	s.Helper()
	var sets []string
	takes, keeps := slices.Contains(words, "--take-ownership"), slices.Contains(words, "--reset-then-reuse-values")
	for i, w := range words {
		if w == "--set" {
			sets = append(sets, strings.Trim(words[i+1], "'"))
		}
	}
	values := map[string]any{}
	if slices.Contains(words, "--values") {
		var err error
		if values, err = parseValues([]byte(file)); err != nil {
			s.Fatal(err)
		}
	}
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			s.Fatal(err)
		}
	}
	switch words[0] {
	case "upgrade":
		a := action.NewUpgrade(s.helm)
		a.Namespace, a.WaitStrategy, a.ResetThenReuseValues, a.TakeOwnership, a.ServerSideApply, a.Timeout = namespace, helmkube.HookOnlyStrategy, keeps, takes, "auto", time.Minute
		a.ResetValues = slices.Contains(words, "--reset-values")
		a.ForceConflicts = true // with setImage, which is not of the story
		if _, err := a.Run(words[1], load(s, "../../"+words[2]), values); err != nil {
			s.Fatalf("%v: %v", words, err)
		}
	case "rollback":
		a := action.NewRollback(s.helm)
		var err error
		if a.Version, err = strconv.Atoi(words[2]); err != nil {
			s.Fatal(err)
		}
		a.WaitStrategy, a.ServerSideApply, a.Timeout = helmkube.HookOnlyStrategy, "auto", time.Minute
		if err := a.Run(words[1]); err != nil {
			s.Fatalf("%v: %v", words, err)
		}
	default:
		s.Fatalf("no way to carry out helm %v", words)
	}
}

func parseValues(text []byte) (map[string]any, error) {
	out := map[string]any{}
	return out, plain.Unmarshal(text, &out)
}
