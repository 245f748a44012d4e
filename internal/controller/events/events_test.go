package events

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/sourcetest"
)

func TestReasonsAreSortedAndSaidOnce(t *testing.T) {
	all := Reasons()
	if !slices.IsSortedFunc(all, func(a, b Reason) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("they are not sorted by name")
	}
	for i, r := range all {
		if i > 0 && r.Name == all[i-1].Name || r.On == "" || r.When == "" {
			t.Errorf("%+v: it stands twice, or says nothing", r)
		}
	}
}

// reasonAt is the position of the reason among the arguments of what publishes an event.
var reasonAt = map[string]int{"Event": 2, "Eventf": 2, "AnnotatedEventf": 3, "Tell": 5}

// TestNoReasonIsWrittenByHand reads the code of the loops: each reason of an event is one of the names of this package, and
// each name is used.
func TestNoReasonIsWrittenByHand(t *testing.T) {
	used, publishing := map[string]bool{}, 0
	sourcetest.Read(t, func(at func(ast.Node) token.Position, _ string, n ast.Node) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "events" {
				used[n.Sel.Name] = true
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return
			}
			reason, ok := reasonAt[f.Sel.Name]
			if !ok || len(n.Args) <= reason {
				return
			}
			publishing++
			if lit, ok := n.Args[reason].(*ast.BasicLit); ok {
				t.Errorf("%s: reason %s is not one of this package", at(lit), lit.Value)
			}
		}
	}, "..", "../../app")
	if publishing < 30 {
		t.Errorf("only %d places publish an event: the rule looks at the wrong calls", publishing)
	}
	for _, r := range Reasons() {
		if !used[r.Name] {
			t.Errorf("%s is published by nothing", r.Name)
		}
	}
}
