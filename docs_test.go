package kerf_test

import (
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
