package pack

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func TestTheCatalogSaysWhichLabelsTheCapacityTypeDecides(t *testing.T) {
	s := newSolver(&Problem{}, newMemory())
	for _, name := range catalog.CellKeys() {
		if !s.isCellKey(s.vocab.Key(name)) {
			t.Errorf("%s is held to be no label that the way of launching decides", name)
		}
	}
	if s.isCellKey(s.vocab.Key(requirement.InstanceType)) {
		t.Error("the instance type is held to be decided by the way of launching")
	}
}
