package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

func written(t *testing.T, g *Guide) string {
	t.Helper()
	var b strings.Builder
	if err := g.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// contains tells which of some texts are missing in another one, or are in it with a ! before them.
func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		no, not := strings.CutPrefix(want, "! ")
		if strings.Contains(text, no) == not {
			t.Errorf("%q in\n%s", want, text)
		}
	}
}

// fill are the words in capitals that the steps leave.
func fill(g *Guide) (out []string) {
	for _, p := range g.Fill {
		out = append(out, p.Word)
	}
	slices.Sort(out)
	return out
}

const stale = `{webhooks: {enabled: false}, podLabels: {a: b}, hostNetwork: "true", settings: {featureGates: {nodeReadines: true}}}`

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSwapTakesAwayWhatTheChartRefuses(t *testing.T) {
	s := healthy(t)
	s.Owner.Revisions = []Revision{{Number: 1, Status: "deployed", Chart: karpenterChart, Version: "1.14.1"}}
	s.Given = &Given{Object: "Helm release kube-system/karpenter", Values: tree(t, stale)}
	text := written(t, ToKerf(s.Facts("")))
	contains(t, text, "\nhostNetwork: true\n", "! webhooks:", "! nodeReadines:", "--reset-values --values kerf-values.yaml", "take care of: the value hostNetwork", "read -r answer")

	s.Owner.Revisions[0].Chart = kerfChart
	if r := Examine(s); r.Count(Blocks) > 0 {
		t.Errorf("values of Kerf's own release block: %+v", r.Findings)
	}
}

// TestTheSwapLeavesOpenReservationsAsTheyAre has a release of a chart by whose default the feature gate was off.
func TestTheSwapLeavesOpenReservationsAsTheyAre(t *testing.T) {
	s := healthy(t)
	const off = "--set settings.featureGates.reservedCapacity=false"
	contains(t, written(t, ToKerf(s.Facts(""))), "! "+off)
	s.container().Env[2].Value = "ReservedCapacity=false,NodeRepair=false"
	s.Owner.Revisions = []Revision{{Number: 1, Status: "deployed", Chart: karpenterChart, Version: "1.4.0"}}
	contains(t, written(t, ToKerf(s.Facts(""))), off)
}

func TestTheSwapOfAHelmRelease(t *testing.T) {
	s := healthy(t)
	s.Owner = Owner{Manager: FluxHelmRelease, Name: "karpenter", Namespace: "flux", Release: "karpenter", ReleaseNamespace: "kube-system",
		Revisions: []Revision{{Number: 1, Status: "deployed", Chart: karpenterChart, Values: tree(t, "{logConfigs: {enabled: true}}")}}}
	s.Given = helmReleaseValues("HelmRelease flux/karpenter", tree(t, "{spec: {chartRef: {kind: OCIRepository}, values: "+stale+"}}"), s.Owner)
	s.Given.Applier, s.Given.ApplierNamespace = "infra", "flux-system"
	text := written(t, ToKerf(s.Facts("")))
	contains(t, text, "chartRef: null", "webhooks: null", "hostNetwork: true", "nodeReadines: null", "! logConfigs: null", "Remove the value logConfigs from the ConfigMap", "kind: GitRepository",
		"reconcileStrategy: Revision", "url: KERF_SOURCE", "flux reconcile kustomization infra --namespace flux-system", "Commit kerf-source.yaml", "diff -u helmrelease.before.yaml helmrelease.after.yaml", "! as it was shown")
	// What Flux undoes is said where the steps go past it.
	contains(t, written(t, ToKerf(s.Facts(WithHelm))), "flux suspend helmrelease karpenter --namespace flux first")
	contains(t, written(t, ToKarpenter(s.Facts(WithKubectl))), "undoes what kubectl changes")
	contains(t, written(t, ToKerf(s.Facts(""))), "! flux suspend")
	if r := Examine(s); r.Count(Blocks) != 4 {
		t.Errorf("%+v", r.Findings)
	}
	s.Given.ChartRef = false
	contains(t, written(t, ToKerf(s.Facts(""))), "! chartRef")
}

