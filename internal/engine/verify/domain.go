package verify

import (
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// column is the domains of all hosts for one topology key, numbered.
type column struct {
	ids   []int // by place of the host; -1: the key is missing or not settled
	names []string
}

func (c *checker) column(key string) *column {
	key = requirement.Normalize(key)
	col := c.columns[key]
	if col != nil {
		return col
	}
	col = &column{ids: make([]int, len(c.hosts))}
	byName, byKind := map[string]int{}, map[*kind]int{}
	for _, h := range c.hosts {
		if h.launched != nil && key != requirement.Hostname {
			if id, known := byKind[h.kind]; known {
				col.ids[h.at] = id
				continue
			}
		}
		id := -1
		if v, ok := c.findDomain(h, key); ok {
			at, known := byName[v]
			if !known {
				at = len(col.names)
				byName[v] = at
				col.names = append(col.names, v)
			}
			id = at
		}
		col.ids[h.at] = id
		if h.launched != nil {
			byKind[h.kind] = id
		}
	}
	c.columns[key] = col
	return col
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

func (c *checker) findDomain(h *host, key string) (string, bool) {
	if key == requirement.Hostname {
		if h.node != nil {
			if v, ok := h.node.Labels[requirement.Hostname]; ok {
				return v, true
			}
			return hostname(h.node), true
		}
		return h.name, true
	}
	if h.node != nil {
		l, ok := c.certain(h.node)[key]
		if !ok || len(l.values) != 1 || l.missing {
			return "", false
		}
		return l.values[0], true
	}
	found, some := "", false
	for _, t := range h.kind.types {
		p := c.launch(h.kind, t)
		for i, s := range p.states {
			if s == nil || !t.Offerings[i].Available {
				continue
			}
			for _, v := range s[key].values {
				if some && v != found {
					return "", false
				}
				found, some = v, true
			}
		}
	}
	return found, some
}
