package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
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
		w.fluxHelmRelease()
		w.argoCD()
	}
}

// values is a tree of the values of the swap.
func (w *writer) valuesTree() map[string]any {
	const dot = "\x00"
	tree := map[string]any{}
	set := w.set()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		at := tree
		names := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
		for _, name := range names[:len(names)-1] {
			name = strings.ReplaceAll(name, dot, ".")
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		at[strings.ReplaceAll(names[len(names)-1], dot, ".")] = set[path]
	}
	return tree
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

func (w *writer) fluxHelmRelease() {
	name, namespace := w.ownerFlags()
	spec := map[string]any{"chart": map[string]any{"spec": map[string]any{
		"chart": "charts/kerf", "version": nil, "sourceRef": map[string]any{"kind": "GitRepository", "name": w.or("", "KERF_SOURCE"), "namespace": namespace},
	}}}
	if values := w.valuesTree(); len(values) > 0 {
		spec["values"] = values
	}
	w.step("Swap: the change of the HelmRelease", "The last command shows the HelmRelease as it would be. Commit that, with a GitRepository that holds Kerf's charts; Flux upgrades the release in place.",
		file("kerf-helmrelease.yaml", map[string]any{"spec": spec}),
		w.kubectl("--namespace %s patch helmrelease %s --type merge --patch-file kerf-helmrelease.yaml --dry-run=server -o yaml", namespace, name))
	w.step("Have Flux carry it out", "", "flux reconcile helmrelease "+name+" --namespace "+namespace+" --with-source",
		w.kubectl("--namespace %s wait helmrelease/%s --for=condition=Ready --timeout=10m", namespace, name))
}

func (w *writer) argoCD() {
	name := w.or(w.Owner.Name, "OWNER_NAME")
	namespace := w.Owner.Namespace
	if namespace == "" {
		namespace = "argocd"
	}
	var parameters []any
	set := w.set()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		parameters = append(parameters, map[string]any{"name": path, "value": set[path], "forceString": true})
	}
	source := map[string]any{"repoURL": w.or("", "KERF_SOURCE"), "path": "charts/kerf", "targetRevision": w.or("", "KERF_REVISION"), "chart": nil,
		"helm": map[string]any{"releaseName": w.or(w.Release, "RELEASE"), "parameters": parameters}}
	w.step("Swap: the change of the Application", "Values of the Application stay beside these parameters; parameters that it has already have to be added to the list.\n"+
		"With several sources, change the one of the controller's chart in Git by hand. Commit what the last command shows.",
		file("kerf-application.yaml", map[string]any{"spec": map[string]any{"source": source}}),
		w.kubectl("--namespace %s patch application %s --type merge --patch-file kerf-application.yaml --dry-run=server -o yaml", namespace, name))
	w.step("Have Argo CD carry it out", "", "argocd app diff "+name+" --refresh", "argocd app sync "+name, "argocd app wait "+name+" --health --timeout 600")
}

func (w *writer) kustomization() {
	name, namespace := w.ownerFlags()
	w.step("Swap: the objects for the Kustomization", "Put kerf.yaml into the folder of the Kustomization in place of Karpenter's objects, and commit it.", w.manifestsCommand(),
		w.kubectl("diff --server-side --force-conflicts -f kerf.yaml"))
	w.step("Have Flux carry it out", "", "flux reconcile kustomization "+name+" --namespace "+namespace+" --with-source",
		w.kubectl("--namespace %s wait kustomization/%s --for=condition=Ready --timeout=10m", namespace, name))
}