func TestTheSwapOfAnApplication(t *testing.T) {
	for name, spec := range map[string]string{
		"values as an object": `{source: {repoURL: r, chart: karpenter, helm: {valuesObject: ` + stale + `, parameters: [{name: replicas, value: "3"}, {name: logConfigs.enabled, value: "true"}]}}}`,
		"values as a text":    `{source: {repoURL: r, chart: karpenter, helm: {values: 'webhooks: {enabled: false}', parameters: [{name: replicas, value: "3"}, {name: logConfigs.enabled, value: "true"}]}}}`,
		"several sources": `{sources: [{repoURL: x, ref: values}, {repoURL: r, chart: karpenter, helm: {valuesObject: ` + stale +
			`, parameters: [{name: replicas, value: "3"}, {name: logConfigs.enabled, value: "true"}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(t)
			s.Owner = Owner{Manager: ArgoCD, Name: "karpenter", Namespace: "argo"}
			s.Given = applicationValues("Application argo/karpenter", tree(t, "{spec: "+spec+"}"))
			f := s.Facts("")
			f.Image = "r/kerf:v0.1.0" // the chart refuses IMAGE_REPOSITORY, which stands for a name
			g := ToKerf(f)
			contains(t, written(t, g), "name: replicas", "! name: logConfigs.enabled", "repoURL: KERF_SOURCE", "path: charts/kerf", "argocd app diff karpenter --refresh || [ $? = 1 ]")
			after := patched(t, g, tree(t, "{spec: "+spec+"}"))
			given := applicationValues("", after)
			if given == nil {
				source, _ := nested(after, "spec", "sources").([]any)
				given = applicationValues("", map[string]any{"spec": map[string]any{"source": source[1]}})
			}
			refused, err := manifests.Refused(given.Values)
			if err != nil || len(refused) > 0 {
				t.Errorf("after the change the chart refuses %v (%v)\n%v", refused, err, after)
			}
			if given.Values["replicas"] != float64(3) {
				t.Errorf("the parameter replicas is %v", given.Values["replicas"])
			}
			contains(t, written(t, ToKarpenter(s.Facts(""))), "! OWNER_NAMESPACE", "argocd app sync karpenter")
		})
	}
}

// patched is a tree with the merge patch that the steps write into a file.
func patched(t *testing.T, g *Guide, before map[string]any) map[string]any {
	t.Helper()
	for _, s := range g.Steps {
		for _, c := range s.Commands {
			if text, ok := strings.CutPrefix(c, "cat > kerf-application.yaml <<'EOF'\n"); ok {
				return manifestsMerge(before, tree(t, strings.TrimSuffix(text, "EOF")))
			}
		}
	}
	t.Fatal("no patch")
	return nil
}

func manifestsMerge(base, patch map[string]any) map[string]any {
	for k, v := range patch {
		b, isTree := base[k].(map[string]any)
		p, alsoTree := v.(map[string]any)
		switch {
		case v == nil:
			delete(base, k)
		case isTree && alsoTree:
			base[k] = manifestsMerge(b, p)
		default:
			base[k] = v
		}
	}
	return base
}

func TestTheWayBackWithoutARevision(t *testing.T) {
	for note, revisions := range map[string][]Revision{
		"The release never had": {{Number: 1, Status: "deployed", Chart: kerfChart}},
		"Helm keeps ten":        {{Number: 12, Status: "deployed", Chart: kerfChart}},
	} {
		s := healthy(t)
		s.container().Image, s.Owner.Revisions = "r/kerf:v0.1.0", revisions
		g := ToKarpenter(s.Facts(""))
		contains(t, written(t, g), note, "helm upgrade karpenter oci://", "--version VERSION", "--values VALUES_FILE", "grep -v -F r/kerf:v0.1.0")
		if got := strings.Join(fill(g), " "); got != "VALUES_FILE VERSION" {
			t.Errorf("to fill in: %s", got)
		}
	}
}

func TestATrialOfTheImageAlone(t *testing.T) {
	s := healthy(t)
	s.container().Image = "r/kerf:v0.1.0"
	s.container().Env = append(s.container().Env, s.container().Env[0])
	s.container().Env[3].Name, s.container().Env[3].Value = "KERF_COMPAT", "karpenter"
	s.Owner.Revisions = []Revision{{Number: 4, Status: "deployed", Chart: karpenterChart, Version: "1.14.1"}}
	contains(t, written(t, ToKerf(s.Facts(WithKubectl))), "the next helm upgrade undoes it")
	// Version 4 refuses the flag for a release that version 3 made.
	contains(t, written(t, ToKarpenter(s.Facts(""))), "helm rollback karpenter 4 --namespace kube-system --wait --timeout 10m\n", "set env deployment/karpenter KERF_COMPAT-", "! kubectl apply", "! --force-conflicts")
	contains(t, written(t, ToKerf(s.Facts(""))), "--reset-then-reuse-values \\\n", "--set controller.image.repository=r/kerf", "! IMAGE_", "! --force-conflicts")
	s.Owner.Revisions[0].ServerSide = true
	contains(t, written(t, ToKarpenter(s.Facts(""))), "--wait --timeout 10m "+overKubectl+"\n")
	contains(t, written(t, ToKerf(s.Facts(""))), "--reset-then-reuse-values "+overKubectl+" \\\n")
	s.Deployment.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply}}
	contains(t, written(t, ToKarpenter(s.Facts(""))), `echo '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"kube-system","name":"karpenter"}}' | kubectl apply --server-side -f -`, "! set env")
	s.Deployment.ManagedFields = append(s.Deployment.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl-set", Operation: metav1.ManagedFieldsOperationUpdate})
	contains(t, written(t, ToKarpenter(s.Facts(""))), "kubectl apply --server-side -f -", "set env deployment/karpenter KERF_COMPAT-")
	if a := Examine(s).Answer(); !strings.HasPrefix(a, "Runs Kerf already") {
		t.Error(a)
	}
	s.Owner.Revisions[0].Chart = kerfChart
	contains(t, written(t, ToKerf(s.Facts(""))), "! --force-conflicts", "! controller.image", "runs Kerf already (r/kerf:v0.1.0)")
}

// TestGitOpsOfAReleaseOfHelm asks for a change in Git where no object of a GitOps tool was found.
func TestGitOpsOfAReleaseOfHelm(t *testing.T) {
	s := healthy(t)
	s.Owner.Revisions = []Revision{{Number: 1, Status: "deployed", Chart: karpenterChart, Version: "1.14.1"}}
	s.Given = &Given{Object: "Helm release kube-system/karpenter", Values: tree(t, stale)}
	g := ToKerf(s.Facts(WithGitOps))
	contains(t, written(t, g), "patch helmrelease OWNER_NAME", "patch application OWNER_NAME", "Remove the value webhooks from spec.values", "Remove the value webhooks from its values", "! ConfigMap or Secret")
	contains(t, written(t, g), "# 4. Leave out the steps of the tool that you do not have\n#    With Flux: steps 5 to 7. With Argo CD: steps 8 to 10.", "# 7. With Flux: Have Flux", "# 8. With Argo CD: Write the change")
	if got := strings.Join(fill(g), " "); got != "IMAGE_REPOSITORY IMAGE_TAG KERF_REVISION KERF_SOURCE OWNER_NAME OWNER_NAMESPACE REGION" {
		t.Errorf("to fill in: %s", got)
	}
}

// TestWhatIsOptionalWaits has the steps after the swap stop before what the swap does not need, and run no empty script.
func TestWhatIsOptionalWaits(t *testing.T) {
	steps := ToKerf(healthy(t).Facts("")).Steps
	commands := steps[len(steps)-1].Commands
	if !strings.HasSuffix(commands[0], "< /dev/tty") || !strings.HasPrefix(commands[len(commands)-1], "[ ! -s fix.sh ] || {") {
		t.Errorf("%q", commands)
	}
}

// TestWhatKubectlAppliedIsTakenOver has no release, so that kubectl owns the fields which Helm is to set.
func TestWhatKubectlAppliedIsTakenOver(t *testing.T) {
	s := healthy(t)
	s.Owner = Owner{}
	contains(t, written(t, ToKerf(s.Facts(WithHelm))), "--install --namespace kube-system --take-ownership --skip-crds "+overKubectl)
	contains(t, written(t, ToKarpenter(s.Facts(WithHelm))), "--install --take-ownership "+overKubectl+" --namespace kube-system")
}

// TestTheFlagForConflictsIsOfVersionFour runs what is printed with each version of Helm.
func TestTheFlagForConflictsIsOfVersionFour(t *testing.T) {
	for version, want := range map[string]string{"v3.22.0+g1234567": "rollback\n", "v4.0.1+g1234567": "rollback --force-conflicts\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "helm"), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sh", "-ec", "echo rollback "+overKubectl)
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := c.Output(); err != nil || string(out) != want {
			t.Errorf("with %s: %q, %v", version, out, err)
		}
	}
}

// TestTheValuesOfADeployment makes values of a Deployment, and the Deployment of the values.
func TestTheValuesOfADeployment(t *testing.T) {
	given := manifests.Defaults()
	given, err := given.With(tree(t, `
replicas: 3
podLabels: {team: a}
podAnnotations: {team: platform}
dnsPolicy: Default
hostNetwork: true
priorityClassName: ""
nodeSelector: {kubernetes.io/os: null, pool: system}
tolerations: [{key: dedicated, operator: Equal, value: system, effect: NoSchedule}]
affinity: null
topologySpreadConstraints: []
terminationGracePeriodSeconds: 60
logLevel: debug
extraVolumes: [{name: certs, emptyDir: {}}]
controller:
  resources: {requests: {cpu: 200m}, limits: {cpu: 200m, memory: 2Gi, ephemeral-storage: null}}
  env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: KUBE_CLIENT_QPS, value: "50"}]
  extraVolumeMounts: [{name: certs, mountPath: /certs}]
  sidecarContainer: [{name: side, image: side}]
  metrics: {port: 9090}
