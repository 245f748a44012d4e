package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/api/crds"
)

func (e *examination) definition(name string) *apiextensionsv1.CustomResourceDefinition {
	i := slices.IndexFunc(e.Definitions, func(c apiextensionsv1.CustomResourceDefinition) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Definitions[i]
}

// definitions judges the CustomResourceDefinitions of the cluster by those of Kerf, which take their place.
func (e *examination) definitions() {
	ours, err := crds.All()
	if err != nil {
		e.unknown("CustomResourceDefinitions", "Kerf's own can't be read: %v", err)
		return
	}
	good := 0
	for _, our := range ours {
		crd := e.definition(our.Name)
		if crd == nil {
			continue // the swap brings it
		}
		before := len(e.findings)
		e.storedVersions(crd, our)
		e.conversion(crd)
		e.missingFields(crd, our)
		if len(e.findings) == before {
			good++
		}
	}
	if good > 0 {
		e.fine("CustomResourceDefinitions", "%d of %d have the versions and fields that Kerf's have", good, len(ours))
	}
	e.older()
	e.deleted(ours)
	e.twoReleases()
	for _, w := range e.Webhooks {
		e.blocks(w.Kind+" "+w.Name, "sends objects of karpenter.sh to the Service %s", w.Service).
			why("releases up to 1.0 left it behind; when its Service goes, every write of a NodePool is refused").
			fix("kubectl delete " + strings.ToLower(w.Kind) + " " + w.Name)
	}
}

// storedVersions are those that objects may still be stored in. The API server refuses a definition without one of them.
func (e *examination) storedVersions(crd, our *apiextensionsv1.CustomResourceDefinition) {
	var served []string
	for _, v := range our.Spec.Versions {
		served = append(served, v.Name)
	}
	old := slices.DeleteFunc(slices.Clone(crd.Status.StoredVersions), func(v string) bool { return slices.Contains(served, v) })
	if len(old) == 0 {
		return
	}
	object := "CustomResourceDefinition " + crd.Name
	version := served[len(served)-1]
	if !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served }) {
		e.blocks(object, "it stores %s and does not serve %s", strings.Join(old, ", "), version).
			why("Kerf reads %s only", version).
			fix("# upgrade Karpenter to 1.0 by its own guide first, or translate the manifests and start anew:", fmt.Sprintf("kubectl get %s -o yaml | kerf convert -f - > v1.yaml", crd.Name))
		return
	}
	e.blocks(object, "status.storedVersions still names %s", strings.Join(old, ", ")).
		why("the API server refuses Kerf's definition, which has %s only, while objects may be stored in another version", version).
		fix("kubectl get "+crd.Spec.Names.Plural+"."+version+"."+crd.Spec.Group+" -o json | kubectl replace -f -   # stores every object anew, unchanged",
			fmt.Sprintf(`kubectl patch customresourcedefinition %s --subresource=status --type=merge -p '{"status":{"storedVersions":["%s"]}}'`, crd.Name, version))
}

// conversion is a webhook between versions. Karpenter 1.0 had one; its Service goes with Karpenter.
func (e *examination) conversion(crd *apiextensionsv1.CustomResourceDefinition) {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		return
	}
	at := "a webhook"
	if c.Webhook != nil && c.Webhook.ClientConfig != nil && c.Webhook.ClientConfig.Service != nil {
		at = "the Service " + c.Webhook.ClientConfig.Service.Namespace + "/" + c.Webhook.ClientConfig.Service.Name
	}
	e.blocks("CustomResourceDefinition "+crd.Name, "spec.conversion asks %s", at).
		why("only Karpenter 1.0 answers there; without it objects of another version can't be read").
		fix(fmt.Sprintf(`kubectl patch customresourcedefinition %s --type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`, crd.Name))
}

// missingFields are fields of the cluster's definition that Kerf's lacks: a newer release of Karpenter brought them, and the
// API server drops them from objects once Kerf's definition is there.
func (e *examination) missingFields(crd, our *apiextensionsv1.CustomResourceDefinition) {
	schema := func(c *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.JSONSchemaProps {
		for i := range c.Spec.Versions {
			if v := &c.Spec.Versions[i]; v.Name == version && v.Schema != nil {
				return v.Schema.OpenAPIV3Schema
			}
		}
		return nil
	}
	for _, v := range our.Spec.Versions {
		theirs, ours := schema(crd, v.Name), schema(our, v.Name)
		if theirs == nil || ours == nil {
			continue
		}
		missing := extra("", theirs, ours)
		if len(missing) == 0 {
			continue
		}
		used := map[string][]string{}
		for i := range e.Objects[crd.Spec.Names.Kind] {
			o := &e.Objects[crd.Spec.Names.Kind][i]
			for _, path := range missing {
				if has(o.Object, path) {
					used[path] = append(used[path], o.GetName())
				}
			}
		}
		object := "CustomResourceDefinition " + crd.Name
		if len(used) == 0 {
			e.differs(object, "it has fields that Kerf does not know, and no object has them: %s", few(missing)).
				why("with Kerf's definition they can't be set")
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(used)) {
			e.blocks(object, "the field %s is in use by %s, and Kerf does not know it", strings.TrimPrefix(path, "."), few(used[path])).
				why("the API server drops it from the objects with Kerf's definition").
				fix(fmt.Sprintf("kubectl edit %s %s   # remove %s, and see that nothing relies on it", crd.Spec.Names.Plural, strings.Join(used[path], " "), strings.TrimPrefix(path, ".")))
		}
	}
}

// extra are the paths of properties that one schema has and another lacks; items of lists are [].
func extra(path string, have, want *apiextensionsv1.JSONSchemaProps) []string {
	if want.XPreserveUnknownFields != nil && *want.XPreserveUnknownFields {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(have.Properties)) {
		h := have.Properties[name]
		w, ok := want.Properties[name]
		switch {
		case path == "" && (name == "metadata" || name == "status" || name == "apiVersion" || name == "kind"):
		case ok:
			out = append(out, extra(path+"."+name, &h, &w)...)
		case want.AdditionalProperties == nil:
			out = append(out, path+"."+name)
		}
	}
	if have.Items != nil && have.Items.Schema != nil && want.Items != nil && want.Items.Schema != nil {
		out = append(out, extra(path+"[]", have.Items.Schema, want.Items.Schema)...)
	}
	return out
}

// has tells whether a value has something at a path that extra gave.
func has(value any, path string) bool {
	if path == "" {
		return value != nil
	}
	if rest, ok := strings.CutPrefix(path, "[]"); ok {
		items, _ := value.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return has(item, rest) })
	}
	name, rest := path[1:], ""
	if i := strings.IndexAny(name, ".["); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	m, _ := value.(map[string]any)
	next, ok := m[name]
	return ok && has(next, rest)
}

