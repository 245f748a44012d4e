package cli

import (
	"fmt"
	"regexp"
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
	words := []string{"kerf simulate"}
	quoted := func(text string) string {
		if plainWord.MatchString(text) {
			return text
		}
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	if f.workload.given != nil {
		f.workload.given.Flags().Visit(func(x *pflag.Flag) {
			switch x.Name {
			case "seed", "seeds", "assert", "output", "output-file", "html", "events", "parallel", "color", "quiet":
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
				words = append(words, "--"+x.Name+" "+quoted(v))
			}
		})
	}
	for _, c := range f.configuration {
		words = append(words, quoted(c))
	}
	return strings.Join(append(words, fmt.Sprintf("--seed %d --html simulate.html", seed)), " ")
}
