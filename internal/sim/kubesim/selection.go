package kubesim

import (
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is which objects a list or a watch is about.
type selection struct {
	labels labels.Selector
	fields fields.Selector
}

// fieldsOf are the fields that can be selected by, besides name and namespace, by plural.
var fieldsOf = map[string][]string{
	"pods":        {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
	"nodes":       {"spec.unschedulable"},
	"namespaces":  {"status.phase"},
	"replicasets": {"status.replicas"},
	"secrets":     {"type"},
	"jobs":        {"status.successful"},
	"events":      {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "type"},
}

// parseSelection reads the selectors of a request.
//
// Errors: 400 for text that is no selector, or a field that can't be selected by.
func parseSelection(r *resource, q url.Values) (selection, error) {
	var sel selection
	var err error
	if text := q.Get("labelSelector"); text != "" {
		if sel.labels, err = labels.Parse(text); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	if text := q.Get("fieldSelector"); text != "" {
		if sel.fields, err = fields.ParseSelector(text); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
		for _, req := range sel.fields.Requirements() {
			if !r.selectable(req.Field) {
				return sel, apierrors.NewBadRequest(r.unknownField(req.Field))
			}
		}
	}
	return sel, nil
}

func (r *resource) unknownField(name string) string {
	if r.custom == nil && fieldsOf[r.plural] == nil {
		return fmt.Sprintf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, name)
	}
	return "field label not supported: " + name
}

func (r *resource) selectable(field string) bool {
	if field == "metadata.name" || field == "metadata.namespace" && r.namespaced {
		return true
	}
	if r.custom != nil {
		for _, f := range r.custom.fields {
			if f == field {
				return true
			}
		}
		return false
	}
	for _, f := range fieldsOf[r.plural] {
		if f == field {
			return true
		}
	}
	return false
}

// takes tells whether an object is selected.
func (s selection) takes(o *object) bool {
	if o == nil {
		return false
	}
	if s.labels != nil && !s.labels.Matches(labels.Set(o.labels)) {
		return false
	}
	return s.fields == nil || s.fields.Matches(objectFields(o.content))
}

// objectFields lets a selector look into an object.
type objectFields content

func (f objectFields) Has(string) bool { return true }

func (f objectFields) Get(field string) string {
	var v any = content(f)
	for name, rest, more := strings.Cut(field, "."); ; name, rest, more = strings.Cut(rest, ".") {
		m, _ := v.(map[string]any)
		if v = m[name]; !more {
			break
		}
	}
	switch v := v.(type) {
	case nil:
		if field == "spec.unschedulable" || field == "spec.hostNetwork" {
			return "false"
		}
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case int64:
		return itoa(v)
	}
	return ""
}
