package cache

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxTombs bounds how many deleted objects are remembered, so that a late event can't bring one back.
const mostDeleted = 1 << 14

// store holds the newest version seen of each object of a kind, whatever the order in which the versions arrive.
type store[T client.Object] struct {
	objects map[types.NamespacedName]T
	deleted map[types.UID]struct{}
	order   []types.UID // of tombs, oldest first
}

func newStore[T client.Object]() store[T] {
	return store[T]{objects: map[types.NamespacedName]T{}, deleted: map[types.UID]struct{}{}}
}

func (s *store[T]) get(namespace, name string) T {
	return s.objects[types.NamespacedName{Namespace: namespace, Name: name}]
}

// set takes in a version of an object; fresh is false when it is older than what is known or the object is gone.
func (s *store[T]) set(obj T) (fresh bool) {
	if s.sawDeleted(obj) {
		return false
	}
	key := client.ObjectKeyFromObject(obj)
	if have, ok := s.objects[key]; ok && !newer(obj, have) {
		return false
	}
	s.objects[key] = obj
	return true
}

// sawDeleted reports whether the deletion of this very object was taken in.
func (s *store[T]) sawDeleted(obj T) bool {
	_, gone := s.deleted[obj.GetUID()]
	return gone
}

// remove takes in a deletion; known is false when this very object was not there.
func (s *store[T]) remove(obj T) (known bool) {
	s.rememberDeleted(obj.GetUID())
	key := client.ObjectKeyFromObject(obj)
	have, ok := s.objects[key]
	if !ok || have.GetUID() != obj.GetUID() {
		return false
	}
	delete(s.objects, key)
	return true
}

func (s *store[T]) rememberDeleted(uid types.UID) {
	if uid == "" {
		return
	}
	if _, ok := s.deleted[uid]; ok {
		return
	}
	s.deleted[uid] = struct{}{}
	s.order = append(s.order, uid)
	if len(s.order) > mostDeleted {
		delete(s.deleted, s.order[0])
		s.order = s.order[1:]
	}
}

// newer reports whether a is a later version than b. Versions that can't be compared (test servers, foreign stores)
// count as newer when they differ.
func newer(a, b client.Object) bool {
	c, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	if err != nil {
		return a.GetResourceVersion() != b.GetResourceVersion() || a.GetResourceVersion() == ""
	}
	return c > 0
}

// values are the objects, in no order.
func values[T client.Object](s store[T]) []T {
	out := make([]T, 0, len(s.objects))
	for _, o := range s.objects {
		out = append(out, o)
	}
	return out
}
