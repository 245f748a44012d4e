package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Given are the values that whoever applies the controller gives to its chart, without the chart's defaults.
type Given struct {
	// Object is what holds them: "Helm release kube-system/karpenter", "HelmRelease flux-system/karpenter".
	Object string
	// Values are all of them, as Helm gets them.
	Values map[string]any
	// Own are those that stand in the HelmRelease or Application itself; the others are of files, ConfigMaps or Secrets.
	Own map[string]any
	// ChartRef says that the HelmRelease names its chart by spec.chartRef.
	ChartRef bool
	// Applier is the Kustomization that applies the HelmRelease, where one does.
	Applier, ApplierNamespace string
	// Sources are spec.sources of an Application, or its one spec.source; Source is that of the controller's chart, and
	// Several says that it stands in a list.
	Sources []any
	Source  int
	Several bool
	// Unread are files that the source takes values from.
	Unread []string
}

// given reads the values from the revision of the release, from the HelmRelease or from the Application.
func (l *look) given(ctx context.Context) {
	switch l.Owner.Manager {
	case Helm:
		if r, ok := l.Owner.current(); ok {
			l.Given = &Given{Object: "Helm release " + l.Owner.ReleaseNamespace + "/" + l.Owner.Release, Values: r.Values}
		}
	case FluxHelmRelease:
		l.givenToFlux(ctx)
	case ArgoCD:
		l.givenToArgo(ctx)
	}
}

func (l *look) givenToFlux(ctx context.Context) {
	what := "HelmRelease " + l.Owner.Namespace + "/" + l.Owner.Name
	u := &unstructured.Unstructured{}
	var err error
	for _, version := range []string{"v2", "v2beta2", "v2beta1"} {
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: version, Kind: "HelmRelease"})
		if err = l.o.Reader.Get(ctx, client.ObjectKey{Namespace: l.Owner.Namespace, Name: l.Owner.Name}, u); !meta.IsNoMatchError(err) {
			break
		}
	}
	if err != nil {
		l.gap(what, err)
		return
	}
	l.Given = helmReleaseValues(what, u.Object, l.Owner)
	l.Given.Applier, l.Given.ApplierNamespace = u.GetLabels()[fluxKustomize+"name"], u.GetLabels()[fluxKustomize+"namespace"]
}

// helmReleaseValues are the values of a HelmRelease: those of the last revision, in which Flux has put its files, with spec.values
// as it is now over them.
func helmReleaseValues(what string, tree map[string]any, o Owner) *Given {
	g := &Given{Object: what, Values: map[string]any{}, ChartRef: nested(tree, "spec", "chartRef") != nil}
	g.Own, _ = nested(tree, "spec", "values").(map[string]any)
	if r, ok := o.current(); ok {
		g.Values = over(g.Values, r.Values)
	}
	g.Values = over(g.Values, g.Own)
	return g
}

func (l *look) givenToArgo(ctx context.Context) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "ApplicationList"})
	if !l.list(ctx, "applications of Argo CD", list, client.InNamespace(l.Owner.Namespace)) {
		return
	}
	for i := range list.Items {
		if a := &list.Items[i]; a.GetName() == l.Owner.Name {
			l.Owner.Namespace = a.GetNamespace()
			l.Given = applicationValues("Application "+a.GetNamespace()+"/"+a.GetName(), a.Object)
			return
		}
	}
}

// applicationValues are the values of an Application: of its source with the controller's chart, text or object, with its
// parameters over them.
func applicationValues(what string, tree map[string]any) *Given {
	g := &Given{Object: what}
	g.Sources, g.Several = nested(tree, "spec", "sources").([]any)
	if !g.Several {
		source, ok := nested(tree, "spec", "source").(map[string]any)
		if !ok {
			return nil
		}
		g.Sources = []any{source}
	}
	g.Source = slices.IndexFunc(g.Sources, func(s any) bool {
		source, _ := s.(map[string]any)
		return !g.Several || source["chart"] == karpenterChart
	})
	if g.Source < 0 {
		return nil
	}
	source, _ := g.Sources[g.Source].(map[string]any)
	helm, _ := source["helm"].(map[string]any)
	g.Own, _ = helm["valuesObject"].(map[string]any) // wins over the text
	if text, _ := helm["values"].(string); g.Own == nil && text != "" {
		if err := yaml.Unmarshal([]byte(text), &g.Own); err != nil {
			g.Unread = append(g.Unread, "helm.values: "+err.Error())
		}
	}
	files, _ := helm["valueFiles"].([]any)
	for _, f := range files {
		g.Unread = append(g.Unread, fmt.Sprint(f))
	}
	g.Values = over(map[string]any{}, g.Own)
	for _, p := range parametersOf(helm) {
		name, _ := p["name"].(string)
		value := p["value"]
		if text, ok := value.(string); ok && p["forceString"] != true {
			_ = yaml.Unmarshal([]byte(text), &value)
		}
		if name != "" && !strings.ContainsAny(name, "[{") {
			put(g.Values, name, value)
		}
	}
	return g
}

