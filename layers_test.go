package kerf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kerf-sh/kerf/"

// layers lists every package by layer. A package may import packages of lower layers, and of its own layer those that
// neighbours names. A pattern that ends in /* stands for all packages below.
var layers = [][]string{
	{"internal/res", "internal/requirement", "internal/partition", "internal/guard"},
	{"internal/ec2facts", "internal/ec2facts/gen", "internal/catalog", "internal/cluster", "internal/plan"},
	{"internal/pack", "internal/disrupt", "internal/disrupt/ripening", "internal/bound", "internal/verify", "internal/scenario"},
	{"internal/cloud", "internal/cloud/*", "internal/cache", "internal/cache/*", "internal/intake", "internal/record", "internal/version", "internal/settings",
		"internal/iampolicy", "internal/pricefile", "internal/awssetup", "internal/cfn", "internal/eventpattern", "internal/readonly", "internal/memnet"},
	{"internal/apply", "internal/aws", "internal/aws/*", "internal/awssim", "internal/awssim/*", "internal/kubesim", "internal/kubesim/*", "internal/obs", "internal/obs/*"},
	{"internal/controller", "internal/controller/*", "internal/stack", "internal/stack/*", "internal/doctor", "internal/convert",
		"internal/explain", "internal/foresee", "internal/migrate", "internal/shadow", "internal/web", "internal/local", "internal/local/*", "internal/demo", "internal/demo/*", "internal/rbac", "internal/rbac/*", "charts", "internal/manifests"},
	{"internal/app", "internal/app/*", "internal/house", "internal/house/*", "internal/cli", "internal/cli/*", "cmd/*", "internal/e2e", "internal/e2e/*", "internal/endurance", "internal/endurance/*", "internal/docgen"},
}

// neighbours are the imports within a layer that are meant.
var neighbours = map[string][]string{
	"internal/catalog":          {},
	"internal/ec2facts/gen":     {"internal/ec2facts"},
	"internal/cluster":          {"internal/catalog"},
	"internal/plan":             {"internal/catalog", "internal/cluster"},
	"internal/verify":           {"internal/pack", "internal/disrupt"},
	"internal/disrupt":          {"internal/pack"},
	"internal/disrupt/ripening": {"internal/disrupt"},
	"internal/bound":            {"internal/pack"},
	"internal/stack/check":      {"internal/stack"},
	"internal/manifests":        {"internal/rbac", "charts"},
	"internal/local":            {"internal/local/kube", "internal/local/kubelet", "internal/manifests"},
	"internal/scenario":         {"internal/pack", "internal/verify", "internal/disrupt", "internal/bound"},
}

// Packages of layers below pure import of the standard library only what can't reach the world outside.
const pure = 3

var pureStandard = []string{
	"bytes", "cmp", "compress/gzip", "container/heap", "crypto/sha256", "embed", "encoding/base64", "encoding/binary", "encoding/csv",
	"context", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "io", "iter", "maps", "math", "math/big", "math/bits",
	"math/rand/v2", "runtime/debug", "slices", "sort", "strconv", "strings", "sync", "text/tabwriter", "time", "unicode", "unicode/utf8", "bufio",
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

// layerOf is the layer of a package folder; api packages are layer -1, importable by layers that are not pure.
func layerOf(dir string) (int, bool) {
	if strings.HasPrefix(dir, "api/") {
		return -1, true
	}
	for i, patterns := range layers {
		for _, p := range patterns {
			if p == dir || (strings.HasSuffix(p, "/*") && strings.HasPrefix(dir, strings.TrimSuffix(p, "*"))) {
				return i, true
			}
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
		layer, ok := layerOf(s.dir)
		if !ok {
			t.Errorf("%s is in no layer; list its package in layers_test.go", s.path)
			continue
		}
		for _, p := range imports(s.file) {
			own, inModule := strings.CutPrefix(p, module)
			if inModule {
				checkOwnImport(t, s, layer, own)
			} else {
				checkForeignImport(t, s, layer, p)
			}
		}
	}
}

func checkOwnImport(t *testing.T, s source, layer int, own string) {
	t.Helper()
	target, ok := layerOf(own)
	switch {
	case !ok:
		t.Errorf("%s imports %s, which is in no layer", s.path, own)
	case layer < 0 && target >= 0:
		t.Errorf("%s: API packages import no other package of the module, found %s", s.path, own)
	case target < 0 && layer >= 0 && layer < pure:
		t.Errorf("%s: the core knows nothing of the API, found %s", s.path, own)
	case target > layer:
		t.Errorf("%s is in layer %d and imports %s of layer %d", s.path, layer, own, target)
	case target == layer && layer >= 0 && layer < pure && own != s.dir && !slices.Contains(neighbours[s.dir], own):
		t.Errorf("%s imports its neighbour %s, which layers_test.go does not list", s.path, own)
	case between(s.dir, own, "internal/aws", "internal/awssim"):
		t.Errorf("%s imports %s: the adapter and the simulator meet on the wire only", s.path, own)
	}
}

func between(a, b, x, y string) bool {
	in := func(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
	return in(a, x) && in(b, y) || in(a, y) && in(b, x)
}

func checkForeignImport(t *testing.T, s source, layer int, p string) {
	t.Helper()
	standard := !strings.Contains(strings.SplitN(p, "/", 2)[0], ".")
	generator := path.Base(s.dir) == "gen"
	switch {
	case layer >= 0 && layer < pure && !generator && standard && !slices.Contains(pureStandard, p):
		t.Errorf("%s: the core must not import %s", s.path, p)
	case layer >= 0 && layer < pure && !generator && !standard && !slices.Contains(pureOthers, p):
		t.Errorf("%s: the core must not import %s", s.path, p)
	case strings.HasPrefix(p, "github.com/aws/") && !strings.HasPrefix(s.dir, "internal/aws/") && s.dir != "internal/aws":
		t.Errorf("%s: the AWS SDK belongs to internal/aws, found %s", s.path, p)
	case strings.HasPrefix(p, "sigs.k8s.io/karpenter"):
		t.Errorf("%s imports the upstream project", s.path)
	case strings.HasPrefix(s.dir, "api/crds"):
		// The CRD files are read, written and checked there.
	case layer < 0 && !standard && !strings.HasPrefix(p, "k8s.io/apimachinery") && p != "k8s.io/api/core/v1":
		t.Errorf("%s: API packages import apimachinery only, found %s", s.path, p)
	}
}

func TestTheCoreReadsNoClock(t *testing.T) {
	for _, s := range readSources(t) {
		layer, ok := layerOf(s.dir)
		if !ok || layer < 0 || layer >= pure || path.Base(s.dir) == "gen" {
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
			if g, ok := n.(*ast.GoStmt); ok && g != nil && s.dir != "internal/guard" {
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
