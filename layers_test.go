package kerf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kerf-sh/kerf/"

// wings are the parts of the tree, the lowest first. A package may import what lies in lower wings, and in its own wing what
// the compiler lets it; in the engine, only what order and neighbours let it. docs/architecture.md says what each wing is for.
var wings = []struct {
	name     string
	packages []string // each stands for those below it too
}{
	{"base", []string{"internal/guard", "internal/version", "internal/settings", "internal/trace", "internal/report"}},
	{"engine", []string{"internal/engine"}},
	{"awsmodel", []string{"internal/awsmodel"}},
	{"state", []string{"internal/state"}},
	{"aws", []string{"internal/aws"}},
	{"controller", []string{"internal/controller"}},
	{"setup", []string{"internal/setup", "charts"}},
	{"app", []string{"internal/app"}},
	{"sim", []string{"internal/sim"}},
	{"commands", []string{"internal/audit", "internal/simulate", "internal/web", "internal/top", "internal/status", "internal/local", "internal/demo", "internal/cli", "internal/docgen", "cmd"}},
}

// order is the order of the engine's packages: each may import those of the lines above, and of its own line those that
// neighbours names.
var order = [][]string{
	{"res", "requirement", "lp"},
	{"catalog", "cluster", "plan", "cuttingstock", "budget"},
	{"pack", "disrupt", "disrupt/confirmation", "bound", "conflict", "verify"},
	{"record", "floor"},
	{"explain"},
}

// neighbours are the imports within a line that are meant.
var neighbours = map[string][]string{
	"cluster":              {"catalog"},
	"plan":                 {"catalog", "cluster"},
	"budget":               {"cluster"},
	"verify":               {"pack", "disrupt"},
	"disrupt":              {"pack"},
	"disrupt/confirmation": {"disrupt"},
	"bound":                {"pack"},
	"conflict":             {"pack"},
}

const engine = "internal/engine/"

// pureStandard is what the engine may import of the standard library: only what can't reach the world outside.
var pureStandard = []string{
	"bytes", "cmp", "compress/gzip", "container/heap", "crypto/sha256", "embed", "encoding/base64", "encoding/binary", "encoding/csv",
	"context", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "io", "iter", "maps", "math", "math/big", "math/bits",
	"math/rand/v2", "reflect", "regexp", "runtime/debug", "slices", "sort", "strconv", "strings", "sync", "text/tabwriter", "time", "unicode", "unicode/utf8", "bufio",
}

var pureOthers = []string{"github.com/bits-and-blooms/bitset"}

// impureCalls read a clock or wait for one.
var impureCalls = []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.Tick", "time.NewTimer", "time.NewTicker"}

type source struct {
	dir  string // relative to the root, with slashes
	path string
	file *ast.File
}

func readSources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(p) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{dir: filepath.ToSlash(filepath.Dir(p)), path: filepath.ToSlash(p), file: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("found no Go files")
	}
	return out
}

// skipDir leaves out hidden folders, test data and modules of their own.
func skipDir(p string) bool {
	base := filepath.Base(p)
	if p != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "bin") {
		return true
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return p != "." && err == nil
}

// wingOf is the wing of a package folder; api packages are wing -1, importable by all but the engine.
func wingOf(dir string) (int, bool) {
	if within(dir, "api") {
		return -1, true
	}
	for i, w := range wings {
		if slices.ContainsFunc(w.packages, func(p string) bool { return within(dir, p) }) {
			return i, true
		}
	}
	return 0, false
}

// within reports whether a folder is another or lies below it.
func within(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

// line is the line of a package of the engine in order.
func line(dir string) (int, bool) {
	for i, names := range order {
		if slices.Contains(names, strings.TrimPrefix(dir, engine)) {
			return i, true
		}
	}
	return 0, false
}

func imports(f *ast.File) []string {
	var out []string
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		out = append(out, p)
	}
	return out
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range readSources(t) {
		if s.dir == "." {
			continue
		}
		wing, ok := wingOf(s.dir)
		if !ok {
			t.Errorf("%s is in no wing; internal/ has wings, and layers_test.go lists them", s.path)
			continue
		}
		for _, p := range imports(s.file) {
			own, inModule := strings.CutPrefix(p, module)
			if inModule {
				checkOwnImport(t, s, wing, own)
			} else {
				checkForeignImport(t, s, wing, p)
			}
		}
	}
}

