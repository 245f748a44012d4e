package conditions

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/sourcetest"
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
	sourcetest.Read(t, func(at func(ast.Node) token.Position, pkg string, n ast.Node) {
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
			t.Errorf("%s: a condition is written whose type is not a constant of the API", at(call))
		case name == "":
		case writer[name] == "":
			t.Errorf("%s writes %s, which is not in the list", at(call), name)
		case writer[name] != pkg:
			t.Errorf("%s writes %s, which is %s's to write", at(call), name, writer[name])
		default:
			seen[name] = true
		}
	}, "..")
	sourcetest.Read(t, func(_ func(ast.Node) token.Position, _ string, n ast.Node) { // what nodeclass writes for it
		if x, ok := n.(ast.Expr); ok {
			seen[constant(x)] = true
		}
	}, "../../aws")
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
	sourcetest.Read(t, func(at func(ast.Node) token.Position, _ string, n ast.Node) {
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
		if !unlocked[sourcetest.File(at(call))] {
			t.Errorf("%s patches a status without a lock: client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})", at(call))
		}
	}, "..")
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
