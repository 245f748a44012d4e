package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// requestColumn is a column that says how much of a resource a pod requests.
type requestColumn struct {
	name     string
	most     int64
	resource corev1.ResourceName
	quantity func(n int64) resource.Quantity
	unit     string // in the names of templates
}

// requestColumns are in the order of the fields of Requests.
var requestColumns = []requestColumn{
	{colCPU, maxCPU, corev1.ResourceCPU, func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }, "m"},
	{colMemory, maxMemory, corev1.ResourceMemory, func(n int64) resource.Quantity { return *resource.NewQuantity(n<<20, resource.BinarySI) }, "Mi"},
	{colGPU, maxGPU, GPU, func(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }, ""},
	{colDisk, maxDisk, corev1.ResourceEphemeralStorage, func(n int64) resource.Quantity { return *resource.NewQuantity(n<<30, resource.BinarySI) }, "Gi"},
}

// adjusted is the key of a given template with the requests of the row: each column that has a value beats the template, as the sum of the
// pod's containers. Everything else is the template's.
//
// Errors: a value can't be read; it is less than what the pod's other containers request.
func (r *reader) adjusted(name string, given *corev1.PodTemplateSpec) (string, error) {
	key := name
	var t *corev1.PodTemplateSpec
	where := fmt.Sprintf("line %d: template %s", r.line, name)
	for i := range requestColumns {
		c := &requestColumns[i]
		if r.text(c.name) == "" || len(given.Spec.Containers) == 0 {
			continue
		}
		n, err := r.number(c.name, 0, 0, c.most)
		if err != nil {
			return "", err
		}
		if t == nil {
			t = given.DeepCopy()
		}
		want := c.quantity(n)
		had, ok := requested(given.Spec.Containers, c.resource)
		if ok && had.Cmp(want) != 0 {
			r.out.note("requests in the columns of rows whose template has others: those of the columns count", fmt.Sprintf("%s requests %s %s, and %s is %d", where, had.String(), c.resource, c.name, n), 1)
		}
		others, _ := requested(given.Spec.Containers[1:], c.resource)
		if others.Cmp(want) > 0 {
			return "", r.errorf("%s is %d, and containers of template %q behind its first request %s already: want at least that, or nothing in the column", c.name, n, name, others.String())
		}
		want.Sub(others)
		set(&t.Spec.Containers[0].Resources, c.resource, want)
		key += fmt.Sprintf("+%s-%d%s", c.resource.String(), n, c.unit)
	}
	for _, column := range []string{colShare, colModels, colClass, colMax} {
		if r.text(column) != "" {
			r.out.note("columns that say more than requests ("+column+") beside a template: the template says it, and they are left out", where, 1)
		}
	}
	if t == nil {
		t = given
	} else {
		r.adjustedFrom[key] = name
	}
	if r.out.Templates[key] == nil {
		r.out.Templates[key] = t
	}
	return key, nil
}

// requested is the sum of what containers request of a resource, and whether any does.
func requested(containers []corev1.Container, name corev1.ResourceName) (sum resource.Quantity, some bool) {
	for i := range containers {
		if q, ok := containers[i].Resources.Requests[name]; ok {
			sum.Add(q)
			some = true
		} else if q, ok := containers[i].Resources.Limits[name]; ok { // as the API server completes it
			sum.Add(q)
			some = true
		}
	}
	return sum, some
}

// set sets a request, and the limit where it is below it or, for GPUs, has to be equal.
func set(to *corev1.ResourceRequirements, name corev1.ResourceName, q resource.Quantity) {
	if q.IsZero() {
		delete(to.Requests, name)
		delete(to.Limits, name)
		return
	}
	if to.Requests == nil {
		to.Requests = corev1.ResourceList{}
	}
	to.Requests[name] = q
	if limit, ok := to.Limits[name]; name == GPU || ok && limit.Cmp(q) < 0 {
		if to.Limits == nil {
			to.Limits = corev1.ResourceList{}
		}
		to.Limits[name] = q
	}
}
