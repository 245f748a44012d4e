package cli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/setup/stack/check"
)

// checkPaint colours a report for people.
var checkPaint = []stroke{
	strokeOf(`^ {0,2}(missing|too wide) `, wrongColor...), strokeOf(`^ {0,2}(different) `, doubtColor...), strokeOf(`^  (advice) `, remedyColor...),
	strokeOf(`^ +(fix:)  `, remedyColor...), strokeOf(`^ {7}(why:)  `, quietColor...), strokeOf(`^note: `, quietColor...),
	strokeOf(`^[A-Z ]+$`, headingColor...), strokeOf(`^nothing is wrong`, rightColor...),
}

// checkFindings are the findings of kerf stack check. Each area is a rule, so that a report counts what held as well. args is the
// file that was checked, if it was one, and data what is in it.
func checkFindings(r *check.Report, args []string, data []byte) *findings {
	out := &findings{check: "kerf stack check", of: "cluster " + r.Cluster, notes: r.Notes}
	if len(args) > 0 && args[0] != "-" {
		out.file = args[0]
	}
	for _, a := range check.Areas() {
		out.rules = append(out.rules, rule{areaRule(a), string(a), "the " + string(a) + " as the edition " + r.Edition + " has it"})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		x := finding{rule: areaRule(f.Area), level: levelError, object: f.Thing, message: f.What, remedy: f.Fix, line: lineOf(data, f.Sid, f.Policy, f.Rule, f.Queue, f.Thing)}
		if f.Severity == check.Advice {
			x.level = levelNote
		}
		if f.Why != "" {
			x.evidence = []string{f.Why}
		}
		out.found = append(out.found, x)
	}
	if len(r.Unread) > 0 {
		out.rules = append(out.rules, rule{id: "not-judged", title: "everything could be read and judged"})
	}
	for _, u := range r.Unread {
		out.found = append(out.found, finding{rule: "not-judged", level: levelUnread, object: u.What, message: u.Why})
	}
	return out
}

// areaRule is an area as the identifier of a rule: controller-permissions.
func areaRule(a check.Area) string { return strings.ReplaceAll(string(a), " ", "-") }

// lineOf is the first line of a file with the first of the names that it has; 0: with none.
func lineOf(data []byte, names ...string) int {
	for _, name := range names {
		if name == "" {
			continue
		}
		lines := slices.Collect(bytes.Lines(data))
		if at := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(name)) }); at >= 0 {
			return at + 1
		}
	}
	return 0
}
