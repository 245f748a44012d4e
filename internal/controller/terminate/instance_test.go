package terminate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingElseEndsInstances reads the code of the loops: the cloud is asked to end an instance in one place.
func TestNothingElseEndsInstances(t *testing.T) {
	asks := 0
	for _, dir := range []string{"..", "../../app"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
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
				if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Terminate" {
					return true
				}
				asks++
				if filepath.Clean(path) != filepath.Join("..", "terminate", "instance.go") {
					t.Errorf("%s ends an instance itself: call Terminator.End", fset.Position(call.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if asks != 1 {
		t.Errorf("%d places ask the cloud to end an instance, want the one of Terminator.End", asks)
	}
}
