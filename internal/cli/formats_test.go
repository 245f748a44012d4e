package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatih/color"
	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/doctor"
)

// everyLevel are findings of each level.
func everyLevel() *findings {
	return &findings{
		check: "kerf try", of: "cluster demo", file: "a b/stack.yaml", notes: []string{"a note"},
		rules: []rule{{"first", "the first holds", "the first"}, {"second", "the second holds", ""}, {"third", "the third holds", ""}},
		found: []finding{
			{rule: "first", level: levelError, object: "queue", line: 7, message: "it is <wrong>", evidence: []string{"for this"}, remedy: "do that"},
			{rule: "first", level: levelWarning, object: "rule", message: "it is doubtful"},
			{rule: "first", level: levelNote, object: "alarm", message: "it could be better"},
			{rule: "second", level: levelPassed, message: "it is well"},
			{rule: "second", level: levelSkipped, message: "it does not apply"},
			{rule: "second", level: levelUnknown, message: "it could not be judged"},
			{rule: "second", level: levelUnread, message: "it could not be read"},
		},
	}
}

func TestSARIFIsValid(t *testing.T) {
	text, err := everyLevel().sarif()
	if err != nil {
		t.Fatal(err)
	}
	report, err := sarif.FromBytes(text, sarif.WithStrictValidation()) // by the schema of SARIF 2.1.0, which the module has
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := report.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	type line struct{ Rule, Kind, Level, Text string }
	var got []line
	run := report.Runs[0]
	for _, r := range run.Results {
		got = append(got, line{*r.RuleID, r.Kind, r.Level, *r.Message.Text})
	}
	want := []line{
		{"first", "fail", "error", "it is <wrong>\n- for this\nfix: do that"}, {"first", "fail", "warning", "it is doubtful"}, {"first", "fail", "note", "it could be better"},
		{"second", "pass", "none", "it is well"}, {"second", "notApplicable", "none", "it does not apply"}, {"second", "open", "none", "it could not be judged"}, {"second", "open", "none", "it could not be read"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if len(run.Tool.Driver.Rules) != 3 {
		t.Errorf("rules: %s", text)
	}
	at := run.Results[0].Locations[0]
	if uri := *at.PhysicalLocation.ArtifactLocation.URI; uri != "a%20b/stack.yaml" || *at.PhysicalLocation.Region.StartLine != 7 {
		t.Errorf("the location is %q", uri)
	}
	if name := *at.LogicalLocations[0].FullyQualifiedName; name != "cluster demo/queue" {
		t.Errorf("the logical location is %q", name)
	}
}

func TestJUnitCounts(t *testing.T) {
	text, err := everyLevel().junit()
	if err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 8 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 2 || len(got.Suites) != 1 || len(got.Suites[0].Cases) != 8 {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped\n%s", got.Tests, got.Failures, got.Errors, got.Skipped, text)
	}
	c := got.Suites[0].Cases[0]
	if c.Class != "kerf try.first" || c.Name != "queue: it is <wrong>" || c.Failure == nil || !strings.Contains(c.Failure.Text, "fix: do that") {
		t.Errorf("%+v", c)
	}
	if last := got.Suites[0].Cases[7]; last.Class != "kerf try.third" || last.Failure != nil {
		t.Errorf("a rule that found nothing: %+v", last)
	}
}

// What a real check writes is valid too, and counts what failed.
func TestChecksWriteFindings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stack.yaml")
	text := "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: demo\n      KmsMasterKeyId: alias/aws/sqs\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(format string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Main([]string{"stack", "check", file, "--cluster-name", "demo", "-o", format}, &out, &errs); code != foundWrong {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		return out.Bytes()
	}
	report, err := sarif.FromBytes(run("sarif"), sarif.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Fatal(err)
	}
	line := 0
	for _, r := range report.Runs[0].Results {
		if *r.RuleID == "queue-encryption" && r.Level == "error" {
			line = *r.Locations[0].PhysicalLocation.Region.StartLine
		}
	}
	if line != 5 {
		t.Errorf("the queue's encryption is found in line %d, want 5, where its name is", line)
	}
	var suites junitSuites
	if err := xml.Unmarshal(run("junit"), &suites); err != nil || suites.Failures == 0 || suites.Failures >= suites.Tests {
		t.Errorf("%v: %d of %d failed", err, suites.Failures, suites.Tests)
	}
	// YAML has what JSON has.
	var fromJSON, fromYAML any
	asJSON, err := yaml.YAMLToJSON(run("yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(run("json"), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asJSON, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("-o json and -o yaml differ (-json +yaml):\n%s", diff)
	}
}

func TestDoctorsFindings(t *testing.T) {
	r := &doctor.Report{Cluster: "demo", Unseen: []string{"the cluster could not be examined"}, Results: []doctor.Result{
		{ID: "a", Title: "a holds", Status: doctor.Failed, Finding: "it does not", Remedy: "do that"}, {ID: "b", Title: "b holds", Status: doctor.OK, Finding: "it does"},
		{ID: "c", Title: "c holds", Status: doctor.Unknown, Finding: "not read"}, {ID: "d", Title: "d holds", Status: doctor.Skipped, Finding: "not here"},
		{ID: "e", Title: "e holds", Status: doctor.Warning, Finding: "hardly"},
	}}
	text, err := doctorFindings(r).junit()
	if err != nil {
		t.Fatal(err)
	}
	if want := `tests="6" failures="1" errors="1" skipped="2"`; !strings.Contains(string(text), want) {
		t.Errorf("no %s in\n%s", want, text)
	}
	text, err = doctorFindings(r).sarif()
	if err != nil {
		t.Fatal(err)
	}
	report, err := sarif.FromBytes(text, sarif.WithStrictValidation())
	if err == nil {
		err = report.Validate()
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestColor(t *testing.T) {
	isATerminal := true
	terminal = func(int) bool { return isATerminal }
	t.Cleanup(func() { terminal = terminalBefore })
	file, err := os.Create(filepath.Join(t.TempDir(), "tty"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, test := range []struct {
		name, flag    string
		noColor, term string
		terminal      bool
		want          bool
	}{
		{"a terminal", "auto", "", "xterm", true, true},
		{"a pipe", "auto", "", "xterm", false, false},
		{"NO_COLOR", "auto", "1", "xterm", true, false},
		{"a terminal that can't", "auto", "", "dumb", true, false},
		{"never", "never", "", "xterm", true, false},
		{"always, in a pipe", "always", "", "xterm", false, true},
		{"always beats NO_COLOR", "always", "1", "xterm", false, true},
	} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		isATerminal = test.terminal
		root := Root()
		if err := root.ParseFlags([]string{"--color", test.flag}); err != nil {
			t.Fatal(err)
		}
		if got := isColored(root, file); got != test.want {
			t.Errorf("%s: coloured %v, want %v", test.name, got, test.want)
		}
		if isColored(root, &bytes.Buffer{}) != (test.flag == "always") {
			t.Errorf("%s: a buffer is taken for a terminal", test.name)
		}
	}
	got := string(painted([]byte("FAILED 1\nOK 2\nno end"), []stroke{strokeOf(`^(FAILED) `, color.FgRed), strokeOf(`^OK.*`, color.FgGreen)}))
	if want := "\x1b[31mFAILED\x1b[0m 1\n\x1b[32mOK 2\x1b[0m\nno end"; got != want {
		t.Errorf("painted %q, want %q", got, want)
	}
	// Documents for programs have no colour, whatever is asked.
	var out bytes.Buffer
	if code := Main([]string{"version", "-o", "json", "--color", "always"}, &out, &out); code != 0 || bytes.Contains(out.Bytes(), []byte("\x1b")) {
		t.Errorf("exit code %d: %q", code, out.String())
	}
}

var terminalBefore = terminal

func TestVariablesStandForFlags(t *testing.T) {
	try := func(args ...string) (string, error) {
		var name string
		c := &cobra.Command{Use: "try"}
		clusterNameFlag(c, &name, "(required)")
		if err := c.ParseFlags(args); err != nil {
			return "", err
		}
		return name, readVariables(c)
	}
	t.Setenv("CLUSTER_NAME", "of-the-shell")
	if name, err := try(); name != "of-the-shell" || err != nil {
		t.Errorf("the variable: %q, %v", name, err)
	}
	if name, err := try("--cluster-name", "given"); name != "given" || err != nil {
		t.Errorf("the flag beats it: %q, %v", name, err)
	}
	t.Setenv("CLUSTER_NAME", "")
	if name, err := try(); name != "" || err != nil {
		t.Errorf("without either: %q, %v", name, err)
	}
}
