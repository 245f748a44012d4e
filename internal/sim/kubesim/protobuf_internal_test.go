package kubesim

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMessagesOfPartsAreWhole(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	parted := 0
	for _, r := range s.byPath {
		if !r.parted {
			continue
		}
		parted++
		c := content{"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}}}
		if r.plural == "pods" {
			c["spec"] = map[string]any{"containers": []any{map[string]any{"name": "main", "image": "none"}}}
			c["status"] = map[string]any{"phase": "Pending"}
		}
		check := func(o *object) {
			t.Helper()
			want, err := wholeMessage(r, o.content)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.message(r); !bytes.Equal(got, want) {
				t.Errorf("%s: %q, want %q", r.plural, got, want)
			}
		}
		s.mu.Lock()
		one := s.putLocked(r, c)
		s.mu.Unlock()
		check(one)
		next := shallow(one.content)
		(&unstructured.Unstructured{Object: next}).SetAnnotations(map[string]string{"x": "y"})
		next["status"] = map[string]any{}
		if r.plural == "pods" {
			next["status"] = map[string]any{"phase": "Running"}
		}
		s.mu.Lock()
		two := s.putLocked(r, next)
		s.mu.Unlock()
		check(two)
		if was, is := one.parts.Load(), two.parts.Load(); r.plural == "pods" && &was[1].raw[0] != &is[1].raw[0] {
			t.Error("a spec that has not changed was encoded again")
		}
	}
	if parted < 5 {
		t.Errorf("%d kinds are made of parts", parted)
	}
}
