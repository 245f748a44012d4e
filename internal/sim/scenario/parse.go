// Package scenario is the text language in which decisions are told: what there is, which pods wait, and what comes of
// it. Tests, simulations and benchmarks read the same files.
//
// The grammar is in README.md beside this file; every command has its handler in a file of its own.
package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Step is one command of a scenario with what it is expected to print.
type Step struct {
	// Before is what stands before the command: comments and blank lines.
	Before string
	Line   int // of the command, from 1
	Head   string
	Input  string
	Want   string
	// Silent steps have no expected output and print nothing.
	Silent bool
}

// Parse splits a scenario into its steps. A step is a command line, input lines, a line of four dashes and the expected
// output up to an empty line; or just the command and its input up to an empty line.
func Parse(text string) ([]Step, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var steps []Step
	before := ""
	for i := 0; i < len(lines); {
		if line := strings.TrimSpace(lines[i]); line == "" || strings.HasPrefix(line, "#") {
			before += lines[i] + "\n"
			i++
			continue
		}
		step := Step{Before: before, Line: i + 1, Head: strings.TrimSpace(lines[i]), Silent: true}
		before = ""
		var input, want []string
		for i++; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			input = append(input, lines[i])
		}
		if i < len(lines) && lines[i] == "----" {
			step.Silent = false
			for i++; i < len(lines) && lines[i] != ""; i++ {
				want = append(want, lines[i])
			}
		}
		if slices.Contains(want, "----") {
			return nil, fmt.Errorf("line %d: the output of a step must not hold a line of four dashes", step.Line)
		}
		step.Input, step.Want = joinLines(input), joinLines(want)
		steps = append(steps, step)
	}
	if before != "" && len(steps) > 0 {
		steps = append(steps, Step{Before: before, Line: len(lines), Silent: true})
	}
	return steps, nil
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Format writes steps as a scenario that Parse reads back.
func Format(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.Before)
		if s.Head == "" {
			continue
		}
		b.WriteString(s.Head + "\n" + s.Input)
		if !s.Silent {
			b.WriteString("----\n" + s.Want)
		}
	}
	return b.String()
}

// args are the arguments of a command or of an input line: words and key=value pairs. What is left at the end was not
// understood.
type args struct {
	words []string
	pairs map[string]string
	err   error
}

// parseArgs splits a line at spaces; double quotes hold a word together.
func parseArgs(line string) (*args, error) {
	a := &args{pairs: map[string]string{}}
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		word := ""
		for rest != "" && rest[0] != ' ' {
			if rest[0] != '"' {
				word, rest = word+rest[:1], rest[1:]
				continue
			}
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a quotation is not closed: %s", line)
			}
			word, rest = word+rest[1:1+end], rest[end+2:]
		}
		if k, v, ok := strings.Cut(word, "="); ok {
			if _, dup := a.pairs[k]; dup {
				return nil, fmt.Errorf("%s is given twice", k)
			}
			a.pairs[k] = v
			continue
		}
		a.words = append(a.words, word)
	}
	return a, nil
}

func (a *args) fail(format string, v ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, v...)
	}
}

// word takes the next word; empty if there is none.
func (a *args) word() string {
	if len(a.words) == 0 {
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// flag takes a word wherever it stands.
func (a *args) flag(name string) bool {
	i := slices.Index(a.words, name)
	if i < 0 {
		return false
	}
	a.words = slices.Delete(a.words, i, i+1)
	return true
}

func (a *args) text(key, otherwise string) string {
	v, ok := a.pairs[key]
	if !ok {
		return otherwise
	}
	delete(a.pairs, key)
	return v
}

func (a *args) list(key string) []string {
	v := a.text(key, "")
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func (a *args) number(key string, otherwise int) int {
	v := a.text(key, "")
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		a.fail("%s needs a whole number, not %q", key, v)
	}
	return n
}

// resources takes every pair that names a resource: cpu, memory, pods, ephemeral-storage, hugepages-… and all with a
// slash in the name.
func (a *args) resources() res.List {
	out := res.List{}
	for k, v := range a.pairs {
		known := k == res.CPU || k == res.Memory || k == res.Pods || k == res.EphemeralStorage || strings.HasPrefix(k, "hugepages-")
		if !known && !strings.Contains(k, "/") {
			continue
		}
		n, err := ParseQuantity(k, v)
		if err != nil {
			a.fail("%s: %w", k, err)
		}
		out[k] = n
		delete(a.pairs, k)
	}
	return out
}

// done fails when arguments are left over.
func (a *args) done() error {
	if a.err != nil {
		return a.err
	}
	left := slices.Clone(a.words)
	for k, v := range a.pairs {
		left = append(left, k+"="+v)
	}
	if len(left) > 0 {
		slices.Sort(left)
		return fmt.Errorf("unknown argument %s", strings.Join(left, " "))
	}
	return nil
}

var units = []struct {
	suffix string
	factor int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
}

// ParseQuantity reads an amount as Kubernetes writes it, in the units of package res.
func ParseQuantity(resource, text string) (int64, error) {
	number, factor, divisor := text, int64(1), int64(1)
	if resource == res.CPU {
		factor = 1000
	}
	if n, ok := strings.CutSuffix(text, "m"); ok {
		number, divisor = n, 1000
	}
	for _, u := range units {
		if n, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = n, factor*u.factor
			break
		}
	}
	whole, fraction, _ := strings.Cut(number, ".")
	for range fraction {
		divisor *= 10
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || n < 0 || len(fraction) > 9 || (n > 0 && factor > (1<<62)/n) {
		return 0, fmt.Errorf("%q is no amount", text)
	}
	return (n*factor + divisor - 1) / divisor, nil
}

// parsePrice reads dollars per hour.
func parsePrice(text string) (catalog.MicroUSD, error) {
	n, err := ParseQuantity("price", strings.TrimPrefix(text, "$")+"M")
	return catalog.MicroUSD(n), err
}
