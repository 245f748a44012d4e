package archive

import (
	"os"
	"regexp"
	"testing"
)

func TestLinksOfThePageLeadSomewhere(t *testing.T) {
	got := string(Readme([]byte("[a](docs/a.md#b) [c](CONTRIBUTING.md) [d](https://example.com/e) [f](#g)"), "1234"))
	const at = "https://github.com/kerf-sh/kerf/blob/1234/"
	if want := "[a](" + at + "docs/a.md#b) [c](" + at + "CONTRIBUTING.md) [d](https://example.com/e) [f](#g)"; got != want {
		t.Errorf("got %s", got)
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if left := regexp.MustCompile(`\]\([^h#][^)]*\)`).FindAllString(string(Readme(page, "1234")), -1); len(left) > 0 {
		t.Errorf("links that lead to files beside the page: %v", left)
	}
}
