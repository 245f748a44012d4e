package terminate

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/sourcetest"
)

// TestNothingElseEndsInstances reads the code of the loops: the cloud is asked to end an instance in one place.
func TestNothingElseEndsInstances(t *testing.T) {
	asks := 0
	sourcetest.Read(t, func(at func(ast.Node) token.Position, _ string, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Terminate" {
			return
		}
		if file := sourcetest.File(at(call)); strings.HasPrefix(file, "cloudcalls/") || file == "../app/gate.go" {
			return // one measures what others ask, the other one has it wait
		}
		asks++
		if sourcetest.File(at(call)) != "terminate/instance.go" {
			t.Errorf("%s ends an instance itself: call Terminator.End", at(call))
		}
	}, "..", "../../app")
	if asks != 1 {
		t.Errorf("%d places ask the cloud to end an instance, want the one of Terminator.End", asks)
	}
}
