package stack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/iampolicy"
)

// guides are the files with the statements of the guides, and the edition that gives them.
var guides = map[Compat]string{V10: "000", V032: "001"}

// normal is a set of statements with all that has no order sorted.
func normal(d *iampolicy.Document) []iampolicy.Statement {
	out := slices.Clone(d.Statements)
	for i := range out {
		st := &out[i]
		st.Actions, st.Resources = slices.Sorted(slices.Values(st.Actions)), slices.Sorted(slices.Values(st.Resources))
		st.Conditions = inOrder(slices.Clone(st.Conditions))
		for k := range st.Conditions {
			st.Conditions[k].Values = slices.Sorted(slices.Values(st.Conditions[k].Values))
		}
	}
	return out
}

func parseStatements(t *testing.T, statements []byte) *iampolicy.Document {
	t.Helper()
	d, err := iampolicy.Parse([]byte(`{"Version":"2012-10-17","Statement":` + string(statements) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOlderEditionsAreTheGuidesStatementByStatement(t *testing.T) {
	for c, number := range guides {
		t.Run(string(c), func(t *testing.T) {
			text, err := os.ReadFile("testdata/seed-" + number + ".json")
			if err != nil {
				t.Fatal(err)
			}
			want := normal(parseStatements(t, text))
			s := makeStack(t, c)
			if len(s.Policies) != 1 {
				t.Fatalf("%d policies, want one", len(s.Policies))
			}
			if diff := cmp.Diff(want, normal(s.Policies[0].Document)); diff != "" {
				t.Errorf("statements (-guide +stack):\n%s", diff)
			}
		})
	}
}

// TestStatementsOfTheGuidesThemselves reads the pages that testdata was taken from, where they are at hand.
func TestStatementsOfTheGuidesThemselves(t *testing.T) {
	dir := os.Getenv("KERF_SEEDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "seeds")
	}
	for c, number := range guides {
		files, _ := filepath.Glob(filepath.Join(dir, number+"_*.txt"))
		if len(files) == 0 {
			t.Logf("no page %s in %s: its statements in testdata are compared only", number, dir)
			continue
		}
		page, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var statements []json.RawMessage
		for _, at := range regexp.MustCompile(`\{\s*"Sid"`).FindAllIndex(page, -1) {
			var st json.RawMessage
			if err := json.NewDecoder(strings.NewReader(string(page[at[0]:]))).Decode(&st); err != nil {
				t.Fatalf("%s at byte %d: %v", files[0], at[0], err)
			}
			statements = append(statements, st)
		}
		text, err := json.Marshal(statements)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(normal(parseStatements(t, text)), normal(makeStack(t, c).Policies[0].Document)); diff != "" {
			t.Errorf("%s: statements (-page +stack):\n%s", c, diff)
		}
	}
}

// TestLatestHasAllThatOlderEditionsHave compares by Sid, for what kept its name.
func TestLatestHasAllThatOlderEditionsHave(t *testing.T) {
	renamed := map[string][]string{"AllowScopedEC2InstanceActions": {"AllowScopedEC2InstanceAccessActions", "AllowScopedEC2LaunchTemplateAccessActions"}}
	latest := map[string]iampolicy.Statement{}
	for _, p := range makeStack(t, Latest).Policies {
		for _, st := range p.Document.Statements {
			if _, twice := latest[st.Sid]; twice {
				t.Errorf("%s is there twice", st.Sid)
			}
			latest[st.Sid] = st
		}
	}
	for _, st := range makeStack(t, V10).Policies[0].Document.Statements {
		sids := renamed[st.Sid]
		if sids == nil {
			sids = []string{st.Sid}
		}
		for _, sid := range sids {
			now, ok := latest[sid]
			if !ok {
				t.Errorf("%s is gone", sid)
			}
			for _, a := range st.Actions {
				if a != "ec2:DescribeAvailabilityZones" && !slices.Contains(now.Actions, a) {
					t.Errorf("%s no longer has %s", sid, a)
				}
			}
		}
	}
}
