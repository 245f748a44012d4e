package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// made is an object of JSON: its spec, and what its metadata and its status have besides.
func made(kind, name, spec, metadata, status string) string {
	version := map[string]string{"Pod": "v1", "ReplicationController": "v1", "ResourceQuota": "v1", "LimitRange": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "PodDisruptionBudget": "policy/v1",
		"HorizontalPodAutoscaler": "autoscaling/v2", "Rollout": "argoproj.io/v1alpha1", "Prometheus": "monitoring.coreos.com/v1", "Kustomization": "kustomize.config.k8s.io/v1beta1"}[kind]
	if version == "" {
		version = "apps/v1"
	}
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"namespace": "shop", "name": %q%s}, "spec": {%s}, "status": {%s}}`+"\n---\n", version, kind, name, metadata, spec, status)
}

const (
	onePod      = `"containers": [{"name": "a", "image": "x"}]`
	oneTemplate = `"template": {"metadata": {"labels": {"app": "web"}}, "spec": {` + onePod + `}}`
)

func of(kind, name string) string {
	return fmt.Sprintf(`, "ownerReferences": [{"apiVersion": "v1", "kind": %q, "name": %q, "uid": "1", "controller": true}]`, kind, name)
}

// played says which pods start, and what the notes say.
func played(w *workload.Workload) (steps, notes string) {
	var out []string
	for i := range w.Steps {
		s := &w.Steps[i]
		out = append(out, fmt.Sprintf("%d %s", s.Replicas, s.Template))
	}
	for _, n := range w.Notes {
		notes += fmt.Sprintf("%d × %s: %s\n", n.Count, n.What, n.Example)
	}
	return strings.Join(out, ", "), notes
}

// Each pod of the files is there once, whoever else of the files stands for it, and what has none leaves a note.
func TestWhichPodsOfManifestsArePlayed(t *testing.T) {
	web := made("Deployment", "web", `"replicas": 2, `+oneTemplate, "", "")
	const leftOut = "objects that an object of the files, a DaemonSet or a node owns, and pods and Jobs that have ended, are left out: --snapshot plays"
	for name, tt := range map[string]struct{ objects, steps, note string }{
		"a dump of a Deployment": {web + made("ReplicaSet", "web-1", `"replicas": 2, `+oneTemplate, of("Deployment", "web"), "") + made("ReplicaSet", "web-0", `"replicas": 0, `+oneTemplate, of("Deployment", "web"), "") +
			made("Pod", "web-1-a", onePod, of("ReplicaSet", "web-1"), `"phase": "Running"`) + made("Pod", "web-1-b", onePod, of("ReplicaSet", "web-1"), `"phase": "Succeeded"`), "2 shop/web", "4 × " + leftOut},
		"a dump without ReplicaSets": {web + made("Pod", "web-1-a", onePod, `, "labels": {"pod-template-hash": "1"}`+of("ReplicaSet", "web-1"), ""), "2 shop/web", "1 × " + leftOut},
		"pods whose owner is not there": {made("Pod", "web-1-a", onePod, of("ReplicaSet", "web-1"), "") + made("Pod", "web-1-b", onePod, of("ReplicaSet", "web-1"), ""),
			"2 shop/web-1", ""},
		"what ended": {web + made("Job", "done", oneTemplate, "", `"conditions": [{"type": "Complete", "status": "True"}]`) + made("Job", "failed", oneTemplate, "", `"conditions": [{"type": "Failed", "status": "True"}]`) +
			made("Pod", "failed", onePod, "", `"phase": "Failed"`), "2 shop/web", "3 × " + leftOut},
		"what a DaemonSet and a node have": {web + made("Pod", "log-1", onePod, of("DaemonSet", "log"), "") + made("Pod", "proxy-n", onePod, of("Node", "n"), ""), "2 shop/web", "2 × " + leftOut},
		"what a CronJob started": {web + made("CronJob", "c", `"schedule": "* * * * *"`, "", "") + made("Job", "c-1", oneTemplate, of("CronJob", "c"), "") + made("Pod", "c-1-a", onePod, of("Job", "c-1"), ""),
			"2 shop/web", "2 × " + leftOut},
		"a Job that still runs":    {made("Job", "j", oneTemplate, of("CronJob", "gone"), `"active": 1`), "1 shop/j", "pods of Jobs run for 10m0s"},
		"three owners of one name": {made("Job", "web", oneTemplate, "", "") + made("StatefulSet", "web", oneTemplate, "", "") + web, "2 shop/web, 1 shop/web-statefulset, 1 shop/web-job", ""},
		"names that the API server makes": {strings.ReplaceAll(made("Pod", "web-", onePod, "", "")+made("Pod", "web-", onePod, "", ""), `"name": "web-"`, `"generateName": "web-"`),
			"1 pod/shop/web, 1 pod/shop/web-2", ""},
		"a suspended Job":         {web + made("Job", "nightly", `"suspend": true, `+oneTemplate, "", ""), "2 shop/web", "1 × Jobs that are suspended are left out: they have no pods until somebody resumes them: shop/nightly"},
		"a suspended CronJob":     {web + made("CronJob", "c", `"suspend": true`, "", ""), "2 shop/web", "1 × CronJobs that are suspended are left out: they start no pods: shop/c"},
		"a ReplicationController": {made("ReplicationController", "old", `"replicas": 3, "selector": {"app": "web"}, `+oneTemplate, "", ""), "3 shop/old", ""},
		"other kinds with pods": {web + made("Rollout", "canary", `"replicas": 3, `+oneTemplate, "", ""), "2 shop/web",
			"1 × objects of kind Rollout (argoproj.io/v1alpha1) are left out: their pods are missing in every figure: shop/canary"},
		"other kinds whose ReplicaSet is there": {made("Rollout", "canary", `"replicas": 3, `+oneTemplate, "", "") + made("ReplicaSet", "canary-1", `"replicas": 3, `+oneTemplate, of("Rollout", "canary"), ""), "3 shop/canary-1", ""},
		"kinds of these names of other groups": {web + strings.ReplaceAll(made("Job", "train", `"minAvailable": 3`, "", ""), "batch/v1", "batch.volcano.sh/v1alpha1") +
			strings.ReplaceAll(made("Deployment", "web", `"reserveOrdinals": [1], `+oneTemplate, "", ""), "apps/v1", "apps.kruise.io/v1alpha1"), "2 shop/web",
			"1 × objects of kind Deployment (apps.kruise.io/v1alpha1) are left out: their pods are missing in every figure: shop/web"},
		"an autoscaler":   {web + made("HorizontalPodAutoscaler", "web", "", "", ""), "2 shop/web", "1 × HorizontalPodAutoscalers are left out: the number of pods does not follow their use"},
		"a LimitRange":    {web + made("LimitRange", "l", "", "", ""), "2 shop/web", "1 × LimitRanges are left out: pods request what their own manifests say"},
		"a ResourceQuota": {web + made("ResourceQuota", "q", "", "", ""), "2 shop/web", "1 × ResourceQuotas are left out: they refuse no pod"},
		"other kinds":     {web + made("Scale", "s", `"template": "none"`, "", ""), "2 shop/web", "1 × objects of other kinds are left out: Scale s"},
		"a file of kustomize": {web + strings.Replace(made("Kustomization", "", "", "", ""), `, "name": ""`, "", 1), "2 shop/web",
			"1 × files of kustomize are left out, and the objects of their folders count as they are written: kustomize build overlays/prod > all.yaml writes what is applied: a.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.FromManifests("apps/", map[string][]byte{"a.yaml": []byte(tt.objects)})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(); err != nil {
				t.Error(err)
			}
			steps, notes := played(w)
			if steps != tt.steps || !strings.Contains(notes, tt.note) || tt.note == "" && strings.Contains(notes, "left out") {
				t.Errorf("pods: %s\nwant: %s\nnotes: %swant: %s", steps, tt.steps, notes, tt.note)
			}
		})
	}
}

func TestManifestsThatCantBeMeantAreRefused(t *testing.T) {
	web := made("Deployment", "web", `"replicas": 2, `+oneTemplate, "", "")
	budget := func(spec string) string { return web + made("PodDisruptionBudget", "b", spec, "", "") }
	const kustomize = "give what kustomize writes in place of the folder: kustomize build overlays/prod > all.yaml"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // empty: they are not refused
	}{
		"a base and a patch":          {map[string]string{"base/a.yaml": web, "over/p.yaml": made("Deployment", "web", `"replicas": 9`, "", "")}, `over/p.yaml: Deployment "shop/web" is in base/a.yaml too: keep one of them; where they are a base and a patch, ` + kustomize},
		"twice in a file":             {map[string]string{"a.yaml": web + web}, `a.yaml: Deployment "shop/web" is there twice: keep one of them`},
		"a patch alone":               {map[string]string{"p.yaml": made("Deployment", "web", `"replicas": 9`, "", "")}, `p.yaml: Deployment "shop/web" has no containers; if it is a patch, ` + kustomize},
		"a pod without containers":    {map[string]string{"p.yaml": made("Pod", "web", "", "", "")}, `p.yaml: Pod "shop/web" has no containers`},
		"a daemon without containers": {map[string]string{"a.yaml": web, "p.yaml": made("DaemonSet", "log", "", "", "")}, `p.yaml: DaemonSet "shop/log" has no containers`},
		"fewer than none":             {map[string]string{"a.yaml": made("Deployment", "web", `"replicas": -3, `+oneTemplate, "", "")}, `a.yaml: Deployment "shop/web": spec.replicas is -3; want 0 or more`},
		"fewer than none at once":     {map[string]string{"a.yaml": made("Job", "j", `"parallelism": -1, `+oneTemplate, "", "")}, `a.yaml: Job "shop/j": spec.parallelism is -1, and spec.completions -1; want 0 or more`},
		"nothing but what is left out": {map[string]string{"a.yaml": made("CronJob", "c", "", "", "")},
			"apps/: there is nothing that has pods: want Deployments, StatefulSets, ReplicaSets, ReplicationControllers, Jobs or Pods; CronJobs are left out: give their pods as a trace (--workload) (shop/c)"},
		"kustomize, not built": {map[string]string{"kustomization.yaml": "resources: [a.yaml]"}, "kustomization.yaml: document 1: it is no Kubernetes object: apiVersion or kind is missing; it is a file of kustomize: give what this writes in place of the folder: kustomize build overlays/prod > all.yaml"},
		"a budget of nothing": {map[string]string{"a.yaml": budget(`"maxUnavailable": 1, "selector": {"matchLabels": {"app": "wbe"}}`)},
			`apps/: PodDisruptionBudget "b" selects no pod of apps/: none in the namespace shop has labels that match "app=wbe"; pods have the labels of their template, and simulate.kerf.sh/workload=web: select that, give templates these labels, or take it out`},
		"a budget with both":                   {map[string]string{"a.yaml": budget(`"maxUnavailable": 1, "minAvailable": 1, "selector": {}`)}, `apps/: PodDisruptionBudget "b" is invalid: minAvailable and maxUnavailable exclude each other: keep one of them`},
		"a budget above all":                   {map[string]string{"a.yaml": budget(`"maxUnavailable": "150%", "selector": {}`)}, `apps/: PodDisruptionBudget "b" is invalid: maxUnavailable is 150%; want a number from 0 on, or 0% to 100%`},
		"a budget below none":                  {map[string]string{"a.yaml": budget(`"minAvailable": -1, "selector": {}`)}, `apps/: PodDisruptionBudget "b" is invalid: minAvailable is -1;`},
		"a budget of no number":                {map[string]string{"a.yaml": budget(`"minAvailable": "many", "selector": {}`)}, `apps/: PodDisruptionBudget "b" is invalid: minAvailable is many;`},
		"a budget of a workload":               {map[string]string{"a.yaml": budget(`"minAvailable": 200, "selector": {"matchLabels": {"app": "web"}}`)}, ""},
		"a budget of a workload that is at 0":  {map[string]string{"a.yaml": strings.Replace(budget(`"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}`), `"replicas": 2`, `"replicas": 0`, 1)}, ""},
		"a budget of pods of a left-out kind":  {map[string]string{"a.yaml": strings.ReplaceAll(web, "web", "api") + made("Rollout", "web", oneTemplate, "", "") + made("PodDisruptionBudget", "b", `"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}`, "", "")}, ""},
		"a budget of an operator's pods":       {map[string]string{"a.yaml": budget(`"minAvailable": 1, "selector": {"matchLabels": {"app": "prometheus"}}`) + made("Prometheus", "k", `"replicas": 2`, "", "")}, ""},
		"a budget by the name of the workload": {map[string]string{"a.yaml": budget(`"minAvailable": 1, "selector": {"matchLabels": {"simulate.kerf.sh/workload": "web"}}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			_, err := workload.FromManifests("apps/", files)
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}
