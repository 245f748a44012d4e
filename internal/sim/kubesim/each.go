package kubesim

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Each calls see for every object of a kind, in the order of namespaces and names. Who has seen this version of the object
// need not decode it again: that is what makes it cheap to look at a large cluster often. path is group/version/plural, as
// in "/v1/pods".
//
// Errors: what see returns; a kind that is not served.
func (s *Server) Each(path string, see func(id types.UID, version uint64, decode func(into any) error) error) error {
	r := s.byPath[path]
	if r == nil {
		return fmt.Errorf("look at %s: it is not served", path)
	}
	s.mu.Lock()
	all := r.listLocked("", selection{})
	s.mu.Unlock()
	for _, o := range all {
		decode := func(into any) error {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(o.content, into)
		}
		if err := see(o.uid, o.version, decode); err != nil {
			return err
		}
	}
	return nil
}
