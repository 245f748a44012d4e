package kubesim

import (
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// create stores a new object.
//
// Errors: 409 if it exists or the namespace is going, 404 if there is no such namespace, 422 if it breaks a rule.
func (s *Server) create(r *resource, namespace string, given sent, dryRun bool) (*object, error) {
	c := given.content
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &unstructured.Unstructured{Object: c}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + s.suffixLocked(r, namespace+"/"+u.GetGenerateName()))
	}
	if r.namespaced {
		u.SetNamespace(namespace)
		if s.byPath["/v1/namespaces"].objects[key("", namespace)] == nil {
			return nil, apierrors.NewNotFound(s.byPath["/v1/namespaces"].gr(), namespace)
		}
	}
	if r.plural == "events" && r.objects[key(u.GetNamespace(), u.GetName())] != nil {
		// Clients name events by the nanosecond, at which two of one object may be made where time stands still.
		u.SetName(u.GetName() + "." + s.suffixLocked(r, ""))
	}
	u.SetUID("")
	u.SetDeletionTimestamp(nil)
	u.SetDeletionGracePeriodSeconds(nil)
	u.SetSelfLink("")
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(c, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(c, "metadata", "generation")
	if u.GetResourceVersion() != "" {
		return nil, failure("resourceVersion should not be set on objects to be created")
	}
	if r.status && !r.keepsStatus {
		delete(c, "status")
	}
	c, err := r.normal(given)
	if err != nil {
		return nil, err
	}
	u = &unstructured.Unstructured{Object: c}
	if r.generation {
		u.SetGeneration(1)
	}
	_ = unstructured.SetNestedField(c, s.stamp(), "metadata", "creationTimestamp")
	u.SetUID(uid(s.uidLocked(r, key(u.GetNamespace(), u.GetName()))))
	if err := s.prepare(r, c); err != nil {
		return nil, err
	}
	if err := r.validate(c, nil); err != nil {
		return nil, err
	}
	if r.objects[key(u.GetNamespace(), u.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(r.gr(), u.GetName())
	}
	if dryRun {
		return newObject(c, 0), nil
	}
	return s.putLocked(r, c), nil
}

// normal brings an object into the form in which it is stored: unknown fields gone, defaults set, quantities as they are
// written.
func (r *resource) normal(given sent) (content, error) {
	if r.custom != nil {
		return r.custom.normal(given.content), nil
	}
	out := given.content
	if typed := r.typed(); typed != nil && !given.typed {
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(out, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", r.kind, r.version, r.kind, err))
		}
		if out, err = untyped(typed); err != nil {
			return nil, err
		}
	}
	out["apiVersion"], out["kind"] = r.apiVersion(), r.kind
	if status, ok := out["status"].(map[string]any); ok && len(status) == 0 && r.custom == nil && !r.status {
		delete(out, "status")
	}
	return out, nil
}

// untyped is an object of a Go type as JSON has it.
func untyped(typed any) (content, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if meta, ok := out["metadata"].(map[string]any); !ok {
		out["metadata"] = map[string]any{}
	} else if meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	return out, nil
}

// validate judges metadata and, of custom resources, what their schema says. What is as it was has been judged.
func (r *resource) validate(c, old content) error {
	u := &unstructured.Unstructured{Object: c}
	var errs field.ErrorList
	if old == nil || !same(c["metadata"], old["metadata"]) {
		errs = validation.ValidateObjectMetaAccessor(u, r.namespaced, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
		if old != nil {
			before := &unstructured.Unstructured{Object: old}
			errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(u, before, field.NewPath("metadata"))...)
		}
	}
	if r.custom != nil {
		errs = append(errs, r.custom.validate(c, old)...)
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(r.gk(), u.GetName(), errs)
}

// update makes of an object what modify makes of it, which must not change what it gets. sub says which part may be changed:
// status, or everything but that.
//
// Errors: 404; 409 if a resource version or UID is named and is another; 422 if the outcome breaks a rule.
func (s *Server) update(r *resource, namespace, name, sub string, modify func(old *object) (sent, error), dryRun bool) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := r.find(namespace, name)
	if err != nil {
		return nil, err
	}
	c, err := modify(old)
	if err != nil {
		return nil, err
	}
	return s.replaceLocked(r, old, c, sub, dryRun)
}

func (s *Server) replaceLocked(r *resource, old *object, given sent, sub string, dryRun bool) (*object, error) {
	c := given.content
	before, u := old.at(), &unstructured.Unstructured{Object: c}
	if u.GetName() != before.GetName() || r.namespaced && u.GetNamespace() != before.GetNamespace() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", u.GetName(), before.GetName()))
	}
	switch v := u.GetResourceVersion(); {
	case v == "" && r.custom != nil:
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: r.group, Kind: r.plural}, u.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	case v != "" && v != before.GetResourceVersion():
		return nil, apierrors.NewConflict(r.gr(), u.GetName(), fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if id := u.GetUID(); id != "" && id != before.GetUID() {
		return nil, apierrors.NewConflict(r.gr(), u.GetName(), fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %v, UID in object meta: %v", r.storedAt(before), id, before.GetUID()))
	}
	c, err := r.normal(given)
	if err != nil {
		return nil, err
	}
	c = r.merged(c, old.content, sub)
	u = &unstructured.Unstructured{Object: c}
	u.SetUID(before.GetUID())
	u.SetResourceVersion(before.GetResourceVersion())
	u.SetGeneration(before.GetGeneration())
	u.SetManagedFields(nil)
	// Once deletion has begun it can be neither taken back nor put off.
	copyField(c, before.Object, "metadata", "creationTimestamp")
	copyField(c, before.Object, "metadata", "deletionTimestamp")
	copyField(c, before.Object, "metadata", "deletionGracePeriodSeconds")
	if r.generation && !same(substance(c), substance(before.Object)) {
		u.SetGeneration(before.GetGeneration() + 1)
	}
	if err := r.validate(c, before.Object); err != nil {
		return nil, err
	}
	if err := immutable(r, c, before.Object); err != nil {
		return nil, err
	}
	switch {
	case same(c, before.Object):
		return old, nil
	case dryRun:
		return newObject(c, old.version), nil
	case u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 && noGrace(u):
		return s.dropLocked(r, old), nil
	}
	return s.putLocked(r, c), nil
}

// meets tells whether an object is the one that a deletion is about.
//
// Errors: 409.
func (r *resource) meets(p *metav1.Preconditions, u *unstructured.Unstructured) error {
	if p == nil {
		return nil
	}
	conflict := func(what string, want, is any, end string) error {
		return apierrors.NewConflict(schema.GroupResource{Group: r.group, Resource: r.kind}, u.GetName(), fmt.Errorf("the %s in the precondition (%v) does not match the %s in record (%v). The object might have been %s", what, want, what, is, end))
	}
	if p.UID != nil && *p.UID != u.GetUID() {
		return conflict("UID", *p.UID, u.GetUID(), "deleted and then recreated")
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != u.GetResourceVersion() {
		return conflict("ResourceVersion", *p.ResourceVersion, u.GetResourceVersion(), "modified")
	}
	return nil
}

// storedAt is where a real server would store an object, which some of its messages tell.
func (r *resource) storedAt(u *unstructured.Unstructured) string {
	path := "/registry/"
	if r.custom != nil {
		path += r.group + "/"
	}
	path += r.plural + "/"
	if u.GetNamespace() != "" {
		path += u.GetNamespace() + "/"
	}
	return path + u.GetName()
}

// noGrace tells whether a deletion under way waits for nothing but finalizers.
func noGrace(u *unstructured.Unstructured) bool {
	seconds := u.GetDeletionGracePeriodSeconds()
	return seconds == nil || *seconds == 0
}

// merged takes the part that a call may change from the new object and the rest from the old one, with which it shares what is
// below the fields of the metadata.
func (r *resource) merged(now, old content, sub string) content {
	switch {
	case !r.status:
		return now
	case sub != "status":
		share(now, old, "status")
		return now
	}
	out := shallow(old)
	if r.custom == nil && r.plural != "poddisruptionbudgets" { // metadata of those built in may be changed on the way
		out["metadata"] = now["metadata"]
	}
	share(out, now, "status")
	return out
}

// shallow is a copy of a stored object of which fields, and those of the metadata, may be set.
func shallow(c content) content {
	out := maps.Clone(c)
	if meta, ok := c["metadata"].(map[string]any); ok {
		out["metadata"] = maps.Clone(meta)
	}
	return out
}

// share makes a field of one object that of another, or removes it. It must not be changed any more.
func share(to, from content, field string) {
	if v, ok := from[field]; ok {
		to[field] = v
	} else {
		delete(to, field)
	}
}

// copyField makes a field of one object that of another, or removes it.
func copyField(to, from content, path ...string) {
	if v, ok, _ := unstructured.NestedFieldNoCopy(from, path...); ok {
		_ = unstructured.SetNestedField(to, runtime.DeepCopyJSONValue(v), path...)
		return
	}
	unstructured.RemoveNestedField(to, path...)
}

// substance is what generations count the changes of.
func substance(c content) content {
	out := maps.Clone(c)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// remove deletes an object, at once or as soon as its finalizers and its grace period allow. It returns what is left of
// the object, or what it was.
//
// Errors: 404, 409 if a precondition fails.
func (s *Server) remove(r *resource, namespace, name string, o metav1.DeleteOptions) (last *object, gone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removeLocked(r, namespace, name, o)
}

func (s *Server) removeLocked(r *resource, namespace, name string, o metav1.DeleteOptions) (last *object, gone bool, err error) {
	old, err := r.find(namespace, name)
	if err != nil {
		return nil, false, err
	}
	u := &unstructured.Unstructured{Object: shallow(old.content)}
	if err := r.meets(o.Preconditions, u); err != nil {
		return nil, false, err
	}
	if len(o.DryRun) > 0 {
		return old, false, nil
	}
	if o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationForeground && !slices.Contains(u.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		u.SetFinalizers(append(u.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	grace := graceOf(r, u, o)
	begun := u.GetDeletionTimestamp() != nil
	if begun {
		if was := u.GetDeletionGracePeriodSeconds(); was != nil && *was <= grace {
			if *was > 0 || len(u.GetFinalizers()) > 0 {
				return old, false, nil
			}
			grace = 0
		}
	}
	if grace == 0 && len(u.GetFinalizers()) == 0 {
		return s.dropLocked(r, old), true, nil
	}
	if begun && grace == 0 && noGrace(u) {
		return old, false, nil
	}
	at := metav1.NewTime(s.o.Now().UTC().Add(seconds(grace)))
	u.SetDeletionTimestamp(&at)
	u.SetDeletionGracePeriodSeconds(&grace)
	if !begun && u.GetGeneration() > 0 {
		u.SetGeneration(u.GetGeneration() + 1)
	}
	return s.putLocked(r, u.Object), false, nil
}
