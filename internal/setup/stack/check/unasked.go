package check

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Unasked finds the options with which a set-up was made, as it seems, and which the comparison was not given: it allows
// all that they give, and with them less is found and nothing is found instead. Without being told, somebody whose stack is
// in order is advised to take out what it has for them. There are none where Compare finds nothing.
func Unasked(found *awssetup.Setup, kind setupfile.Kind, o Options) (flags []string) {
	base, err := Compare(found, kind, o)
	if err != nil || len(base.Findings) == 0 {
		return nil
	}
	compare := func(on []feature) *Report {
		try := o
		for _, f := range on {
			f.ask(&try.Stack, found)
		}
		r, err := Compare(found, kind, try)
		if err != nil {
			return nil
		}
		return r
	}
	var on []feature
	for _, f := range features {
		try := o.Stack
		if f.ask(&try, found) == "" {
			continue
		}
		if r := compare([]feature{f}); r != nil && r.Count(Missing) == base.Count(Missing) {
			on = append(on, f)
		}
	}
	all := compare(on)
	if all == nil || worse(all, base) {
		return nil
	}
	for _, f := range on {
		without := slices.DeleteFunc(slices.Clone(on), func(g feature) bool { return g.flag == f.flag })
		if r := compare(without); r != nil && slices.Equal(r.Findings, all.Findings) {
			on = without // it makes no difference
		}
	}
	for _, f := range on {
		try := o.Stack
		flags = append(flags, f.ask(&try, found))
	}
	return flags
}

func worse(a, b *Report) bool {
	return slices.ContainsFunc([]Severity{Missing, TooWide, Different, Advice}, func(s Severity) bool { return a.Count(s) > b.Count(s) })
}

// ask gives a stack what a feature needs, and returns the flag that does so; it is empty where the stack has it already and
// where the flag needs a value that the set-up does not show.
func (f *feature) ask(o *stack.Options, found *awssetup.Setup) (flag string) {
	if f.on(o) {
		return ""
	}
	if f.named == "" {
		f.set(o, nil)
		return f.flag
	}
	arns := resourcesOf(found, f.named)
	if len(arns) == 0 || len(arns) > 1 && f.flag == "--kms-key" || found.Assumed && strings.Contains(strings.Join(arns, " "), setupfile.AssumedAccount) {
		return ""
	}
	f.set(o, arns)
	return f.flag + " " + strings.Join(arns, " "+f.flag+" ")
}

// resourcesOf are the resources of the statement of that name, if all are named in full.
func resourcesOf(found *awssetup.Setup, sid string) []string {
	for _, p := range found.Policies {
		if p.Document == nil {
			continue // it could not be read
		}
		i := slices.IndexFunc(p.Document.Statements, func(s iampolicy.Statement) bool { return s.Sid == sid })
		if i < 0 {
			continue
		}
		if r := p.Document.Statements[i].Resources; !slices.ContainsFunc(r, func(s string) bool { return strings.ContainsAny(s, "*?$") }) {
			return r
		}
	}
	return nil
}
