package deadline

import (
	"go/ast"
	"go/token"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/sourcetest"
)

// deletes are the places in the loops that delete objects by a client of their own, and what they delete: no NodeClaim, or one
// on terms of their own.
var deletes = map[string]string{
	"deadline/deadline.go":         "NodeClaims, for all",
	"disrupt/undo.go":              "a replacement that nobody has counted on since it was read",
	"garbagecollection/garbage.go": "Nodes of instances that nobody knew",
	"terminate/claims.go":          "the Nodes of a NodeClaim",
	"terminate/evict.go":           "pods whose time is over",
}

// TestNothingElseDeletesNodeClaims reads the code of the loops.
func TestNothingElseDeletesNodeClaims(t *testing.T) {
	seen := map[string]bool{}
	sourcetest.Read(t, func(at func(ast.Node) token.Position, _ string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "Delete" || !isClient(f.X) {
			return
		}
		name := sourcetest.File(at(call))
		seen[name] = true
		if deletes[name] == "" {
			t.Errorf("%s deletes an object: a NodeClaim is deleted by deadline.Delete, and anything else is listed here", at(call))
		}
	}, "..")
	for name, what := range deletes {
		if !seen[name] {
			t.Errorf("%s deletes nothing any more (it did delete %s): strike it from the list", name, what)
		}
	}
}

// isClient reports whether an expression is a Kubernetes client, by its name.
func isClient(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "c"
	case *ast.SelectorExpr:
		return x.Sel.Name == "Client"
	}
	return false
}
