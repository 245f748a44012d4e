package kerf_test

import (
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	fencedCode      = regexp.MustCompile("(?ms)^```.*?^```")
	inlineCode      = regexp.MustCompile("`[^`\n]*`")
	notInAnchors    = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// TestLinksOfPages fails where a link of a page leads to no file, or to no heading of one. Anchors are made of headings as
// GitHub makes them.
func TestLinksOfPages(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = fencedCode.ReplaceAllString(string(text), "")
	}
	if len(pages) < 20 {
		t.Fatalf("found %d pages only", len(pages))
	}
	reached := map[string]bool{}
	for name, text := range pages {
		for _, m := range markdownLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.IsAbs() || u.Host != "" {
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: no such file", name, m[1])
				continue
			}
			reached[target] = true
			if page, isPage := pages[target]; isPage && u.Fragment != "" && !hasAnchor(page, u.Fragment) {
				t.Errorf("%s links to %s: no heading of %s has that anchor", name, m[1], target)
			}
		}
	}
	for name := range pages {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			t.Errorf("no page links to %s: name it in docs/README.md", name)
		}
	}
}

func hasAnchor(page, anchor string) bool {
	for _, m := range markdownHeading.FindAllStringSubmatch(page, -1) {
		heading := markdownLink.ReplaceAllString(m[1], "]")
		if strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestArchitectureNamesEveryPackage fails where docs/architecture.md does not link to a package's folder exactly once, for
// every package that lies in internal/ or directly in a wing of it. Links to files of a package don't count.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]int{}
	for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
		links[path.Join("docs", m[1])]++
	}
	packages := packagesOf(t, "internal/*", "internal/*/*")
	if len(packages) < 80 {
		t.Fatalf("found %d packages only", len(packages))
	}
	for _, dir := range packages {
		if links[dir] != 1 {
			t.Errorf("docs/architecture.md links to %s %d times, want once: its table of wings names each package", dir, links[dir])
		}
	}
}

// packagesOf are the folders that match, and hold Go files or folders with Go files.
func packagesOf(t *testing.T, patterns ...string) []string {
	t.Helper()
	var out []string
	for _, pattern := range patterns {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			for _, files := range []string{"*.go", "*/*.go"} {
				if found, _ := filepath.Glob(filepath.Join(dir, files)); len(found) > 0 && filepath.Base(dir) != "testdata" {
					out = append(out, filepath.ToSlash(dir))
					break
				}
			}
		}
	}
	return out
}

var namedLink = regexp.MustCompile("\\[`([A-Za-z.]+)`\\]\\(([^()\\s]+\\.go)\\)")

// TestFunctionsThatPagesName fails where a page links a name to a Go file that declares nothing of that name.
func TestFunctionsThatPagesName(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range namedLink.FindAllStringSubmatch(string(text), -1) {
		parts := strings.Split(m[1], ".")
		name, receiver := parts[len(parts)-1], `[^)]*`
		// What begins with a capital before the name is the type of a method; a package is not.
		if before := parts[max(0, len(parts)-2)]; len(parts) > 1 && before != strings.ToLower(before[:1])+before[1:] {
			receiver = `\w+ \*?` + before
		}
		if name == "go" {
			continue // the name of the file
		}
		found++
		file := path.Join("docs", m[2])
		source, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("docs/architecture.md: %v", err)
			continue
		}
		if !regexp.MustCompile(`(?m)^(?:func (?:\(` + receiver + `\) )?|type |package )` + name + `\b`).Match(source) {
			t.Errorf("docs/architecture.md says that %s is in %s, where it is not", m[1], file)
		}
	}
	if found < 20 {
		t.Errorf("found %d names only", found)
	}
}

var demoTitle = regexp.MustCompile(`(?m)^\d\. [A-Za-z ,]+`)

// TestTheReadmeShowsTheDemo fails where a step of the demo is not called as README.md has it.
func TestTheReadmeShowsTheDemo(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("internal/demo/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	titles := demoTitle.FindAllString(string(page), -1)
	if len(titles) != 7 {
		t.Errorf("README.md has %d steps of the demo", len(titles))
	}
	for _, title := range titles {
		// What follows a name is another in each run.
		if title = strings.TrimSuffix(strings.TrimSpace(title), " demo"); !strings.Contains(source.String(), title) {
			t.Errorf("README.md: the demo has no step %q", title)
		}
	}
}
