package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A Pod is what a kubelet knows of a pod when it starts its first container.
type Pod struct {
	Namespace, Name, UID, ServiceAccount string
	Node, Address                        string
	Labels, Annotations                  map[string]string
	Container                            corev1.Container
	Grace                                *int64 // terminationGracePeriodSeconds
	// Allocatable is the node's, which stands for limits that are not set.
	Allocatable corev1.ResourceList
	// Services are those of the namespace, and the one of the Kubernetes API. A container finds them in its environment.
	Services []corev1.Service
	// Data reads a ConfigMap or a Secret of the namespace. Nil: there are none.
	Data func(kind, name string) (map[string]string, error)
}

// PodOf is a pod as a Deployment makes it.
func PodOf(d *appsv1.Deployment, name string) *Pod {
	spec := &d.Spec.Template.Spec
	account := spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return &Pod{
		Namespace: d.Namespace, Name: name, ServiceAccount: account, Labels: d.Spec.Template.Labels, Annotations: d.Spec.Template.Annotations,
		Container: spec.Containers[0], Grace: spec.TerminationGracePeriodSeconds,
	}
}

// PodFrom is a pod as the API has it.
func PodFrom(p *corev1.Pod) *Pod {
	return &Pod{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), ServiceAccount: cmp.Or(p.Spec.ServiceAccountName, "default"), Node: p.Spec.NodeName,
		Labels: p.Labels, Annotations: p.Annotations, Container: *p.Spec.Containers[0].DeepCopy(), Grace: p.Spec.TerminationGracePeriodSeconds,
	}
}

// Environment is the environment of the container as NAME=VALUE, without what its image sets. Of a name that is there twice
// the last counts.
//
// Errors: a variable, by name, that is read from what there is none of.
func (p *Pod) Environment() ([]string, error) {
	links := serviceLinks(p.Services)
	known := map[string]string{}
	for _, pair := range links {
		name, value, _ := strings.Cut(pair, "=")
		known[name] = value
	}
	out := links
	set := func(name, value string) {
		known[name] = value
		out = append(out, name+"="+value)
	}
	out = append(out, "HOSTNAME="+p.Name) // the container runtime sets it, so that no other variable can refer to it
	for _, from := range p.Container.EnvFrom {
		data, err := p.envFrom(from)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(data)) {
			set(from.Prefix+name, data[name])
		}
	}
	for _, e := range p.Container.Env {
		value, ok := expand(e.Value, known), true
		if e.ValueFrom != nil {
			var err error
			if value, ok, err = p.valueFrom(e.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", e.Name, err)
			}
		}
		if ok {
			set(e.Name, value)
		}
	}
	return out, nil
}

// Command is the command line of the container in an image with an entry point.
func (p *Pod) Command(entryPoint, env []string) []string {
	known := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		known[name] = value
	}
	var out []string
	for _, word := range p.Container.Command {
		out = append(out, expand(word, known))
	}
	if len(out) == 0 {
		out = slices.Clone(entryPoint)
	}
	for _, word := range p.Container.Args {
		out = append(out, expand(word, known))
	}
	return out
}

func (p *Pod) data(kind, name string, optional *bool) (map[string]string, error) {
	if p.Data == nil {
		if optional != nil && *optional {
			return nil, nil
		}
		return nil, fmt.Errorf("%s %s/%s can't be read here", kind, p.Namespace, name)
	}
	data, err := p.Data(kind, name)
	if err != nil && optional != nil && *optional {
		return nil, nil // that is what optional means
	}
	return data, err
}

func (p *Pod) envFrom(from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		return p.data("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	case from.SecretRef != nil:
		return p.data("Secret", from.SecretRef.Name, from.SecretRef.Optional)
	}
	return nil, nil
}

// valueFrom is not ok where an optional source is not there.
func (p *Pod) valueFrom(from *corev1.EnvVarSource) (value string, ok bool, err error) {
	var kind, name, key string
	var optional *bool
	switch {
	case from.FieldRef != nil:
		value, err = p.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = p.resource(from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		kind, name, key, optional = "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
	case from.SecretKeyRef != nil:
		kind, name, key, optional = "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional
	default:
		return "", false, errors.New("it is read from what is not known here")
	}
	data, err := p.data(kind, name, optional)
	if err != nil {
		return "", false, err
	}
	if value, ok = data[key]; !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("%s %s/%s has no key %q", kind, p.Namespace, name, key)
	}
	return value, ok, nil
}

var subscript = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.*)'\]$`)

// field is a field of the pod by the paths that the downward API has for variables.
func (p *Pod) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return p.Name, nil
	case "metadata.namespace":
		return p.Namespace, nil
	case "metadata.uid":
		return p.UID, nil
	case "spec.nodeName":
		return p.Node, nil
	case "spec.serviceAccountName":
		return p.ServiceAccount, nil
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return p.Address, nil
	}
	if m := subscript.FindStringSubmatch(path); m != nil {
		if m[1] == "labels" {
			return p.Labels[m[2]], nil
		}
		return p.Annotations[m[2]], nil
	}
	return "", fmt.Errorf("fieldRef %q: the downward API has no such field for a variable", path)
}

// resource is a request or limit of the container in units of the divisor, rounded up.
func (p *Pod) resource(ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" && ref.ContainerName != p.Container.Name {
		return "", fmt.Errorf("resourceFieldRef names container %q, this is %q", ref.ContainerName, p.Container.Name)
	}
	which, name, _ := strings.Cut(ref.Resource, ".")
	var list corev1.ResourceList
	switch which {
	case "limits":
		list = p.Container.Resources.Limits
	case "requests":
		list = p.Container.Resources.Requests
	default:
		return "", fmt.Errorf("resourceFieldRef %q: want limits.… or requests.…", ref.Resource)
	}
	amount, ok := list[corev1.ResourceName(name)]
	if !ok && which == "limits" {
		if amount, ok = p.Allocatable[corev1.ResourceName(name)]; !ok {
			return "", fmt.Errorf("resourceFieldRef %q: the container has no such limit, and what the node has is not known", ref.Resource)
		}
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return ceil(amount.MilliValue(), divisor.MilliValue()), nil
	}
	return ceil(amount.Value(), divisor.Value()), nil
}

func ceil(amount, divisor int64) string {
	return strconv.FormatInt(int64(math.Ceil(float64(amount)/float64(divisor))), 10)
}

// expand puts variables in the place of $(NAME). A name that is not known stays, $$ is one dollar.
func expand(text string, known map[string]string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		text = text[at:]
		end := strings.IndexByte(text, ')')
		switch {
		case text[1] == '$':
			b.WriteByte('$')
			text = text[2:]
		case text[1] == '(' && end > 0:
			value, ok := known[text[2:end]]
			if !ok {
				value = text[:end+1]
			}
			b.WriteString(value)
			text = text[end+1:]
		default:
			b.WriteString(text[:2])
			text = text[2:]
		}
	}
}
