// Package manifests holds what an installation of the controller consists of, as objects of Kubernetes: one model for "kerf
// manifests", for the charts, which a test compares with it, and for the local cluster, which starts the controller as the
// Deployment here says.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/charts"
	"github.com/kerf-sh/kerf/internal/settings"
)

// Release says under which name and where the controller is installed. Name, namespace and the labels made of them are
// those of a Helm release of charts/kerf.
type Release struct {
	Name      string // empty: karpenter, the name that policies and Pod Identities of the bootstrap stack expect
	Namespace string // empty: kube-system
	Version   string // of Kerf: the label, and the image's tag unless values name one
}

// release is a version as releases have it.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+([-+][0-9A-Za-z.]+)?$`)

// VersionOf is the version to install for a build: its own where it is a release, else the one of the chart beside it. A build
// of a commit has no image that bears its name.
func VersionOf(build string) string {
	if release.MatchString(build) {
		return build
	}
	var about struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(charts.About, &about); err != nil {
		panic(fmt.Sprintf("charts/kerf/Chart.yaml, which is embedded, can't be read: %v", err))
	}
	return about.AppVersion
}

// Names that an installation has unless it is given others.
const (
	DefaultName      = "karpenter"
	DefaultNamespace = "kube-system"
)

// Image is the repository of Kerf's image.
const Image = "ghcr.io/kerf-sh/kerf"

// Defaults are the values of charts/kerf/values.yaml.
func Defaults() *Values {
	v := &Values{}
	if err := yaml.UnmarshalStrict(charts.Values, v); err != nil {
		panic(fmt.Sprintf("charts/kerf/values.yaml, which is embedded, can't be read: %v", err))
	}
	return v
}

// Objects are all objects of an installation but the CRDs, in an order in which they can be applied.
//
// Errors: a name that Kubernetes refuses, a value that the controller would refuse or not know, settings.clusterName that is
// missing.
func Objects(r Release, v *Values) ([]client.Object, error) {
	i, err := newInstallation(r, v)
	if err != nil {
		return nil, err
	}
	var out []client.Object
	if v.ServiceAccount.Create {
		out = append(out, i.serviceAccount())
	}
	out = append(out, i.clusterRole(), i.clusterRoleBinding())
	if !i.shadow() {
		out = append(out, i.adminRole(), i.role(), i.roleBinding())
	}
	if v.Viewers.Create {
		out = append(out, i.viewers()...)
	}
	out = append(out, i.service())
	if !i.shadow() {
		out = append(out, i.budget())
	}
	if v.NetworkPolicy.Enabled {
		out = append(out, i.networkPolicy())
	}
	out = append(out, i.deployment())
	if v.ServiceMonitor.Enabled {
		out = append(out, i.serviceMonitor())
	}
	if v.PrometheusRule.Enabled {
		rule, err := i.prometheusRule()
		if err != nil {
			return nil, err
		}
		out = append(out, rule)
	}
	if v.GrafanaDashboards.Enabled {
		out = append(out, i.dashboards())
	}
	return out, nil
}

// Warnings are what the controller would warn of in its settings, in an installation for which Objects has no error.
func Warnings(r Release, v *Values) []settings.Warning {
	i, err := newInstallation(r, v)
	if err != nil {
		return nil
	}
	return i.warnings
}

// CapacityBufferCRD is the name of the one CRD that is not of the Karpenter API: Cluster Autoscaler brings it along as well.
const CapacityBufferCRD = "capacitybuffers.autoscaling.x-k8s.io"

// CRDs are the CustomResourceDefinitions. They are applied first.
func CRDs() ([]client.Object, error) {
	all, err := crds.All()
	if err != nil {
		return nil, fmt.Errorf("reading the CRDs: %w", err)
	}
	out := make([]client.Object, 0, len(all))
	for _, crd := range all {
		out = append(out, crd)
	}
	return out, nil
}

// YAML writes objects as kubectl takes them, without the fields that only the API server fills in.
func YAML(objects []client.Object) ([]byte, error) {
	var b bytes.Buffer
	for _, o := range objects {
		m, err := Plain(o)
		if err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}

// Plain is an object as a tree, without status and without what is empty.
func Plain(o client.Object) (map[string]any, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
	}
	delete(m, "status")
	clean(m)
	return m, nil
}

// clean takes creationTimestamp: null and the like out of a tree.
func clean(m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			clean(v)
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok {
					clean(e)
				}
			}
		}
	}
}

// installation is what the objects are made of.
type installation struct {
	Release
	v        *Values
	fullname string
	warnings []settings.Warning // by checkSettings
}

const longest = 63 // of a label's value, and of most names

func newInstallation(r Release, v *Values) (*installation, error) {
	if r.Name == "" {
		r.Name = DefaultName
	}
	if r.Namespace == "" {
		r.Namespace = DefaultNamespace
	}
	i := &installation{Release: r, v: v, fullname: r.Name}
	if v.FullnameOverride != "" {
		i.fullname = v.FullnameOverride
	}
	i.fullname = cut(i.fullname)
	for what, name := range map[string]string{"name": i.fullname, "namespace": r.Namespace} {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("%s %q: %s", what, name, strings.Join(problems, "; "))
		}
	}
	if v.Settings.ClusterName == "" {
		return nil, errors.New("settings.clusterName is not set: give the name of the EKS cluster (--cluster-name)")
	}
	return i, errors.Join(i.checkImage(), i.checkObjects(), i.checkSettings())
}

// cut is a name that fits into a label.
func cut(name string) string { return strings.TrimRight(name[:min(len(name), longest)], "-") }

// selector are the labels that no version of an installation changes: a Deployment's selector can't be changed. They are
// those of the Karpenter chart, so that its Deployment can be upgraded in place.
func (i *installation) selector() map[string]string {
	name := i.v.NameOverride
	if name == "" {
		name = DefaultName
	}
	return map[string]string{"app.kubernetes.io/name": cut(name), "app.kubernetes.io/instance": i.Name}
}

func (i *installation) labels() map[string]string {
	out := map[string]string{}
	if i.Version != "" {
		out["app.kubernetes.io/version"] = i.Version
	}
	for k, v := range i.selector() {
		out[k] = v
	}
	for k, v := range i.v.AdditionalLabels {
		out[k] = v
	}
	return out
}