// older are definitions that releases before 0.33 had.
func (e *examination) older() {
	for _, name := range []string{"provisioners.karpenter.sh", "machines.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"} {
		crd := e.definition(name)
		if crd == nil {
			continue
		}
		objects := e.Objects[crd.Spec.Names.Kind]
		if len(objects) == 0 {
			e.differs("CustomResourceDefinition "+name, "it is of releases before 0.33 and has no objects").
				why("neither Karpenter 1.x nor Kerf reads it").fix("kubectl delete customresourcedefinition " + name)
			continue
		}
		e.blocks("CustomResourceDefinition "+name, "it has %d objects of releases before 0.33", len(objects)).
			why("neither Karpenter 1.x nor Kerf reads them: what they ask for is not done").
			fix("kubectl get "+name+" -o yaml | kerf convert -f - > v1.yaml   # then apply v1.yaml",
				"kubectl delete customresourcedefinition "+name+"   # once their nodes are gone: it deletes the objects")
	}
}

// deleted are definitions of the release with the CRDs that Kerf's chart lacks: Helm removes what a new chart does not have,
// and with a definition all its objects.
func (e *examination) deleted(ours []*apiextensionsv1.CustomResourceDefinition) {
	release := e.crdRelease()
	if release.Release == "" {
		return
	}
	for i := range e.Definitions {
		crd := &e.Definitions[i]
		known := slices.ContainsFunc(ours, func(o *apiextensionsv1.CustomResourceDefinition) bool { return o.Name == crd.Name })
		if known || ownerOf(crd).Release != release.Release || crd.Annotations["helm.sh/resource-policy"] == "keep" {
			continue
		}
		e.blocks("CustomResourceDefinition "+crd.Name, "it belongs to the Helm release %s, and Kerf's chart of CRDs lacks it", release.Release).
			why("helm upgrade removes it, and with it its %d objects", len(e.Objects[crd.Spec.Names.Kind])).
			fix("kubectl annotate customresourcedefinition " + crd.Name + " helm.sh/resource-policy=keep")
	}
}

// definitionCharts are the charts of definitions, Karpenter's and Kerf's.
var definitionCharts = []string{"karpenter-crd", "kerf-crd"}

// definitionsOwner finds the releases of a chart of definitions in the controller's namespace. Version 4 of Helm applies the
// folder crds/ of a chart over definitions that are there, which takes the name of their release off them.
func (l *look) definitionsOwner(ctx context.Context) {
	marked := l.crdRelease().Manager
	if len(l.Definitions) == 0 || marked != Unmanaged && marked != Helm {
		return
	}
	var list corev1.SecretList
	if !l.list(ctx, "secrets of Helm releases", &list, client.InNamespace(l.Deployment.Namespace), client.MatchingLabels{"owner": "helm", "status": "deployed"}) {
		return
	}
	for i := range list.Items {
		s := &list.Items[i]
		if r, err := revisionOf(s); err == nil && slices.Contains(definitionCharts, r.Chart) {
			l.DefinitionsReleases = append(l.DefinitionsReleases, s.Labels["name"])
			if marked == Unmanaged {
				l.DefinitionsOwner = Owner{Manager: Helm, Release: s.Labels["name"], ReleaseNamespace: s.Namespace}
			}
		}
	}
	slices.Sort(l.DefinitionsReleases)
}

// twoReleases are releases that all have the definitions: the one that they name, and others that Helm took them from.
func (e *examination) twoReleases() {
	owner := e.crdRelease()
	if len(e.DefinitionsReleases) < 2 || !slices.Contains(e.DefinitionsReleases, owner.Release) {
		return
	}
	f := e.differs("Helm releases "+strings.Join(e.DefinitionsReleases, ", "), "all of them have the CRDs, which are of %s", owner.Release).
		why("Helm takes the CRDs back at an upgrade of another one, and deletes them with every NodePool when one with Karpenter's chart is uninstalled")
	for _, name := range e.DefinitionsReleases {
		if name != owner.Release {
			f.fix(fmt.Sprintf("kubectl --namespace %s delete secret --selector owner=helm,name=%s   # Helm forgets the release %s, and the CRDs stay", owner.ReleaseNamespace, name, name))
		}
	}
}

// crdRelease is who owns the definition of NodePools, and with it the others.
func (s *Seen) crdRelease() Owner {
	for i := range s.Definitions {
		if s.Definitions[i].Name == "nodepools.karpenter.sh" {
			if o := ownerOf(&s.Definitions[i]); o.Manager != Unmanaged {
				return o
			}
		}
	}
	return s.DefinitionsOwner
}
