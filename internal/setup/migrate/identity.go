package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// roleAnnotation gives a ServiceAccount its role in AWS (IAM roles for service accounts).
const roleAnnotation = "eks.amazonaws.com/role-arn"

// identity judges whether Kerf takes the place of Karpenter under the same names.
func (e *examination) identity() {
	d := e.Deployment
	if d == nil {
		return
	}
	object := "Deployment " + d.Namespace + "/" + d.Name
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		e.differs(object, "it is scaled to zero").why("nothing launches or removes nodes at present; the swap starts Kerf")
	}
	e.applied(object)
	e.selector(object)
	e.role()
	e.image(object)
}

// applied says who makes the Deployment, which decides how the swap is made.
func (e *examination) applied(object string) {
	e.fine(object, "it is applied by %s", e.Owner).fix("kerf migrate to-kerf   # prints the steps for that")
	if len(e.Foreign) > 0 {
		e.differs(object, "objects that Kerf's chart makes are there and are not of the release: %s", few(e.Foreign)).
			why("Helm refuses them without --take-ownership, which kerf migrate to-kerf writes; helm rollback removes what the release took over").
			fix("kubectl get clusterrole,clusterrolebinding --selector '!" + nameLabel + "' -o yaml > mine.yaml   # a copy of roles that are yours")
	}
}

// selector compares the labels that a Deployment can't change with those that Kerf's chart renders.
func (e *examination) selector(object string) {
	objects, err := e.installation()
	if err != nil {
		e.blocks(object, "Kerf's chart can't be rendered for it: %v", err).why("names of the chart are made of the release's")
		return
	}
	have, want := map[string]string{}, deploymentOf(objects).Spec.Selector.MatchLabels
	if s := e.Deployment.Spec.Selector; s != nil {
		have = s.MatchLabels
	}
	if !maps.Equal(have, want) {
		e.blocks(object, "its selector is %s, and Kerf's chart renders %s", labelText(have), labelText(want)).
			why("the API server refuses to change the selector of a Deployment").
			fix(fmt.Sprintf("kubectl --namespace %s delete deployment %s   # just before the swap: nodes stay, and nothing scales them until Kerf runs", e.Deployment.Namespace, e.Deployment.Name))
		return
	}
	o := e.overrides()
	if len(o) == 0 {
		e.fine(object, "Kerf's chart keeps its name, its selector and its ServiceAccount")
		return
	}
	var sets []string
	for _, path := range slices.Sorted(maps.Keys(o)) {
		sets = append(sets, "--set "+path+"="+o[path])
	}
	e.fine(object, "Kerf's chart keeps its name, its selector and its ServiceAccount with %s", strings.Join(sets, " ")).
		why("kerf migrate to-kerf writes these values")
}

func labelText(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ",")
}

// role is how the controller gets its role in AWS.
func (e *examination) role() {
	object := "ServiceAccount " + e.Deployment.Namespace + "/" + e.serviceAccountName()
	if e.ServiceAccount == nil {
		e.unknown(object, "it could not be read").why("whether it has a role by annotation is not known")
		return
	}
	if arn := e.ServiceAccount.Annotations[roleAnnotation]; arn != "" {
		f := e.fine(object, "its role is %s, by annotation", arn)
		r, known := e.Owner.current()
		if annotations, _ := nested(r.Values, "serviceAccount", "annotations").(map[string]any); known && annotations[roleAnnotation] == nil && nested(r.Values, "serviceAccount", "create") != false {
			f.Severity = Differs
			f.why("the annotation is not among the values of the release, so that a change of the release may drop it").
				fix(fmt.Sprintf(`kubectl --namespace %s get serviceaccount %s -o jsonpath='{.metadata.annotations}'   # compare after the swap; kerf migrate to-kerf sets the value`,
					e.Deployment.Namespace, e.serviceAccountName()))
		}
		return
	}
	e.fine(object, "it has no role by annotation, so it has one by Pod Identity or that of its node").
		why("a Pod Identity association names the namespace and the ServiceAccount; both are kept")
}

// nested is a value in a tree, nil where there is none.
func nested(tree map[string]any, path ...string) any {
	var v any = tree
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// publicImages is the registry that Karpenter's releases are in. The chart leaves images from there out of values it is given.
const publicImages = "public.ecr.aws/karpenter/"

// mirror is the repository that the controller's image is pulled from, if it is one of the owner's.
func (s *Seen) mirror() string {
	if s.Deployment == nil || s.isKerf() {
		return ""
	}
	repository, _ := reference(container(s.Deployment).Image)
	if strings.HasPrefix(repository, publicImages) {
		return ""
	}
	return repository
}

func (e *examination) image(object string) {
	if e.isKerf() {
		return
	}
	where, why := "REGISTRY/kerf", "no registry holds Kerf's image yet: put it into one of yours, and give its name to the swap"
	repository, _ := reference(container(e.Deployment).Image)
	if mirror := e.mirror(); mirror != "" {
		where = mirrorFor(mirror)
		e.differs(object, "its image is from %s, a mirror", mirror).why("Kerf's image has to be in the mirror as well").fix(pushing(where)...)
		return
	}
	e.differs(object, "its image is from %s", repository).why("%s", why).fix(pushing(where)...)
}

// pushing are the commands that bring Kerf's image into a registry, as docs/install.md has them.
func pushing(where string) []string {
	return []string{"make release VERSION=v0.1.0   # in a clone of Kerf", "crane push --index dist/image " + where + ":v0.1.0", "kerf migrate to-kerf --image " + where + ":v0.1.0"}
}

// mirrorFor is where a mirror would have Kerf's image: beside Karpenter's.
func mirrorFor(repository string) string {
	registry, _, _ := strings.Cut(repository, "/")
	return registry + "/kerf"
}
