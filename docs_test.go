package kerf_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
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

var namedLink = regexp.MustCompile("\\[`([A-Za-z]+)`\\]\\(([^()\\s]+\\.go)\\)")

// TestFunctionsThatPagesName fails where a page links a name to a file that declares nothing of that name.
func TestFunctionsThatPagesName(t *testing.T) {
	found := 0
	for _, page := range []string{"docs/architecture.md", "docs/simulated-aws.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedLink.FindAllStringSubmatch(string(text), -1) {
			found++
			file := path.Join(path.Dir(page), m[2])
			source, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if !regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )` + m[1] + `\b`).Match(source) {
				t.Errorf("%s says that %s is in %s, where it is not", page, m[1], file)
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d names only", found)
	}
}

// TestEveryPackageIsOnThePage holds architecture.md against the folders of the wings.
func TestEveryPackageIsOnThePage(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, ok := strings.Cut(string(text), "## The way of a pod")
	if !ok {
		t.Fatal("docs/architecture.md has no such heading")
	}
	_, table, _ = strings.Cut(table, "## Wings")
	for _, w := range wings {
		for _, dir := range w.packages {
			names := []string{path.Base(dir)}
			if w.name == path.Base(dir) && w.name != "app" {
				names = packagesIn(t, dir)
			}
			for _, name := range names {
				if !strings.Contains(table, fmt.Sprintf("`%s`", name)) && !strings.Contains(table, fmt.Sprintf("`%s/`", name)) {
					t.Errorf("docs/architecture.md does not name %s/%s", dir, name)
				}
			}
		}
	}
}

// packagesIn are the folders of a wing.
func packagesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" {
			names = append(names, e.Name())
		}
	}
	return names
}
