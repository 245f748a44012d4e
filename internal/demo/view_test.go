package demo

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesAreBrokenBetweenWords(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"a short one stays":                      {"it is ready", []string{"it is ready"}},
		"a long one is indented below its start": {strings.Repeat("word ", 20), []string{strings.TrimSpace(strings.Repeat("word ", 18)), strings.Repeat(" ", 13) + "word word"}},
		"its own indentation is kept":            {"  " + strings.Repeat("word ", 18), []string{"  " + strings.TrimSpace(strings.Repeat("word ", 17)), strings.Repeat(" ", 15) + "word"}},
		"a word that is too long stands alone":   {"see " + strings.Repeat("x", 120), []string{"see", strings.Repeat(" ", 13) + strings.Repeat("x", 120)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(wrap(tt.text, 11), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			for i, line := range got {
				if i == 0 {
					line = strings.Repeat(" ", 11) + line
				}
				if len(line) > columns && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d columns: %q", len(line), line)
				}
			}
		})
	}
	var out bytes.Buffer
	newView(&out, false).line("%s", strings.Repeat("word ", 20))
	if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || len(lines[0]) > columns {
		t.Errorf("%q", out.String())
	}
}

func TestTheBarOfNothingIsEmpty(t *testing.T) {
	for _, tc := range []struct {
		done, of int
		want     string
	}{{0, 0, "[............................] 0/0"}, {1, 2, "[##############..............] 1/2"}, {2, 2, "[############################] 2/2"}} {
		var out strings.Builder
		newView(&out, true).bar(tc.done, tc.of, "pods")
		if !strings.Contains(out.String(), tc.want) {
			t.Errorf("%d of %d: %q, want %q", tc.done, tc.of, out.String(), tc.want)
		}
	}
}
