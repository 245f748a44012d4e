package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// swapWithGitOps is a change in Git, which the tool carries out. Without a known owner both forms of charts are written.
func (w *writer) swapWithGitOps() {
	switch w.Owner.Manager {
	case FluxHelmRelease:
		w.fluxHelmRelease()
	case ArgoCD:
		w.argoCD()
	case FluxKustomization:
		w.kustomization()
	default:
		// What was read are the values of a Helm release, and not those of the object that a GitOps tool would have.
		w.Given = nil
		w.eitherTool(w.fluxHelmRelease, w.argoCD)
	}
}

// eitherTool writes the steps for Flux and for Argo CD, of which one holds: pasted together, they stop before both.
func (w *writer) eitherTool(flux, argo func()) {
	choice := len(w.guide.Steps)
	w.step("Leave out the steps of the tool that you do not have", "")
	for _, tool := range []struct {
		name  string
		steps func()
	}{{"With Flux", flux}, {"With Argo CD", argo}} {
		first := len(w.guide.Steps)
		tool.steps()
		for i := first; i < len(w.guide.Steps); i++ {
			s := &w.guide.Steps[i]
			s.Title = tool.name + ": " + s.Title
		}
		w.guide.Steps[choice].Note += fmt.Sprintf("%s: steps %d to %d. ", tool.name, first+1, len(w.guide.Steps))
	}
	w.guide.Steps[choice].Note += "Nothing that was found tells which tool it is. Delete the steps of the other before you paste."
	w.guide.Steps[choice].Commands = []string{pause("Only the steps of one of the two tools follow")}
}

// valuesTree is a tree of the values of the swap, with null for those that Kerf's chart refuses and own has.
func (w *writer) valuesTree(own map[string]any) map[string]any {
	tree := map[string]any{}
	set := w.set()
	for _, path := range sortedKeys(set) {
		put(tree, path, set[path])
	}
	for _, r := range w.Refused {
		if _, ok := set[r.Path]; !ok && has(own, "."+r.Path) {
			put(tree, r.Path, plainValue(r.Correct))
		}
	}
	return tree
}

// plainValue is what YAML takes a text for; null for an empty one.
func plainValue(text string) (out any) {
	_ = yaml.Unmarshal([]byte(text), &out)
	return out
}

// file is a command that writes a tree into a file.
func file(name string, tree map[string]any) string {
	text, err := yaml.Marshal(tree)
	if err != nil {
		panic(fmt.Sprintf("a tree of texts can't be written: %v", err))
	}
	return "cat > " + name + " <<'EOF'\n" + string(text) + "EOF"
}

func (w *writer) ownerFlags() (name, namespace string) {
	return w.or(w.Owner.Name, "OWNER_NAME"), w.or(w.Owner.Namespace, "OWNER_NAMESPACE")
}

// inGit stops the steps until the change is in Git: what follows would find nothing to do.
func (w *writer) inGit(what string) {
	w.step("Put the change into Git", "", pause("Commit "+what+", and push it"))
}

func (w *writer) fluxHelmRelease() {
	name, namespace := w.ownerFlags()
	// By default Flux looks at the version in Chart.yaml, which is not another one with each commit.
	spec := map[string]any{"chart": map[string]any{"spec": map[string]any{
		"chart": "charts/kerf", "version": nil, "reconcileStrategy": "Revision", "sourceRef": map[string]any{"kind": "GitRepository", "name": "kerf", "namespace": namespace},
	}}}
	note := "kerf-source.yaml has Flux read Kerf's charts; where it knows them under another name, name that in sourceRef and leave the file out.\n" +
		"The last command shows which lines change; of them, those of spec belong into Git. Flux upgrades the release in place."
	var own map[string]any
	switch {
	case w.Given == nil:
		note += "\nWhere the HelmRelease has spec.chartRef, take it out: Flux allows only one of the two."
	default:
		own = w.Given.Own
		if w.Given.ChartRef {
			spec["chartRef"] = nil
			note += "\nspec.chartRef goes, as Flux allows only one of the two."
		}
	}
	for _, r := range w.Refused {
		switch {
		case w.Given == nil:
			note += "\nRemove the value " + r.Path + " from spec.values, where it is there: Kerf's chart refuses it."
		case !has(own, "."+r.Path):
			note += "\nRemove the value " + r.Path + " from the ConfigMap or Secret of spec.valuesFrom: Kerf's chart refuses it."
		}
	}
	if values := w.valuesTree(own); len(values) > 0 {
		spec["values"] = values
	}
	source := map[string]any{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": map[string]any{"name": "kerf", "namespace": namespace},
		"spec": map[string]any{"url": w.or("", "KERF_SOURCE"), "ref": map[string]any{"tag": w.or("", "KERF_REVISION")}, "interval": "1h"}}
	w.step("Write the change of the HelmRelease", note,
		append([]string{file("kerf-source.yaml", source), file("kerf-helmrelease.yaml", map[string]any{"spec": spec})}, w.shown("helmrelease", namespace, name)...)...)
	w.inGit("kerf-source.yaml and, in the file of the HelmRelease, the changed lines of spec")
	w.reconcileHelmRelease()
}

func (w *writer) reconcileHelmRelease() {
	name, namespace := w.ownerFlags()
	var commands []string
	if w.Given != nil && w.Given.Applier != "" {
		commands = append(commands, "flux reconcile kustomization "+w.Given.Applier+" --namespace "+w.Given.ApplierNamespace+" --with-source")
	}
	w.step("Have Flux carry it out", "", append(commands, "flux reconcile helmrelease "+name+" --namespace "+namespace+" --with-source",
		w.kubectl("--namespace %s wait helmrelease/%s --for=condition=Ready --timeout=10m", namespace, name))...)
}