settings: {clusterName: demo, interruptionQueue: demo, batchMaxDuration: 20s, reservedENIs: "1", vmMemoryOverheadPercent: 0.1, eksControlPlane: true, featureGates: {nodeRepair: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	make := func(v *manifests.Values) *appsv1.Deployment {
		objects, err := manifests.Objects(manifests.Release{Name: "karpenter", Namespace: "kube-system"}, v)
		if err != nil {
			t.Fatal(err)
		}
		return deploymentOf(objects)
	}
	s := healthy(t)
	s.Deployment = make(given)
	values := s.chartValues()
	again, err := manifests.Defaults().With(values)
	if err != nil {
		t.Fatalf("%v\n%v", err, values)
	}
	again.Settings.ClusterName, again.Settings.InterruptionQueue = "demo", "demo"
	if got, want := make(again), s.Deployment; !equality.Semantic.DeepEqual(got, want) {
		a, _ := yaml.Marshal(got)
		b, _ := yaml.Marshal(want)
		t.Errorf("got\n%s\nwant\n%s\nby %v", a, b, values)
	}
	s.Deployment = make(func() *manifests.Values { v := manifests.Defaults(); v.Settings.ClusterName = "demo"; return v }())
	if values := s.chartValues(); len(values) > 0 {
		t.Errorf("of the chart's own defaults: %v", values)
	}
}

// TestAStepThatFailsStopsWhatFollows runs the printed steps with commands that fail from one on.
func TestAStepThatFailsStopsWhatFollows(t *testing.T) {
	s := healthy(t)
	f := s.Facts("")
	f.Image = "r/kerf:v0.1.0"
	text := written(t, ToKerf(f))
	for failing, want := range map[string]struct{ ran, not string }{
		"kerf migrate check":     {"kerf migrate check", "kubectl"},
		"helm upgrade karpenter": {"helm upgrade kerf-crd", "rollout status"},
		"no image":               {"deployment karpenter -o jsonpath", "rollout status"},
	} {
		t.Run(failing, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			for _, name := range []string{"kerf", "helm", "kubectl", "less"} {
				script := "#!/bin/bash\necho \"" + name + " $*\" >> " + log + "\ncase \"" + name + " $*\" in *\"" + failing + "\"*) exit 3;; esac\n"
				if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			// As pasted: the shell reads its commands, and goes on after them.
			c := exec.Command("bash", "-s")
			c.Dir, c.Env, c.Stdin = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")), strings.NewReader(text+"\necho still here\n")
			out, err := c.Output()
			if err != nil || string(out) != "still here\n" {
				t.Errorf("%v: %s", err, out)
			}
			ran, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(ran), want.ran, "! "+want.not)
		})
	}
}
