package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// String is the plan as text, one fact a line; equal plans give equal text.
func (p *Plan) String() string {
	var b strings.Builder
	for i := range p.NewNodes {
		p.NewNodes[i].write(&b, i+1, p.Currency)
	}
	for _, pl := range p.Placements {
		fmt.Fprintf(&b, "node %s\n  pods %s\n", pl.Node, podsText(pl.Pods))
	}
	for _, u := range p.Unplaced {
		fmt.Fprintf(&b, "unplaced %s\n", podsText(u.Pods))
		for _, r := range u.Reasons {
			fmt.Fprintf(&b, "  %s\n", r.Text())
		}
	}
	for _, w := range p.Declined {
		fmt.Fprintf(&b, "declined %s\n", w.Text(p.Currency))
	}
	fmt.Fprintf(&b, "price %s/h for %s\n", p.Currency.Amount(p.Price), Count(len(p.NewNodes), "new node"))
	return b.String()
}

func (n *NewNode) write(b *strings.Builder, number int, in catalog.Currency) {
	fmt.Fprintf(b, "new %d from pool %s at %s/h", number, n.Pool, in.Amount(n.Price))
	if len(n.Types) > 0 {
		first := n.Types[0]
		fmt.Fprintf(b, ": %s %s %s", first.Name, first.Zone, first.CapacityType)
	}
	if len(n.Types) > 1 {
		fmt.Fprintf(b, ", or one of %s", Count(len(n.Types)-1, "other"))
	}
	fmt.Fprintf(b, "\n  pods %s\n  requests %s\n", podsText(n.Pods), n.Requests)
	for _, t := range n.Requirements {
		fmt.Fprintf(b, "  requires %s\n", t)
	}
	if n.Why != "" {
		fmt.Fprintf(b, "  why %s\n", n.Why)
	}
}

// Count is a number with its noun, as in "1 pod" and "3 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// podsText lists pods; runs of names that only differ in a rising number at the end are shortened, as in "default/web-1..5".
func podsText(refs []cluster.PodRef) string {
	parts := make([]string, 0, len(refs))
	for i := 0; i < len(refs); {
		stem, n, ok := splitNumber(refs[i].String())
		j := i + 1
		for ok && j < len(refs) {
			s, m, more := splitNumber(refs[j].String())
			if !more || s != stem || m != n+j-i {
				break
			}
			j++
		}
		if j-i > 1 {
			parts = append(parts, fmt.Sprintf("%s%d..%d", stem, n, n+j-i-1))
		} else {
			parts = append(parts, refs[i].String())
		}
		i = j
	}
	return strings.Join(parts, " ")
}

func splitNumber(name string) (stem string, n int, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if i == len(name) || len(name)-i > 9 || (name[i] == '0' && len(name)-i > 1) {
		return name, 0, false
	}
	n, err := strconv.Atoi(name[i:])
	return name[:i], n, err == nil
}
