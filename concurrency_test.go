package kerf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// unguarded are the packages that may start goroutines by themselves: the one that guards them, and what no controller
// process is made of: simulated parts, tests' worlds, and commands that a person runs and whose crash that person sees.
var unguarded = []string{
	"internal/guard", "internal/sim/awssim", "internal/sim/kubesim", "internal/sim/simcluster", "internal/sim/endurance", "internal/sim/memnet", "internal/local", "internal/demo", "internal/sim/coverage",
}

// TestWhatRunsBesideItsCallerIsGuarded: a panic in a goroutine that nobody guards ends the process, and all that it manages
// with it. So goroutines, timers' functions and groups are internal/guard's.
func TestWhatRunsBesideItsCallerIsGuarded(t *testing.T) {
	for _, s := range readSources(t) {
		if slices.ContainsFunc(unguarded, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") }) {
			continue
		}
		for _, what := range startsUnguarded(s.file) {
			t.Errorf("%s: %s; use internal/guard, which makes a panic an error of that one thing", s.path, what)
		}
	}
}

// startsUnguarded lists what in a file runs beside its caller without a guard.
func startsUnguarded(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			found = append(found, "starts a goroutine")
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && x.Sel.Name == "AfterFunc" && (id.Name == "time" || id.Name == "context") {
				found = append(found, "uses "+id.Name+".AfterFunc")
			}
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "errgroup" {
				found = append(found, "uses errgroup."+x.Sel.Name)
			}
		case *ast.CallExpr:
			// guard.Go and a guard.Group's Go take where first; those of a WaitGroup and of others take the function alone.
			if sel, ok := x.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Go" || sel.Sel.Name == "TryGo") && len(x.Args) == 1 {
				found = append(found, "calls Go of something that is no guard.Group")
			}
		}
		return true
	})
	return found
}

func TestTheGuardLintSeesEachWay(t *testing.T) {
	for code, want := range map[string]bool{
		`go f()`:                             true,
		`time.AfterFunc(1, f)`:               true,
		`later := time.AfterFunc; _ = later`: true,
		`context.AfterFunc(ctx, f)`:          true,
		`var wg sync.WaitGroup; wg.Go(f)`:    true,
		`var g errgroup.Group; g.Wait()`:     true,
		`g.TryGo(f)`:                         true,
		`guard.Go("here", f)`:                false,
		`g.Go("here", f)`:                    false,
		`guard.AfterFunc(1, "here", f)`:      false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() { "+code+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if got := len(startsUnguarded(f)) > 0; got != want {
			t.Errorf("%s: seen %v, want %v", code, got, want)
		}
	}
}
