package changeplan

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
)

// write lists the fields that change, a line each: + for what comes, - for what goes, ~ for another value, and ! for a guard
// that no longer holds. What the change of a field does is said once for all fields that do the same.
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
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	var said []Field
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Effect == Created {
			fmt.Fprintf(table, "  + %s\t%s\t\n", f.Effect, f.Why)
			continue
		}
		fmt.Fprintf(table, "  %s %s\t%s\t%s\n", f.sign(), short(f.Path), f.difference(), f.Effect)
		same := false
		for _, other := range said {
			same = same || other.Effect == f.Effect && other.Why == f.Why
		}
		if !same {
			said = append(said, *f)
		}
	}
	_ = table.Flush() // a strings.Builder takes everything
	for _, f := range said {
		fmt.Fprintf(b, "    %s: %s\n", f.Effect, f.Why)
	}
	b.WriteString("\n")
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
