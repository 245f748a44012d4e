package kerf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStoriesOfTheMakefileAreThere fails when "make test" names an end-to-end story that is not there: a pattern that
// matches nothing passes.
func TestStoriesOfTheMakefileAreThere(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^STORIES := ((?:.*\\\n)*.*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("Makefile has no line STORIES := …")
	}
	stories, parts := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("controlplane/e2e/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in controlplane/e2e: %v", err)
	}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				stories[fn.Name.Name] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				name, _ := strconv.Unquote(lit.Value)
				parts[strings.ReplaceAll(name, " ", "_")] = true // as go test calls a part
			}
			return true
		})
	}
	for _, story := range strings.Fields(strings.ReplaceAll(string(found[1]), "\\", " ")) {
		name, rest, _ := strings.Cut(story, "/")
		if !stories[name] {
			t.Errorf("make test plays %s, which is not in controlplane/e2e", name)
		}
		for _, part := range regexp.MustCompile(`\w+`).FindAllString(rest, -1) {
			if !parts[part] {
				t.Errorf("make test plays %s of %s, which is not in controlplane/e2e", part, name)
			}
		}
	}
}

// TestModulesAgreeOnVersions fails when another module of this repository is built from other versions than Kerf: what both
// use, client-go and the API types above all, would be compiled twice, minutes of a newcomer's first build.
func TestModulesAgreeOnVersions(t *testing.T) {
	ours := versions(t, "go.mod", required)
	direct := versions(t, "go.mod", requiredDirectly)
	for _, other := range []string{"controlplane/go.mod", "controlplane/cmd/kerf-controlplane/go.mod", "bench/go.mod", "monitoring/go.mod"} {
		for path, version := range versions(t, other, required) {
			want := ours[path]
			if other == "monitoring/go.mod" {
				want = direct[path] // Prometheus takes newer ones of the rest
			}
			if want != "" && version != want {
				t.Errorf("%s has %s %s, go.mod has %s: go get %s@%s in the one that is behind, then go mod tidy", other, path, version, want, path, max(version, want))
			}
		}
	}
}

// required is one line of a go.mod file's require blocks, requiredDirectly one of what packages of the module import.
var (
	required         = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)`)
	requiredDirectly = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)$`)
)

// versions are those of a go.mod file, by module.
func versions(t *testing.T, file string, required *regexp.Regexp) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range required.FindAllSubmatch(text, -1) {
		out[string(m[1])] = string(m[2])
	}
	if len(out) == 0 {
		t.Fatalf("%s requires nothing", file)
	}
	return out
}
