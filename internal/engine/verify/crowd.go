package verify

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// crowd is the pods of one class in one namespace, those that are ending apart unless they linger.
type crowd struct {
	class     *cluster.Class
	namespace string
	at        []presence
}

// presence is how many of them are on a host.
type presence struct {
	host            *host
	running, placed int
	lingering       int // spreads do not count them
}

// crowds is where all pods are, to be asked for by selector.
type crowds struct {
	all     []*crowd
	byLabel map[labelValue][]*crowd
	chosen  map[string][]*crowd
}

type labelValue struct{ key, value string }

func (c *checker) everyone() *crowds {
	if c.whole != nil {
		return c.whole
	}
	w := &crowds{byLabel: map[labelValue][]*crowd{}, chosen: map[string][]*crowd{}}
	known := map[wanted]*crowd{}
	see := func(h *host, pod *cluster.Pod) *presence {
		if !pod.InCompany() || pod.Class == nil {
			return &presence{}
		}
		key := wanted{pod.Class, pod.Namespace}
		x := known[key]
		if x == nil {
			x = &crowd{class: pod.Class, namespace: pod.Namespace}
			known[key] = x
			w.all = append(w.all, x)
			for k, v := range pod.Class.Labels {
				w.byLabel[labelValue{k, v}] = append(w.byLabel[labelValue{k, v}], x)
			}
		}
		if n := len(x.at); n == 0 || x.at[n-1].host != h {
			x.at = append(x.at, presence{host: h})
		}
		return &x.at[len(x.at)-1]
	}
	for _, h := range c.hosts {
		for _, pod := range h.running {
			if p := see(h, pod); pod.Lingers {
				p.lingering++
			} else {
				p.running++
			}
		}
		for _, pod := range h.placed {
			see(h, pod).placed++
		}
	}
	c.whole = w
	return w
}

// choose is the crowds that count for a constraint of the class. Those that lack a label that the selector asks for are
// not looked at.
func (w *crowds) choose(class *cluster.Class, namespaces []string, sel *cluster.Selector) ([]*crowd, string) {
	if sel == nil {
		return nil, "-"
	}
	b := appendSelector(nil, sel)
	for _, n := range namespaces {
		b = appendText(b, n)
	}
	if class.Virtual {
		b = append(b, 'v')
	}
	text := string(b)
	if out, known := w.chosen[text]; known {
		return out, text
	}
	among := w.all
	for _, t := range sel.Terms {
		if t.Operator != requirement.In {
			continue
		}
		among = nil
		values := slices.Clone(t.Values)
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			among = append(among, w.byLabel[labelValue{t.Key, v}]...)
		}
		break
	}
	var out []*crowd
	for _, x := range among {
		if slices.Contains(namespaces, x.namespace) && class.Counts(x.class) && sel.Matches(x.class.Labels) {
			out = append(out, x)
		}
	}
	w.chosen[text] = out
	return out, text
}

// spots is how many pods that a constraint asks for are, or may come to be, in each domain, and how many of them the plan placed.
type spots struct {
	all, placed map[int]int
}

type spotsKey struct {
	class     *cluster.Class
	namespace string
	term      int
}

// spots counts the pods that term i of the pod's anti-affinity keeps away.
func (c *checker) spots(pod *cluster.Pod, i int) *spots {
	at := spotsKey{pod.Class, pod.Namespace, i}
	if s := c.spotsOf[at]; s != nil {
		return s
	}
	t := pod.Class.AntiAffinity[i]
	found, text := c.everyone().choose(pod.Class, namespacesOf(pod, t), t.Selector)
	text += " " + requirement.Normalize(t.Key)
	s := c.spotsBy[text]
	if s == nil {
		s = &spots{all: map[int]int{}, placed: map[int]int{}}
		col := c.column(t.Key)
		for _, x := range found {
			for _, p := range x.at {
				for _, d := range col.may[p.host.at] {
					s.all[d] += p.running + p.lingering + p.placed
					s.placed[d] += p.placed
				}
			}
		}
		c.spotsBy[text] = s
	}
	c.spotsOf[at] = s
	return s
}
