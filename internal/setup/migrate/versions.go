package migrate

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// What is supported, as docs/releases.md says; a test compares the two.
const (
	oldestKubernetes, newestKubernetes = "1.29", "1.36"
	oldestKarpenter, newestKarpenter   = "1.0", "1.14"
)

// reference takes a reference to an image apart: the repository, and the tag without a digest.
func reference(image string) (repository, tag string) {
	repository, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		repository, tag = repository[:i], repository[i+1:]
	}
	return repository, tag
}

// isKerf tells whether the controller is Kerf already: by the name of its image, or as a revision of Kerf's chart names it.
func (s *Seen) isKerf() bool {
	if s.Deployment == nil {
		return false
	}
	return s.ofKerf(container(s.Deployment).Image)
}

// ofKerf tells whether an image is Kerf's.
func (s *Seen) ofKerf(image string) bool {
	repository, _ := reference(image)
	return repository[strings.LastIndexByte(repository, '/')+1:] == "kerf" || slices.ContainsFunc(s.Owner.Revisions, func(r Revision) bool {
		return r.Chart == kerfChart && nested(r.Values, "controller", "image", "repository") == repository
	})
}

// version is the controller's: the tag of its image, else the label of its chart.
func (s *Seen) version() string {
	_, tag := reference(container(s.Deployment).Image)
	if _, err := version.ParseGeneric(tag); err == nil {
		return tag
	}
	return cmp.Or(s.Deployment.Labels["app.kubernetes.io/version"], tag)
}

// runs names what the Deployment runs.
func (s *Seen) runs() string {
	if s.isKerf() {
		return strings.TrimSpace("kerf " + s.version())
	}
	return s.version()
}

// minor cuts a version to its first two numbers, so that 1.14.9 is within 1.14.
func minor(text string) (*version.Version, error) {
	v, err := version.ParseGeneric(strings.TrimPrefix(text, "v"))
	if err != nil {
		return nil, err
	}
	return version.MajorMinor(v.Major(), v.Minor()), nil
}

func (e *examination) versions() {
	if e.Kubernetes != "" {
		e.within("the API server", "Kubernetes", e.Kubernetes, oldestKubernetes, newestKubernetes,
			"aws eks update-cluster-version --name "+cmp.Or(e.ClusterName, "CLUSTER_NAME")+" --kubernetes-version "+oldestKubernetes+"   # one minor version at a time")
	}
	d := e.Deployment
	if d == nil {
		where, namespace := "", "NAMESPACE"
		if e.Namespace != "" {
			where = " in the namespace " + e.Namespace
		}
		f := e.blocks("the cluster", "no Deployment of Karpenter was found%s", where).
			why("there is nothing that Kerf could take the place of; it is found by its image or by the label app.kubernetes.io/name=karpenter")
		for _, c := range e.Controllers {
			namespace = c.Namespace
			f.with(c.Namespace + "/" + c.Name + " runs one")
		}
		f.fix("kerf migrate check --namespace " + namespace)
		if len(e.Controllers) == 0 {
			f.Fix[0] += "   # where the controller is"
		}
		return
	}
	object := "Deployment " + d.Namespace + "/" + d.Name
	switch {
	case e.isKerf():
		e.fine(object, "runs Kerf already (%s)", e.version())
	case e.version() == "":
		e.unknown(object, "its image %s tells no version, and it has no label app.kubernetes.io/version", container(d).Image).
			why("Kerf takes over from Karpenter %s to %s", oldestKarpenter, newestKarpenter)
	default:
		e.within(object, "Karpenter", e.version(), oldestKarpenter, newestKarpenter,
			"# follow Karpenter's own upgrade guide to 1.0, which converts what is stored; or translate the manifests and start anew:",
			"kerf convert -f FOLDER > v1.yaml")
	}
}

// within judges a version by the range that is supported: what is too old blocks, what is newer was not tried.
func (e *examination) within(object, what, have, oldest, newest string, fix ...string) {
	v, err := minor(have)
	if err != nil {
		e.unknown(object, "%s has the version %q, which is none that can be compared", what, have).why("Kerf supports %s %s to %s", what, oldest, newest)
		return
	}
	least, most := version.MustParseGeneric(oldest), version.MustParseGeneric(newest)
	switch {
	case v.LessThan(least):
		e.blocks(object, "%s is %s, which is too old", what, have).why("Kerf supports %s %s to %s", what, oldest, newest).fix(fix...)
	case most.LessThan(v):
		e.differs(object, "%s is %s, which is newer than what was tried", what, have).
			why("Kerf supports %s %s to %s; what a newer release added is listed below where it is in use", what, oldest, newest)
	default:
		e.fine(object, "%s is %s, which is supported", what, have)
	}
}