func (w *writer) argoCD() {
	name := w.or(w.Owner.Name, "OWNER_NAME")
	namespace := w.Owner.Namespace
	if namespace == "" {
		namespace = "argocd"
	}
	note, spec := "The last command shows which lines change; of them, those of spec belong into Git.", map[string]any{}
	switch {
	case w.Given == nil:
		spec["source"] = w.argoSource(nil)
		note = "Values of the Application stay beside these parameters; parameters that it has already have to be added to the list.\n" +
			"With several sources, change the one of the controller's chart in Git by hand. " + note
		for _, r := range w.Refused {
			note += "\nRemove the value " + r.Path + " from its values, where it is there: Kerf's chart refuses it."
		}
	case w.Given.Several:
		sources := slices.Clone(w.Given.Sources)
		before, _ := sources[w.Given.Source].(map[string]any)
		source := w.argoSource(before)
		withoutNulls(source)
		sources[w.Given.Source] = source
		spec["sources"] = sources
	default:
		before, _ := w.Given.Sources[0].(map[string]any)
		spec["source"] = w.argoSource(before)
	}
	w.step("Write the change of the Application", note,
		append([]string{file("kerf-application.yaml", map[string]any{"spec": spec})}, w.shown("application", namespace, name)...)...)
	w.inGit("the changed lines of spec in the file of the Application")
	w.syncApplication()
}

// shown are the commands that show the change of an object: the object itself has fields of the cluster, which do not belong into Git.
func (w *writer) shown(kind, namespace, name string) []string {
	before, after := kind+".before.yaml", kind+".after.yaml"
	return []string{
		w.kubectl("--namespace %s get %s %s -o yaml > %s", namespace, kind, name, before),
		w.kubectl("--namespace %s patch %s %s --type merge --patch-file kerf-%s.yaml --dry-run=server -o yaml > %s", namespace, kind, name, kind, after),
		"diff -u " + before + " " + after + " || [ $? = 1 ]",
	}
}

// argoSource is the source of an Application after the swap, as a change of what it was before: null takes a field away.
func (w *writer) argoSource(before map[string]any) map[string]any {
	set := w.set()
	beforeHelm, _ := before["helm"].(map[string]any)
	helm := over(nil, beforeHelm)
	var parameters []any
	for _, p := range parametersOf(beforeHelm) {
		path, _ := p["name"].(string)
		i := slices.IndexFunc(w.Refused, func(r manifests.Refusal) bool { return r.Path == path || strings.HasPrefix(path, r.Path+".") })
		_, ours := set[path]
		switch {
		case ours:
		case i < 0:
			parameters = append(parameters, p)
		case w.Refused[i].Correct != "" && w.Refused[i].Path == path:
			p = maps.Clone(p)
			p["value"], p["forceString"] = w.Refused[i].Correct, false
			parameters = append(parameters, p)
		}
	}
	for _, path := range sortedKeys(set) {
		parameters = append(parameters, map[string]any{"name": path, "value": set[path], "forceString": true})
	}
	helm["parameters"] = parameters
	if helm["releaseName"] == nil {
		helm["releaseName"] = w.or(w.Release, "RELEASE")
	}
	if w.Given != nil && len(w.Given.Own) > 0 && len(w.Refused) > 0 {
		values := over(nil, w.Given.Own)
		for _, r := range w.Refused {
			switch {
			case !has(values, "."+r.Path):
			case r.Correct != "":
				put(values, r.Path, plainValue(r.Correct))
			case helm["valuesObject"] != nil:
				put(values, r.Path, nil)
			default:
				take(values, r.Path)
			}
		}
		helm["values"], helm["valuesObject"] = nil, values // the object wins over the text
	}
	out := over(nil, before)
	out["helm"], out["repoURL"], out["path"], out["targetRevision"], out["chart"] = helm, w.or("", "KERF_SOURCE"), "charts/kerf", w.or("", "KERF_REVISION"), nil
	return out
}

// withoutNulls takes out what a merge patch would take away: a list is replaced as a whole.
func withoutNulls(tree map[string]any) {
	for k, v := range tree {
		if v == nil {
			delete(tree, k)
		} else if m, ok := v.(map[string]any); ok {
			withoutNulls(m)
		}
	}
}

func (w *writer) syncApplication() {
	name := w.or(w.Owner.Name, "OWNER_NAME")
	w.step("Have Argo CD carry it out", "", "argocd app diff "+name+" --refresh || [ $? = 1 ]", "argocd app sync "+name, "argocd app wait "+name+" --health --timeout 600")
}

func (w *writer) kustomization() {
	w.step("Write the objects for the Kustomization", w.whatManifestsKeep()+"\nPatches of the Kustomization go on to apply to them.", w.manifests()...)
	w.inGit("kerf.yaml in the place of Karpenter's objects in the folder of the Kustomization")
	w.reconcileKustomization()
}

func (w *writer) reconcileKustomization() {
	name, namespace := w.ownerFlags()
	w.step("Have Flux carry it out", "", "flux reconcile kustomization "+name+" --namespace "+namespace+" --with-source",
		w.kubectl("--namespace %s wait kustomization/%s --for=condition=Ready --timeout=10m", namespace, name))
}