func parametersOf(helm map[string]any) (out []map[string]any) {
	list, _ := helm["parameters"].([]any)
	for _, p := range list {
		if m, ok := p.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// over is a tree with another one over it; neither is changed.
func over(below, above map[string]any) map[string]any {
	out := maps.Clone(below)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range above {
		b, isTree := out[k].(map[string]any)
		a, alsoTree := v.(map[string]any)
		switch {
		case isTree && alsoTree:
			out[k] = over(b, a)
		case alsoTree:
			out[k] = over(nil, a)
		default:
			out[k] = v
		}
	}
	return out
}

// names are the parts of a path of --set: a dot within a name is written as \.
func names(path string) []string {
	const dot = "\x00"
	out := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], dot, ".")
	}
	return out
}

// put sets a value in a tree by the path of --set.
func put(tree map[string]any, path string, value any) {
	parts := names(path)
	for _, name := range parts[:len(parts)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree[parts[len(parts)-1]] = value
}

// take removes a value from a tree by the path of --set.
func take(tree map[string]any, path string) {
	parts := names(path)
	for _, name := range parts[:len(parts)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			return
		}
		tree = next
	}
	delete(tree, parts[len(parts)-1])
}

// ourValues are those that the steps to Kerf set anyhow, whatever the release has.
var ourValues = []string{"controller.image.repository", "controller.image.tag", "controller.image.digest"}

// refused are the given values that Kerf's chart refuses, but for those that the swap replaces.
//
// Errors: those of manifests.Refused.
func (s *Seen) refused() ([]manifests.Refusal, error) {
	if r, ok := s.Owner.current(); s.Given == nil || ok && r.Chart == kerfChart {
		return nil, nil
	}
	out, err := manifests.Refused(s.Given.Values)
	return slices.DeleteFunc(out, func(r manifests.Refusal) bool { return slices.Contains(ourValues, r.Path) }), err
}

// given judges the values of the release by the schema of Kerf's chart: Helm refuses the swap for one that it does not know.
func (e *examination) given() {
	if e.Given == nil {
		return
	}
	refused, err := e.refused()
	if err != nil {
		e.unknown(e.Given.Object, "its values could not be judged: %v", err).why("Helm refuses the swap for a value that Kerf's chart does not know")
		return
	}
	for _, r := range refused {
		does := "leaves it out"
		if r.Correct != "" {
			does = "corrects it: " + r.Correct
		}
		f := e.blocks(e.Given.Object, "Kerf's chart refuses its value %s: %s", r.Path, r.Why).why("the swap fails at it, and Karpenter goes on")
		switch {
		case e.Owner.Manager == Helm:
			f.fix("kerf migrate to-kerf   # its swap " + does)
		case has(e.Given.Own, "."+r.Path) || e.Owner.Manager == ArgoCD:
			f.fix("kerf migrate to-kerf   # its change of the " + strings.Fields(e.Given.Object)[0] + " " + does)
		default:
			f.fix("# it is in none of spec.values: remove " + r.Path + " from the ConfigMap or Secret of spec.valuesFrom")
		}
	}
	refusal := e.refusedTogether(refused)
	if refusal != nil {
		e.blocks(e.Given.Object, "Kerf refuses its values: %v", refusal).why("the swap fails at it, or the new pods end as soon as they start").fix("# correct the value before the swap")
	}
	for _, u := range manifests.Unused(e.Given.Values) {
		e.differs(e.Given.Object, "its value %s has no effect: %s", u.Path, u.Why).why("Kerf's chart takes it and leaves it alone")
	}
	for _, file := range e.Given.Unread {
		e.unknown(e.Given.Object, "values of %s were not read", file).
			why("Helm refuses the swap for a value that Kerf's chart does not know").
			fix("kerf manifests --cluster-name " + orWord(e.ClusterName, "CLUSTER_NAME") + " --values FILE > /dev/null   # says what the chart refuses of a file")
	}
	if len(refused) == 0 && refusal == nil && len(e.Given.Unread) == 0 {
		e.fine(e.Given.Object, "Kerf's chart takes all of its values")
	}
}

// refusedTogether is what the chart's templates or the controller would refuse of values that the schema takes one by one, such
// as a variable that the chart sets already.
func (e *examination) refusedTogether(refused []manifests.Refusal) error {
	if r, ok := e.Owner.current(); len(refused) > 0 || ok && r.Chart == kerfChart {
		return nil
	}
	values, err := manifests.Defaults().With(e.Given.Values)
	if err != nil {
		return err
	}
	_, err = manifests.Objects(manifests.Release{}, values)
	return err
}
