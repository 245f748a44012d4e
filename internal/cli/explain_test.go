package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A name that says something else than the flag, or that no pod has, is wrong usage; no controller is asked.
func TestExplainTakesNoPodForAnother(t *testing.T) {
	for want, args := range map[string][]string{
		"--namespace says b": {"a/x", "-n", "b"},
		`"a/b/c" is no pod`:  {"a/b/c"},
		`"/x" is no pod`:     {"/x"},
		`"a/" is no pod`:     {"a/"},
	} {
		var out, errs bytes.Buffer
		if code := Main(append([]string{"explain", "pod", "-f", "/nonexistent"}, args...), &out, &errs); code != wrongUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit code %d: %s", args, code, errs.String())
		}
	}
}