func checkOwnImport(t *testing.T, s source, wing int, own string) {
	t.Helper()
	target, ok := wingOf(own)
	inEngine := strings.HasPrefix(s.dir, engine)
	switch {
	case !ok:
		t.Errorf("%s imports %s, which is in no wing", s.path, own)
	case wing < 0 && target >= 0:
		t.Errorf("%s: API packages import no other package of the module, found %s", s.path, own)
	case inEngine && target < 0:
		t.Errorf("%s: the engine knows nothing of the API, found %s", s.path, own)
	case target > wing:
		t.Errorf("%s is in the wing %s and imports %s of %s, which lies above", s.path, wings[wing].name, own, wings[target].name)
	case inEngine && own != "internal/guard" && !strings.HasPrefix(own, engine):
		t.Errorf("%s: the engine imports nothing from outside, found %s", s.path, own)
	case inEngine && strings.HasPrefix(own, engine):
		checkOrder(t, s, own)
	case between(s.dir, own, "internal/aws", "internal/sim/awssim"):
		t.Errorf("%s imports %s: the adapter and the simulator meet on the wire only", s.path, own)
	}
}

func checkOrder(t *testing.T, s source, own string) {
	t.Helper()
	from, ok := line(s.dir)
	if !ok {
		t.Errorf("%s is not in the order of the engine; list its package in layers_test.go", s.path)
		return
	}
	to, _ := line(own)
	switch name := strings.TrimPrefix(s.dir, engine); {
	case to > from:
		t.Errorf("%s imports %s, which lies above", s.path, own)
	case to == from && own != s.dir && !slices.Contains(neighbours[name], strings.TrimPrefix(own, engine)):
		t.Errorf("%s imports its neighbour %s, which layers_test.go does not list", s.path, own)
	}
}

func between(a, b, x, y string) bool {
	return within(a, x) && within(b, y) || within(a, y) && within(b, x)
}

func checkForeignImport(t *testing.T, s source, wing int, p string) {
	t.Helper()
	standard := !strings.Contains(strings.SplitN(p, "/", 2)[0], ".")
	inEngine := strings.HasPrefix(s.dir, engine)
	switch {
	case inEngine && standard && !slices.Contains(pureStandard, p):
		t.Errorf("%s: the engine must not import %s", s.path, p)
	case inEngine && !standard && !slices.Contains(pureOthers, p):
		t.Errorf("%s: the engine must not import %s", s.path, p)
	case strings.HasPrefix(p, "github.com/aws/") && !within(s.dir, "internal/aws"):
		t.Errorf("%s: the AWS SDK belongs to internal/aws, found %s", s.path, p)
	case strings.HasPrefix(p, "sigs.k8s.io/karpenter"):
		t.Errorf("%s imports the upstream project", s.path)
	case within(s.dir, "api/crds"):
		// The CRD files are read, written and checked there.
	case wing < 0 && !standard && !strings.HasPrefix(p, "k8s.io/apimachinery") && p != "k8s.io/api/core/v1":
		t.Errorf("%s: API packages import apimachinery only, found %s", s.path, p)
	}
}

func TestTheEngineReadsNoClock(t *testing.T) {
	for _, s := range readSources(t) {
		if !strings.HasPrefix(s.dir, engine) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(impureCalls, x.Name+"."+sel.Sel.Name) {
				t.Errorf("%s uses %s.%s; time is a field of the input", s.path, x.Name, sel.Sel.Name)
			}
			return true
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && g != nil {
				t.Errorf("%s starts a goroutine", s.path)
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	docs := map[string]int{}
	for _, s := range readSources(t) {
		if _, ok := docs[s.dir]; !ok {
			docs[s.dir] = 0
		}
		if s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			docs[s.dir]++
		}
	}
	for dir, n := range docs {
		if n != 1 {
			t.Errorf("package %s has %d package comments, want one", dir, n)
		}
	}
}
