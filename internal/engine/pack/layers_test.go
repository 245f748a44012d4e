package pack_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers are the files of the package, the lowest first. A file may refer to what its own layer and lower ones declare, so that
// each stage can be read with nothing above it in mind. New files are put in here.
var layers = []struct {
	name  string
	files string
}{
	{"model: the problem as the stages read it, and the nodes to launch", `problem class labelindex rank attach daemon ports taint preference
		node nodebase kinds running pool shape addresses reserve deferredlimits minvalues reach worth topology topology_count topology_domains topology_filter
		topology_floor topology_host podgroup newnode bids spare journal memory again solver`},
	{"compile: domains that pods may go to, and items of pods", "domains pins split compile"},
	{"place: items onto nodes and onto nodes to launch", "place crowd fill launch merge sequential sequential_order lastresort"},
	{"improve: the same pods on cheaper nodes", "improve improve_item improve_model improve_bins improve_draft improve_round improve_search"},
	{"plan: what came of it, and the reasons of what did not", "outcome reasons reasons_capacity reasons_daemon addresses_reason addresses_left"},
	{"variants: the same problem with other preferences, hints and zones", `preference_choose preference_price preference_relax domainhint addresses_settle`},
	{"pipeline: from a problem to its plan", "pack priceguard bare"},
	{"what if: questions about nodes that go", `whatif whatif_compile whatif_again whatif_deal whatif_floor whatif_fork whatif_follow whatif_land whatif_level whatif_memory whatif_pins whatif_place
		whatif_preferences whatif_try`},
}

// upward are the references against the layers that are meant, by file and what it refers to.
var upward = map[string]string{
	"solver crowd": "the solver holds the state of every stage, and this is that of filling",
}

func TestFilesReferToTheirLayerAndLowerOnes(t *testing.T) {
	layerOf := map[string]int{}
	for i, l := range layers {
		for _, f := range strings.Fields(l.files) {
			layerOf[f] = i
		}
	}
	set, files := token.NewFileSet(), []*ast.File{}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		if _, ok := layerOf[strings.TrimSuffix(path, ".go")]; !ok {
			t.Errorf("%s is in no layer: put it into one in layers_test.go", path)
		}
	}
	for name := range layerOf {
		if _, err := os.Stat(name + ".go"); err != nil {
			t.Errorf("layers_test.go lists %s.go, which is not there", name)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(set, "source", nil)}).Check("github.com/kerf-sh/kerf/internal/engine/pack", set, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(at token.Pos) string { return strings.TrimSuffix(filepath.Base(set.Position(at).Filename), ".go") }
	found, used := map[string]bool{}, map[string]bool{}
	for id, to := range info.Uses {
		if to.Pkg() != pkg || !declaredByFile(pkg, to) {
			continue
		}
		from, in := fileOf(id.Pos()), fileOf(to.Pos())
		if layerOf[in] <= layerOf[from] {
			continue
		}
		if name := from + " " + to.Name(); upward[name] != "" {
			used[name] = true
		} else {
			found[fmt.Sprintf("%s.go (%s) refers to %s of %s.go (%s)", from, layers[layerOf[from]].name, to.Name(), in, layers[layerOf[in]].name)] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(found)) {
		t.Error(text)
	}
	for name := range upward {
		if !used[name] {
			t.Errorf("upward lists %q, which nothing needs any more", name)
		}
	}
}

// declaredByFile reports whether the object is a declaration of the package, a method or a field, and not local to a function.
func declaredByFile(pkg *types.Package, o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField() || o.Parent() == pkg.Scope()
	case *types.Func:
		return true
	}
	return o.Parent() == pkg.Scope()
}
