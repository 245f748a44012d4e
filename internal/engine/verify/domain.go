package verify

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// column is the domains of all hosts for one topology key, numbered.
type column struct {
	ids   []int   // by place of the host; -1: the key is missing or not settled
	may   [][]int // by place of the host: the domains that it is in, or that a node to launch may come to be in
	names []string
}

func (c *checker) column(key string) *column {
	key = requirement.Normalize(key)
	col := c.columns[key]
	if col != nil {
		return col
	}
	col = &column{ids: make([]int, len(c.hosts)), may: make([][]int, len(c.hosts))}
	byName, byKind := map[string]int{}, map[*kind][]int{}
	for _, h := range c.hosts {
		shared := h.launched != nil && key != requirement.Hostname
		may, known := byKind[h.kind]
		if !shared || !known {
			may = nil
			for _, v := range c.findDomains(h, key) {
				at, known := byName[v]
				if !known {
					at = len(col.names)
					byName[v] = at
					col.names = append(col.names, v)
				}
				may = append(may, at)
			}
		}
		if shared {
			byKind[h.kind] = may
		}
		col.may[h.at], col.ids[h.at] = may, -1
		if len(may) == 1 {
			col.ids[h.at] = may[0]
		}
	}
	c.columns[key] = col
	return col
}

// meet reports whether the hosts are, or may come to be, in one domain.
func (col *column) meet(a, b *host) bool {
	return slices.ContainsFunc(col.may[a.at], func(d int) bool { return slices.Contains(col.may[b.at], d) })
}

// domain is the value of a topology key on the host; false when it is missing or not settled.
func (c *checker) domain(h *host, key string) (string, bool) {
	col := c.column(key)
	id := col.ids[h.at]
	if id < 0 {
		return "", false
	}
	return col.names[id], true
}

// findDomains is the value of a topology key on the host; several that a node to launch may come to have, and none where it
// is missing or, on an existing node, not settled.
func (c *checker) findDomains(h *host, key string) []string {
	if key == requirement.Hostname {
		if h.node != nil {
			if v, ok := h.node.Labels[requirement.Hostname]; ok {
				return []string{v}
			}
			return []string{hostname(h.node)}
		}
		return []string{h.name}
	}
	if h.node != nil {
		l, ok := c.certain(h.node)[key]
		if !ok || len(l.values) != 1 || l.missing {
			return nil
		}
		return l.values
	}
	var out []string
	for _, t := range h.kind.types {
		p := c.launch(h.kind, t)
		for i, s := range p.states {
			if s == nil || !t.Offerings[i].Available {
				continue
			}
			for _, v := range s[key].values {
				if !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}
