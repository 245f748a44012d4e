package cluster

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Tolerates reports whether the toleration bears the taint.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key == "" {
		return t.Exists
	}
	return t.Key == taint.Key && (t.Exists || t.Value == taint.Value)
}

// Untolerated is the first taint of the effects that none of the tolerations bears; false if there is none.
func Untolerated(taints []Taint, tolerations []Toleration, effects ...Effect) (Taint, bool) {
	for _, taint := range taints {
		if !slices.Contains(effects, taint.Effect) {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.Tolerates(taint) }) {
			return taint, true
		}
	}
	return Taint{}, false
}

// String is the taint as kubectl writes it.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Conflicts reports whether two pods with these ports can't be on one node.
func (p HostPort) Conflicts(o HostPort) bool {
	return p.Port == o.Port && p.protocol() == o.protocol() && (p.anyIP() || o.anyIP() || p.IP == o.IP)
}

func (p HostPort) anyIP() bool { return p.IP == "" || p.IP == "0.0.0.0" || p.IP == "::" }

func (p HostPort) protocol() string {
	if p.Protocol == "" {
		return "TCP"
	}
	return p.Protocol
}

// String is port/protocol, with the address when it is not all of them.
func (p HostPort) String() string {
	s := strconv.Itoa(int(p.Port)) + "/" + p.protocol()
	if !p.anyIP() {
		s = p.IP + ":" + s
	}
	return s
}

// Counts reports whether pods of class o may count for the topology constraints of c. The scheduler sees no virtual pods,
// so they count only for each other.
func (c *Class) Counts(o *Class) bool { return c.Virtual || !o.Virtual }

// Selects reports whether the term of a pod of the owner's class is about pods of class c.
func (t *PodAffinity) Selects(owner, c *Class) bool {
	inNamespace := slices.Contains(t.Namespaces, c.Namespace) || len(t.Namespaces) == 0 && c.Namespace == owner.Namespace
	return owner.Counts(c) && inNamespace && t.Selector.Matches(c.Labels)
}

// Matches reports whether pods with these labels are selected. An operator that label selectors do not have selects
// nothing.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return false
	}
	for _, t := range s.Terms {
		value, has := labels[t.Key]
		ok := false
		switch t.Operator {
		case requirement.In:
			ok = has && slices.Contains(t.Values, value)
		case requirement.NotIn:
			ok = !has || !slices.Contains(t.Values, value)
		case requirement.Exists:
			ok = has
		case requirement.DoesNotExist:
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}

// Words say which pods are selected.
func (s *Selector) Words() string {
	switch {
	case s == nil:
		return "selects no pod"
	case len(s.Terms) == 0:
		return "all pods"
	}
	text := "pods with "
	for i, t := range s.Terms {
		if i > 0 {
			text += ", "
		}
		text += t.String()
	}
	return text
}
