package kubesim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// content is an object as JSON has it. What is stored is never changed.
type content = map[string]any

// object is a stored object. What it looks like on the wire is made when somebody wants it, once for all who do.
type object struct {
	content content
	version uint64
	uid     types.UID
	labels  map[string]string

	once               struct{ json, message sync.Once }
	inJSON, inProtobuf []byte
	// parts are what inProtobuf is made of, before those of the version before, until then.
	parts  atomic.Pointer[parts]
	before *parts
}

// raw is the object in JSON.
func (o *object) raw() []byte {
	o.once.json.Do(func() {
		o.inJSON = appendJSON(nil, o.content)
	})
	return o.inJSON
}

func (o *object) at() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.content}
}

// change is one step in the history of a resource. before is nil for a creation, after for a deletion; gone is the
// object as it was deleted, with the version of its deletion.
type change struct {
	version      uint64
	before       *object
	after        *object
	gone         *object
	namespace, n string
}

func key(namespace, name string) string { return namespace + "/" + name }

func newObject(c content, version uint64) *object {
	u := &unstructured.Unstructured{Object: c}
	u.SetResourceVersion(strconv.FormatUint(version, 10))
	return &object{content: c, version: version, uid: u.GetUID(), labels: u.GetLabels()}
}

// get finds an object.
//
// Errors: 404.
func (s *Server) get(r *resource, namespace, name string) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.find(namespace, name)
}

func (r *resource) find(namespace, name string) (*object, error) {
	if o := r.objects[key(namespace, name)]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(r.gr(), name)
}

// putLocked stores an object, new or in place of another.
func (s *Server) putLocked(r *resource, c content) *object {
	u := &unstructured.Unstructured{Object: c}
	s.version++
	o := newObject(c, s.version)
	k := key(u.GetNamespace(), u.GetName())
	if last := r.objects[k]; last != nil {
		o.before = last.parts.Load()
	}
	s.tellLocked(r, change{version: o.version, before: r.objects[k], after: o, namespace: u.GetNamespace(), n: u.GetName()})
	r.objects[k] = o
	if r.plural == "events" {
		s.expireLocked(r, k, o)
	}
	return o
}

// dropLocked ends an object.
func (s *Server) dropLocked(r *resource, old *object) *object {
	u := old.at()
	s.version++
	gone := newObject(shallow(old.content), s.version)
	delete(r.objects, key(u.GetNamespace(), u.GetName()))
	s.tellLocked(r, change{version: gone.version, before: old, gone: gone, namespace: u.GetNamespace(), n: u.GetName()})
	return gone
}

func (s *Server) tellLocked(r *resource, c change) {
	if s.o.Hear != nil {
		var before, after content
		if c.before != nil {
			before = c.before.content
		}
		if c.after != nil {
			after = c.after.content
		}
		s.o.Hear(r.path(), before, after)
	}
	r.log = append(r.log, c)
	if len(r.log) >= 2*s.o.History {
		r.forget(len(r.log)-s.o.History, 0)
	}
	for w := range r.watchers {
		w.poke()
	}
}

// forget drops the oldest n changes, and those up to a version even if it was another resource's.
func (r *resource) forget(n int, version uint64) {
	if n > 0 {
		version = max(version, r.log[n-1].version)
	}
	r.horizon = max(r.horizon, version)
	r.log = append([]change(nil), r.log[n:]...)
	r.dropped += n
}

// listLocked are the objects of a namespace, or of all if it is empty, that a selection takes, in the order of their keys.
func (r *resource) listLocked(namespace string, sel selection) []*object {
	type entry struct {
		key string
		o   *object
	}
	var found []entry
	for k, o := range r.objects {
		if namespace != "" && !strings.HasPrefix(k, namespace+"/") || !sel.takes(o) {
			continue
		}
		found = append(found, entry{k, o})
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	out := make([]*object, len(found))
	for i, e := range found {
		out[i] = e.o
	}
	return out
}

func (s *Server) stamp() string { return s.o.Now().UTC().Format(time.RFC3339) }

// uidLocked draws a UID. It depends on the seed, what the object is, and in what second it is made, and not on what else was made before.
func (s *Server) uidLocked(r *resource, key string) string {
	if now := s.o.Now().Truncate(time.Second); !now.Equal(s.drawnAt) {
		s.drawnAt = now
		clear(s.drawn)
	}
	name := r.path() + "/" + key
	s.drawn[name]++ // it may come, go and come again within the second
	h := s.draw(name, strconv.FormatInt(s.drawnAt.Unix(), 10), strconv.Itoa(s.drawn[name]))
	a, b := binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

// suffixLocked draws the end of a generated name: that of the n-th object of its kind and beginning is always the same.
func (s *Server) suffixLocked(r *resource, begins string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	if r.named == nil {
		r.named = map[string]int{}
	}
	r.named[begins]++
	h := s.draw(r.path(), begins, strconv.Itoa(r.named[begins]))
	var b [5]byte
	for i := range b {
		b[i] = letters[int(h[i])%len(letters)]
	}
	return string(b[:])
}

// draw gives bytes that depend on the seed and the words only.
func (s *Server) draw(words ...string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.FormatUint(s.o.Seed, 10) + "\x00" + strings.Join(words, "\x00")))
}
