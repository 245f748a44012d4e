package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// findings are the assertions as findings.
func (f *simulateFlags) findings(r *simulate.Report) *findings {
	out := &findings{check: "kerf simulate", of: "assertions"}
	for _, v := range r.Verdicts {
		x := finding{rule: v.Assertion, message: v.Text()}
		if v.Configuration != "" {
			x.object = v.Configuration
		}
		if !v.Holds {
			x.level = levelError
			x.remedy = fmt.Sprintf("look at the run that is worst, and change its NodePools or the bound: %s", f.again(v.Seed))
			if v.Absent != "" {
				x.remedy = fmt.Sprintf("play a workload that changes (--shape day, --workload, --from-history) or shorten --warmup, or see why no pod began to run: %s", f.again(v.Seed))
			}
			if n := len(v.Failed); n > 1 {
				x.evidence = append(x.evidence, fmt.Sprintf("it does not hold with %d seeds: %s", n, strings.Trim(fmt.Sprint(v.Failed), "[]")))
			}
		}
		out.rules = append(out.rules, rule{id: v.Assertion, title: v.Assertion})
		out.found = append(out.found, x)
	}
	return out
}

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,%@+-]+$`)

// again is the command that plays one seed again and writes its page.
func (f *simulateFlags) again(seed uint64) string {
	return f.command([]string{"seed", "seeds"}, fmt.Sprintf("--seed %d --html simulate.html", seed))
}

// command is the command with the flags that were given, but for some and those of the report, and with more words behind.
func (f *simulateFlags) command(without []string, more ...string) string {
	words := []string{"kerf simulate"}
	if f.workload.given != nil {
		f.workload.given.Flags().Visit(func(x *pflag.Flag) {
			switch x.Name {
			case "assert", "output", "output-file", "html", "events", "parallel", "color", "quiet":
				return
			}
			if slices.Contains(without, x.Name) {
				return
			}
			if x.Value.Type() == "bool" {
				words = append(words, "--"+x.Name)
				return
			}
			values := []string{x.Value.String()}
			if list, ok := x.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
				if x.Value.Type() == "stringSlice" {
					values = []string{strings.Join(values, ",")}
				}
			}
			for _, v := range values {
				words = append(words, "--"+x.Name+" "+shellWord(v))
			}
		})
	}
	for _, c := range f.configuration {
		words = append(words, shellWord(c))
	}
	return strings.Join(append(words, more...), " ")
}

// shellWord is a text as a shell takes it.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
