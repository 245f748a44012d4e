package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// recorded writes a decision and returns the name of its file.
func recorded(t *testing.T, change func(*record.Decision)) string {
	t.Helper()
	p := scenario.Generate(40, 30, 1)
	p.Pending[0].Class.Requests["cpu"] = 4_000_000 // too large for every type
	out := pack.Solve(p)
	d := &record.Decision{Kerf: "v0", Problem: p, Plan: out, Claims: []record.Claim{{NewNode: 0, Name: "default-abcde"}}}
	if change != nil {
		change(d)
	}
	var b bytes.Buffer
	if err := record.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "decision.kerf")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReplayAndExplain(t *testing.T) {
	same := recorded(t, nil)
	otherwise := recorded(t, func(d *record.Decision) {
		changed := *d.Plan
		changed.NewNodes = slices.Clone(d.Plan.NewNodes)
		changed.NewNodes[0].Why = "because"
		d.Plan = &changed
	})
	noPlan := recorded(t, func(d *record.Decision) { d.Plan, d.Claims = nil, nil })
	bad := filepath.Join(t.TempDir(), "bad.kerf")
	if err := os.WriteFile(bad, []byte("kerf-decision 7 v9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	yuan := recorded(t, func(d *record.Decision) {
		d.Problem.Options.Currency = "CNY"
		d.Plan = pack.Solve(d.Problem)
	})
	saved := filepath.Join(t.TempDir(), "saved.kerf")
	for _, test := range []struct {
		name string
		args []string
		code int
		out  []string
		err  string
	}{
		{"the same", []string{"replay", same}, 0, []string{"new 1 from pool default", "decided at 2026-01-01T12:00:00Z by kerf v0", "same: the plan is the recorded one, byte for byte"}, ""},
		{"another plan", []string{"replay", otherwise}, 3, []string{"different: recorded by kerf v0", `"why": "because"`}, ""},
		{"nothing to compare with", []string{"replay", noPlan}, 0, []string{"no plan was recorded"}, ""},
		{"another format", []string{"replay", bad}, 2, nil, "bad.kerf: it is of format"},
		{"no such file", []string{"replay", "nothing.kerf"}, 2, nil, "nothing.kerf"},
		{"two files", []string{"replay", same, bad}, 2, nil, "name one file"},
		{"no controller to ask", []string{"replay", "--server", "http://127.0.0.1:1"}, 1, nil, "port-forward"},
		{"an unknown form", []string{"replay", same, "-o", "xml"}, 2, nil, "want text, json or yaml"},
		{"names, but nothing to write", []string{"replay", same, "--hash-names"}, 2, nil, "give --save"},
		{"a floor", []string{"replay", same, "--bound"}, 0, []string{"floor $", "proven; price $", "gap "}, ""},
		{"a plan in yuan", []string{"replay", yuan, "--bound"}, 0, []string{"same: ", " at ¥", "floor ¥", "proven; price ¥"}, ""},
		{"a pod without a place, in yuan", []string{"explain", "pod", "pod-0", "-f", yuan}, 0, []string{", costs ¥"}, ""},
		{"an instance in yuan", []string{"explain", "nodeclaim", "default-abcde", "-f", yuan}, 0, []string{"planned as ", " at ¥"}, ""},
		{"saved without names", []string{"replay", same, "--hash-names", "--save", saved}, 0, []string{"same"}, ""},
		{"what was saved", []string{"replay", saved}, 0, []string{"namespace-000001/pod-0000", "same: "}, ""},
		{"a pod without a place", []string{"explain", "pod", "default/pod-0", "-f", same}, 0, []string{"it has no place", "cheapest single change: ask for at most"}, ""},
		{"a pod by namespace", []string{"explain", "pod", "pod-0", "-n", "default", "-f", same}, 0, []string{"it has no place"}, ""},
		{"an instance", []string{"explain", "nodeclaim", "default-abcde", "-f", same}, 0, []string{"planned as ", "for the same pods it would have been:"}, ""},
		{"a node that nobody knows", []string{"explain", "node", "n", "-f", same}, 3, []string{"none is about it"}, ""},
		{"no controller", []string{"explain", "node", "n", "--server", "http://127.0.0.1:1"}, 1, nil, "port-forward"},
		{"no name", []string{"explain", "pod"}, 2, nil, "give one name"},
		{"an unknown form of answer", []string{"explain", "pod", "a", "-o", "xml"}, 2, nil, "want text, json or yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Main(test.args, &out, &errs); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, want := range test.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("lacks %q", want)
				}
			}
			if !strings.Contains(errs.String(), test.err) {
				t.Errorf("standard error lacks %q", test.err)
			}
			if test.name == "the same" && !strings.HasPrefix(out.String(), "same: ") {
				t.Error("the verdict is not first")
			}
			if slices.Contains(test.args, yuan) && strings.Contains(out.String(), "$") {
				t.Error("it speaks of dollars in China")
			}
			if t.Failed() {
				t.Logf("%s\n%s", out.String(), errs.String())
			}
		})
	}
}

func TestReplayAndExplainAsJSON(t *testing.T) {
	file := recorded(t, nil)
	var out, errs bytes.Buffer
	if code := Main([]string{"replay", file, "-o", "json", "--bound"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var r replayed
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Same == nil || !*r.Same || len(r.Plan.NewNodes) == 0 || r.Bound.Bound <= 0 {
		t.Errorf("%v: %.300s", err, out.String())
	}
	out.Reset()
	if code := Main([]string{"explain", "pod", "pod-0", "-f", file, "-o", "json"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var a struct {
		Found    bool
		Unplaced plan.Explanation
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || !a.Found || a.Unplaced.Best == nil || !a.Unplaced.Best.Proven || a.Unplaced.Best.Constraint.Kind != plan.ResourceRequest {
		t.Errorf("%v: %.300s", err, out.String())
	}
}
