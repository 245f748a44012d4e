package conditions

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// packageOf is the name by which the loops import the package of a kind.
var packageOf = map[string]string{
	"NodeClaim": "karpv1", "NodePool": "karpv1", "EC2NodeClass": "awsv1", "NodeOverlay": "v1alpha1", "CapacityBuffer": "autoscalingv1beta1",
}

// writes are the methods of a set of conditions that change it, and the position of the condition among their arguments.
var writes = map[string]bool{"SetTrue": true, "SetTrueWithReason": true, "SetFalse": true, "SetUnknown": true, "SetUnknownWithReason": true, "Clear": true}

// TestEachConditionHasOneWriter reads the code of the loops.
func TestEachConditionHasOneWriter(t *testing.T) {
	writer := map[string]string{} // by package and name of the constant
	for _, c := range All() {
		name := packageOf[c.Kind] + ".ConditionType" + c.Type
		if other, ok := writer[name]; ok {
			t.Errorf("%s stands twice: written by %s and by %s", name, other, c.Writer)
		}
		if c.True == "" || c.Writer == "" || packageOf[c.Kind] == "" {
			t.Errorf("%+v says too little", c)
		}
		writer[name] = c.Writer
	}
	seen := map[string]bool{}
	read(t, "..", func(fset *token.FileSet, pkg string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !writes[method.Sel.Name] {
			return
		}
		name := constant(call.Args[0])
		switch {
		case name == "" && pkg != "nodeclass": // which writes what package aws has found
			t.Errorf("%s: a condition is written whose type is not a constant of the API", fset.Position(call.Pos()))
		case name == "":
		case writer[name] == "":
			t.Errorf("%s writes %s, which is not in the list", fset.Position(call.Pos()), name)
		case writer[name] != pkg:
			t.Errorf("%s writes %s, which is %s's to write", fset.Position(call.Pos()), name, writer[name])
		default:
			seen[name] = true
		}
	})
	read(t, "../../aws", func(_ *token.FileSet, _ string, n ast.Node) { // what nodeclass writes for it
		if x, ok := n.(ast.Expr); ok {
			seen[constant(x)] = true
		}
	})
	for name, pkg := range writer {
		if !seen[name] {
			t.Errorf("%s does not write %s", pkg, name)
		}
	}
}

// constant is a condition type as an expression of the API's packages; empty for anything else.
func constant(x ast.Expr) string {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(s.Sel.Name, "ConditionType") {
		return ""
	}
	return fmt.Sprint(s.X) + "." + s.Sel.Name
}

// TestConditionsAreWrittenUnderALock reads the code of the loops: a patch of a list replaces all of it, so that one without a lock
// takes back what another loop has written since. Several loops write conditions of NodeClaims and EC2NodeClasses.
func TestConditionsAreWrittenUnderALock(t *testing.T) {
	patches := 0
	read(t, "..", func(fset *token.FileSet, _ string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "Patch" || !isStatus(method.X) {
			return
		}
		patches++
		how, ok := call.Args[2].(*ast.CallExpr)
		if !ok {
			return // a patch that was made elsewhere
		}
		if f, ok := how.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "MergeFrom" {
			return
		}
		if at := fset.Position(call.Pos()); !unlocked[filepath.ToSlash(strings.TrimPrefix(at.Filename, ".."+string(filepath.Separator)))] {
			t.Errorf("%s patches a status without a lock: client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})", at)
		}
	})
	if patches < 8 {
		t.Errorf("only %d places patch a status: the rule looks at the wrong calls", patches)
	}
}

// unlocked are the files that patch a status without a lock: nobody else writes conditions of the kind, or they write none.
var unlocked = map[string]bool{
	"buffer/buffer.go":       true,
	"nodepool/controller.go": true,
	"overlay/controller.go":  true,
	"terminate/claims.go":    true, // status.providerID alone
}

// isStatus reports whether an expression is a call of Status, as in client.Status().
func isStatus(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Status"
}

// read calls see for every node of the code in a folder, with the name of the package.
func read(t *testing.T, dir string, see func(fset *token.FileSet, pkg string, n ast.Node)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool { see(fset, file.Name.Name, n); return true })
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("read %d files of %s: %v", files, dir, err)
	}
}
