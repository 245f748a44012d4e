package backoff

import (
	"go/ast"
	"go/token"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/controller/sourcetest"
)

func TestPausesGrowToAMinute(t *testing.T) {
	l, one := Usual(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "a"}}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := l.When(one); got != want*time.Second {
			t.Errorf("the pause is %s, want %ds", got, want)
		}
	}
}

// A controller without a limiter gets that of controller-runtime, by which an object is tried again after up to 1000 seconds.
func TestEachControllerHasALimiterOfThisPackage(t *testing.T) {
	limited, made := map[string]bool{}, map[string]token.Position{}
	sourcetest.Read(t, func(at func(ast.Node) token.Position, pkg string, n ast.Node) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			switch {
			case n.Sel.Name == "NewControllerManagedBy":
				made[sourcetest.File(at(n))] = at(n)
			case n.Sel.Name == "NewTypedItemExponentialFailureRateLimiter" && pkg != "backoff":
				t.Errorf("%s: a limiter of its own; want one of package backoff", at(n))
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "RateLimiter" && fromHere(n.Value) {
				limited[sourcetest.File(at(n))] = true
			}
		}
	}, "..")
	if len(made) < 5 {
		t.Errorf("%d controllers are found", len(made))
	}
	for file, at := range made {
		if !limited[file] {
			t.Errorf("%s: a controller without a RateLimiter of package backoff", at)
		}
	}
}

func fromHere(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == "backoff"
}
