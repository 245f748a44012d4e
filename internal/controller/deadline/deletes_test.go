package deadline

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// deletes are the places in the loops that delete objects by a client of their own, and what they delete: no NodeClaim, or one
// on terms of their own.
var deletes = map[string]string{
	"deadline/deadline.go":         "NodeClaims, for all",
	"disrupt/carry.go":             "NodeClaims of a command",
	"disrupt/undo.go":              "a replacement that nobody has counted on since it was read",
	"garbagecollection/garbage.go": "Nodes of instances that nobody knew",
	"terminate/claims.go":          "the Nodes of a NodeClaim",
	"terminate/evict.go":           "pods whose time is over",
}

// TestNothingElseDeletesNodeClaims reads the code of the loops.
func TestNothingElseDeletesNodeClaims(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Delete" || !isClient(f.X) {
				return true
			}
			name := filepath.ToSlash(strings.TrimPrefix(filepath.Clean(path), ".."+string(filepath.Separator)))
			seen[name] = true
			if deletes[name] == "" {
				t.Errorf("%s deletes an object: a NodeClaim is deleted by deadline.Delete, and anything else is listed here", fset.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
