package migrate

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Manager is what applies the controller's Deployment.
type Manager string

// The managers. Unmanaged is a Deployment that carries no mark of any.
const (
	Helm              Manager = "helm"
	FluxHelmRelease   Manager = "flux-helmrelease"
	FluxKustomization Manager = "flux-kustomization"
	ArgoCD            Manager = "argocd"
	Unmanaged         Manager = ""
)

// Owner is who changes the Deployment: the object of a GitOps tool, a Helm release, or nobody that is marked.
type Owner struct {
	Manager Manager
	// Name and Namespace are those of the HelmRelease, Kustomization or Application; the namespace of an Application is
	// often not marked.
	Name, Namespace string
	// Release and ReleaseNamespace are those of the Helm release, also where Flux makes it. Argo CD makes none.
	Release, ReleaseNamespace string
	// Revisions are those of the release that could be read, oldest first.
	Revisions []Revision
}

// Revision is one state of a Helm release.
type Revision struct {
	Number         int
	Status         string
	Chart, Version string
	// ServerSide says that Helm applied it on the server's side: version 4 does, and goes on as the revision did.
	ServerSide bool
	// Values are those that its owner gave, not the chart's defaults.
	Values map[string]any
}

// String names the owner.
func (o Owner) String() string {
	place := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	switch o.Manager {
	case Helm:
		return "the Helm release " + o.ReleaseNamespace + "/" + o.Release
	case FluxHelmRelease:
		return "the HelmRelease " + place + " of Flux"
	case FluxKustomization:
		return "the Kustomization " + place + " of Flux"
	case ArgoCD:
		return "the Application " + place + " of Argo CD"
	}
	return "nothing that marks it"
}

// Marks that the tools leave on objects.
//
// Source: Helm, "Labels and Annotations"; Flux, helm-controller and kustomize-controller "Origin labels"; Argo CD, "Resource
// Tracking".
const (
	helmRelease   = "meta.helm.sh/release-name"
	helmNamespace = "meta.helm.sh/release-namespace"
	fluxHelm      = "helm.toolkit.fluxcd.io/"
	fluxKustomize = "kustomize.toolkit.fluxcd.io/"
	argoTracking  = "argocd.argoproj.io/tracking-id"
	argoInstance  = "argocd.argoproj.io/instance"
)

// ownerOf reads the marks of an object.
func ownerOf(o client.Object) Owner {
	a, l := o.GetAnnotations(), o.GetLabels()
	out := Owner{Release: a[helmRelease], ReleaseNamespace: a[helmNamespace]}
	argo, _, _ := strings.Cut(a[argoTracking], ":")
	switch {
	case l[fluxHelm+"name"] != "":
		out.Manager, out.Name, out.Namespace = FluxHelmRelease, l[fluxHelm+"name"], l[fluxHelm+"namespace"]
	case l[fluxKustomize+"name"] != "":
		out.Manager, out.Name, out.Namespace = FluxKustomization, l[fluxKustomize+"name"], l[fluxKustomize+"namespace"]
	case argo != "" || l[argoInstance] != "" || a[argoInstance] != "":
		out.Manager, out.Name = ArgoCD, cmp.Or(argo, a[argoInstance], l[argoInstance])
		if before, after, ok := strings.Cut(out.Name, "_"); ok { // NAMESPACE_NAME, of Applications in any namespace
			out.Namespace, out.Name = before, after
		}
	case out.Release != "":
		out.Manager = Helm
	}
	return out
}

// owner finds who applies the Deployment, and the revisions of its release.
func (l *look) owner(ctx context.Context) {
	l.Owner = ownerOf(l.Deployment)
	if l.Owner.Release == "" {
		return
	}
	var list corev1.SecretList
	if !l.list(ctx, "secrets of the Helm release "+l.Owner.Release, &list, client.InNamespace(l.Owner.ReleaseNamespace),
		client.MatchingLabels{"owner": "helm", "name": l.Owner.Release}) {
		return
	}
	for i := range list.Items {
		r, err := revisionOf(&list.Items[i])
		if err != nil {
			l.gap("secret "+list.Items[i].Namespace+"/"+list.Items[i].Name, err)
			continue
		}
		l.Owner.Revisions = append(l.Owner.Revisions, r)
	}
	slices.SortFunc(l.Owner.Revisions, func(a, b Revision) int { return cmp.Compare(a.Number, b.Number) })
}

// releaseSize bounds what is unpacked of a release: a Secret holds a megabyte, and charts pack well.
const releaseSize = 64 << 20

// revisionOf reads a Secret in which Helm keeps a revision: gzipped JSON in base64.
func revisionOf(s *corev1.Secret) (Revision, error) {
	r := Revision{Status: s.Labels["status"]}
	var err error
	if r.Number, err = strconv.Atoi(s.Labels["version"]); err != nil {
		return r, fmt.Errorf("its label version=%q is no revision of a Helm release", s.Labels["version"])
	}
	packed, err := base64.StdEncoding.DecodeString(string(s.Data["release"]))
	if err != nil {
		return r, fmt.Errorf("unpacking the release: %w", err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return r, fmt.Errorf("unpacking the release: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, releaseSize))
	if err != nil {
		return r, fmt.Errorf("unpacking the release: %w", err)
	}
	var release struct {
		Chart struct {
			Metadata struct{ Name, Version string }
		}
		Config      map[string]any
		ApplyMethod string `json:"apply_method"` // "ssa" or "csa"; version 3 writes none
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return r, fmt.Errorf("reading the release: %w", err)
	}
	r.Chart, r.Version, r.Values = release.Chart.Metadata.Name, release.Chart.Metadata.Version, release.Config
	r.ServerSide = release.ApplyMethod == "ssa"
	return r, nil
}

// lastOf is the newest revision of a chart that was deployed.
func (o Owner) lastOf(chart string) (Revision, bool) {
	for _, r := range slices.Backward(o.Revisions) {
		if r.Chart == chart && (r.Status == "deployed" || r.Status == "superseded") {
			return r, true
		}
	}
	return Revision{}, false
}

// current is the revision whose values Helm keeps at an upgrade: the one that is deployed, or the last one where none is and it
// failed.
func (o Owner) current() (Revision, bool) {
	for _, r := range slices.Backward(o.Revisions) {
		if r.Status == "deployed" {
			return r, true
		}
	}
	if n := len(o.Revisions); n > 0 && (o.Revisions[n-1].Status == "failed" || o.Revisions[n-1].Status == "superseded") {
		return o.Revisions[n-1], true
	}
	return Revision{}, false
}
