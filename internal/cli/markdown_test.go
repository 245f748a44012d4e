package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdown reads pages by name.
func markdown(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range patterns {
		names, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(b)
		}
	}
	return out
}

var (
	fenced   = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")
	indented = regexp.MustCompile(`(?m)^(?:    .*\n)+`)
	inline   = regexp.MustCompile("`(kerf [^`]+)`")
)

// codeBlocks are the parts of a page that are code, each as lines of a shell.
func codeBlocks(text string) []string {
	var out []string
	for _, re := range []*regexp.Regexp{fenced, indented, inline} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			block := m[len(m)-1]
			switch re {
			case indented:
				block = strings.ReplaceAll("\n"+block, "\n    ", "\n")
			case inline: // may be broken over lines
				block = strings.ReplaceAll(block, "\n", " ")
			}
			out = append(out, block)
		}
	}
	return out
}
