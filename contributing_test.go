package kerf_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var snippet = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestTheFirstChangeWorks makes the change that CONTRIBUTING.md leads through, on copies that the go command lays over the
// files, and runs the tests that the page names.
func TestTheFirstChangeWorks(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var snippets []string
	for _, m := range snippet.FindAllStringSubmatch(string(page), -1) {
		snippets = append(snippets, m[1])
	}
	if len(snippets) != 4 {
		t.Fatalf("the page has %d pieces of code, and this test knows four", len(snippets))
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := t.TempDir()
	// change puts text behind the line that has a part, or in place of the part.
	change := func(file string, changes ...func(string) string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		after := string(text)
		for _, c := range changes {
			before := after
			if after = c(before); after == before {
				t.Errorf("%s: a step of CONTRIBUTING.md finds nothing to change", file)
			}
		}
		real, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[real] = copied
	}
	behind := func(line, text string) func(string) string {
		at := regexp.MustCompile(`(?m)^.*` + line + `.*$`)
		return func(s string) string {
			loc := at.FindStringIndex(s)
			if loc == nil {
				return s
			}
			return s[:loc[1]] + "\n" + text + s[loc[1]:]
		}
	}
	replace := func(old, with string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, with, 1) }
	}
	change("internal/settings/settings_test.go", replace("	want := Settings{\n", "	want := Settings{\n"+snippets[0]))
	change("internal/settings/settings.go", behind(`^\s+InitializationTimeout `, snippets[1]), behind(`flag: "kerf-initialization-timeout"`, snippets[2]))
	change("internal/controller/garbagecollection/garbage.go", behind(`^\s+Clock `, snippets[3]),
		func(s string) string {
			at := strings.Index(s, ") instances(")
			if at < 0 {
				return s
			}
			return s[:at] + regexp.MustCompile(`\bgrace\b`).ReplaceAllString(s[at:], "cmp.Or(c.Grace, grace)")
		}, replace("import (\n", "import (\n	\"cmp\"\n"))
	change("internal/app/loops.go", replace("garbagecollection.Collector{", "garbagecollection.Collector{Grace: d.OrphanGrace, "))
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay", file, "./internal/settings", "./internal/controller/garbagecollection", "./internal/app").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheGuideToAnOperationWorks adds the operation that docs/simulated-aws.md leads through, on copies that the go command lays
// over the files, and runs the tests that the page names.
func TestTheGuideToAnOperationWorks(t *testing.T) {
	page, err := os.ReadFile("docs/simulated-aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, m := range snippet.FindAllStringSubmatch(string(page), -1) {
		code = append(code, regexp.MustCompile(`(?m)^   `).ReplaceAllString(m[1], ""))
	}
	if len(code) != 3 {
		t.Fatalf("the page has %d pieces of code, and this test knows three", len(code))
	}
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(file, text string) {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		abs, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replace[abs] = copied
	}
	change := func(file, behind, with string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), behind) {
			t.Fatalf("%s has no %q, behind which the page has something put", file, behind)
		}
		put(file, strings.Replace(string(text), behind, behind+with, 1))
	}
	put("internal/sim/awssim/ec2/creditspecifications_test.go", code[0])
	put("internal/sim/awssim/ec2/creditspecifications.go", code[1])
	change("internal/sim/awssim/ec2/ec2.go", "	reads := map[string]wire.Handler{\n", code[2])
	change("internal/sim/awssim/authz/ec2.go", `each(out, "ec2", anywhere,`, ` "DescribeInstanceCreditSpecifications",`)
	text, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range [][]string{
		{"./internal/sim/awssim/ec2", "-run=CreditSpecifications"}, {"./internal/sim/awssim/world", "-run=TestEachService"},
		{"./internal/sim/awssim/authz", "-run=TestEveryOperationIsInTheTable"}, {"./internal/sim/awssim", "-run=Operation|Unknown|AtAWS"},
	} {
		if out, err := exec.CommandContext(t.Context(), "go", append([]string{"test", "-overlay", file}, run...)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", run, err, out)
		}
	}
}
