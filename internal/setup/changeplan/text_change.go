package changeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// write lists the fields that change, a line each: + for what comes, - for what goes, ~ for another value, and ! for a guard
// that no longer holds. What the change of a field does is said once for all fields that do the same. Values that are too long for
// a column follow on a line of their own.
func (c *Change) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s)\n", title(c.Kind, c.Name), c.From)
	if c.Unchecked != "" {
		fmt.Fprintf(b, "  note: %s\n", c.Unchecked)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(b, "  NOT USABLE: %s\n", p)
	}
	if len(c.Fields) == 0 && len(c.Problems) == 0 {
		b.WriteString("  no field changes\n")
	}
	var first, second int // widths of the columns
	for i := range c.Fields {
		f := &c.Fields[i]
		first = max(first, len(short(f.Path)))
		if n := len(f.difference()); n <= widest {
			second = max(second, n)
		}
	}
	var said []effect
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Effect == Created {
			fmt.Fprintf(b, "  + %s  %s\n", f.Effect, f.Why)
			continue
		}
		difference, below := f.difference(), ""
		if len(difference) > widest {
			difference, below = "", "      "+difference+"\n"
		}
		fmt.Fprintf(b, "  %s %-*s  %-*s  %s\n%s", f.sign(), first, short(f.Path), second, difference, f.Effect, below)
		at := slices.IndexFunc(said, func(e effect) bool { return e.what == f.Effect && e.why == f.Why })
		if at < 0 {
			at, said = len(said), append(said, effect{what: f.Effect, why: f.Why})
		}
		said[at].fields = append(said[at].fields, short(f.Path))
	}
	for _, e := range said {
		fmt.Fprintf(b, "    %s, %s: %s\n", e.what, few(e.fields), e.why)
	}
	b.WriteString("\n")
}

// widest is how many letters a value may have in a column: with a path and what it does, a line fits most terminals.
const widest = 72

// effect is what the change of some fields does.
type effect struct {
	what   Effect
	why    string
	fields []string
}

// few are the first names of a list, with how many more there are.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}

func (f *Field) sign() string {
	switch {
	case f.Guard != "":
		return "!"
	case f.Old == "":
		return "+"
	case f.New == "":
		return "-"
	}
	return "~"
}

func (f *Field) difference() string {
	switch {
	case f.Guard != "":
		return fmt.Sprintf("%s -> %s: %s", cmp.Or(f.Old, "none"), cmp.Or(f.New, "none"), f.Guard)
	case f.Old == "" || f.New == "":
		return f.Old + f.New
	}
	return f.Old + " -> " + f.New
}

// knownDomains are those of labels that need not be told apart by them.
var knownDomains = []string{"karpenter.sh/", "karpenter.k8s.aws/", "topology.kubernetes.io/", "node.kubernetes.io/", "kubernetes.io/"}

// short is a path as people call it: limits.cpu, instance-family.
func short(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "template.spec.")
	if key, ok := strings.CutPrefix(path, "requirements["); ok {
		path = strings.TrimSuffix(key, "]")
		for _, d := range knownDomains {
			if name, ok := strings.CutPrefix(path, d); ok {
				return name
			}
		}
	}
	return path
}
