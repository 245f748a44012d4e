package kubesim

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Load stores an object as it is given, its status included, with no defaults and no checks; a UID and the time of its
// creation are added where they are missing. Parts of what is given may be parts of other objects too. It is how a test
// begins with a cluster that is too large to be created bit by bit.
//
// Errors: a kind that is not served, an object that is there already.
func (s *Server) Load(o map[string]any) error {
	u := &unstructured.Unstructured{Object: o}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.byPath {
		if r.kind != u.GetKind() || r.apiVersion() != u.GetAPIVersion() {
			continue
		}
		if r.objects[key(u.GetNamespace(), u.GetName())] != nil {
			return fmt.Errorf("load %s %s: it is there already", r.kind, key(u.GetNamespace(), u.GetName()))
		}
		if u.GetUID() == "" {
			u.SetUID(uid(s.uidLocked(r, key(u.GetNamespace(), u.GetName()))))
		}
		if at := u.GetCreationTimestamp(); at.IsZero() {
			_ = unstructured.SetNestedField(o, s.stamp(), "metadata", "creationTimestamp")
		}
		s.putLocked(r, o)
		return nil
	}
	return fmt.Errorf("load %s: no %s is served", u.GetName(), u.GroupVersionKind())
}
