package history

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// template is a pod's template without what differs between pods of one owner. Templates that say the same are one pointer.
type template struct {
	spec *corev1.PodTemplateSpec
	key  string // what it says, as JSON
	// claims is how many volumes were left out that are bound to PersistentVolumeClaims.
	claims int
}

// intern returns the one template that says what a pod or a template of an owner says, without what differs between pods.
func (l *ledger) intern(meta metav1.ObjectMeta, spec *corev1.PodSpec, daemon bool) *template {
	t := &template{spec: workload.TemplateOf(&meta, spec, daemon)}
	for i := range spec.Volumes {
		if spec.Volumes[i].PersistentVolumeClaim != nil || spec.Volumes[i].Ephemeral != nil {
			t.claims++
		}
	}
	return l.one(t)
}

// one returns the template that is known already and says the same, or keeps this one.
func (l *ledger) one(t *template) *template {
	text, err := json.Marshal(t.spec)
	if err != nil { // nothing that was read from JSON fails to become JSON
		text = nil
	}
	t.key = string(text)
	if known := l.templates[t.key]; known != nil {
		known.claims = max(known.claims, t.claims)
		return known
	}
	l.templates[t.key] = t
	return t
}

func put(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}

// asks are requests that are known without a template, as metrics have them: of the containers together and of the largest
// init container.
type asks struct {
	containers, init map[corev1.ResourceName]float64
	seen             map[string]bool // container and resource: one series may come in many files
}

func (a *asks) add(container, name string, value float64, init bool) {
	if a.seen == nil {
		a.seen, a.containers, a.init = map[string]bool{}, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}
	}
	id := container + " " + name
	if init {
		id = "init " + id
	}
	if a.seen[id] {
		return
	}
	a.seen[id] = true
	r := resourceName(name)
	if init {
		a.init[r] = max(a.init[r], value)
	} else {
		a.containers[r] += value
	}
}

// resourceName is a resource as Kubernetes calls it, of the form that kube-state-metrics makes of it: nvidia_com_gpu.
func resourceName(label string) corev1.ResourceName {
	switch label {
	case "cpu", "memory":
		return corev1.ResourceName(label)
	case "ephemeral_storage":
		return corev1.ResourceEphemeralStorage
	}
	for _, domain := range []string{"nvidia_com_", "aws_amazon_com_", "amd_com_", "vpc_amazonaws_com_"} {
		if rest, ok := strings.CutPrefix(label, domain); ok {
			return corev1.ResourceName(strings.ReplaceAll(strings.TrimSuffix(domain, "_"), "_", ".") + "/" + strings.ReplaceAll(rest, "_", "-"))
		}
	}
	return corev1.ResourceName(label)
}

// template is a pod that asks for this; nil where nothing is known.
func (l *ledger) fromAsks(a *asks) *template {
	if a == nil || len(a.seen) == 0 {
		return nil
	}
	list := corev1.ResourceList{}
	for _, from := range []map[corev1.ResourceName]float64{a.containers, a.init} {
		for name, v := range from {
			v = max(v, a.containers[name])
			if v <= 0 {
				continue
			}
			if name == corev1.ResourceCPU {
				list[name] = *resource.NewMilliQuantity(int64(v*1000+0.5), resource.DecimalSI)
			} else if name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
				list[name] = *resource.NewQuantity(int64(v), resource.BinarySI)
			} else {
				list[name] = *resource.NewQuantity(int64(v), resource.DecimalSI)
			}
		}
	}
	return l.plain(list)
}

// plain is a pod of one container that requests this and says nothing else.
func (l *ledger) plain(list corev1.ResourceList) *template {
	c := corev1.Container{Name: "main", Image: "none"}
	c.Resources.Requests = list
	for name, q := range list { // what can't be overcommitted has a limit too
		if strings.Contains(string(name), "/") {
			if c.Resources.Limits == nil {
				c.Resources.Limits = corev1.ResourceList{}
			}
			c.Resources.Limits[name] = q
		}
	}
	return l.one(&template{spec: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}})
}
