package fidelity_test

import (
	"testing"

	"github.com/kerf-sh/kerf/controlplane/fidelity"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// TestPlansPassTheirOwnCheck needs no control plane and so looks at many more cases.
func TestPlansPassTheirOwnCheck(t *testing.T) {
	for s := *seed; s < *seed+uint64(*checked); s++ {
		k, err := fidelity.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		p := k.Problem(k.Pending)
		for _, v := range verify.Check(p, pack.Solve(p)) {
			t.Errorf("seed %d: %s", s, v)
		}
	}
}
