package eventpattern

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// matcher tells whether it takes a value of an event: nil, bool, number or string.
type matcher func(any) bool

// filters compile what stands behind the name of a filter.
var filters map[string]func(any) (matcher, error)

const filterNames = "prefix, suffix, anything-but, exists, numeric, cidr, wildcard, equals-ignore-case"

func init() {
	filters = map[string]func(any) (matcher, error){
		"prefix":             folding(strings.HasPrefix),
		"suffix":             folding(strings.HasSuffix),
		"equals-ignore-case": ignoreCase,
		"wildcard":           wildcard,
		"exists":             exists,
		"numeric":            numeric,
		"cidr":               cidr,
		"anything-but":       anythingBut,
	}
}

// exactly takes the value itself. Numbers are compared as they are written: 300 and 3.0e2 are not the same.
func exactly(want any) matcher { return func(v any) bool { return v == want } }

func exists(v any) (matcher, error) {
	if v != true {
		return nil, fmt.Errorf("wants true or false, not %s", show(v))
	}
	return func(any) bool { return true }, nil
}

// text makes a matcher that takes strings only.
func text(f func(string) bool) matcher {
	return func(v any) bool {
		s, ok := v.(string)
		return ok && f(s)
	}
}

// folding compiles prefix and suffix, whose value is a string or an equals-ignore-case with one.
func folding(part func(s, part string) bool) func(any) (matcher, error) {
	return func(v any) (matcher, error) {
		if s, ok := v.(string); ok {
			return text(func(have string) bool { return part(have, s) }), nil
		}
		if m, ok := v.(*members); ok && len(m.keys) == 1 && m.keys[0] == "equals-ignore-case" {
			if s, ok := m.values[0].(string); ok {
				s = strings.ToLower(s)
				return text(func(have string) bool { return part(strings.ToLower(have), s) }), nil
			}
		}
		return nil, fmt.Errorf("wants a string or {\"equals-ignore-case\": string}, not %s", show(v))
	}
}

func ignoreCase(v any) (matcher, error) {
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("wants a string, not %s", show(v))
	}
	return text(func(have string) bool { return strings.EqualFold(have, s) }), nil
}

func cidr(v any) (matcher, error) {
	s, _ := v.(string)
	p, err := netip.ParsePrefix(s)
	if err != nil {
		a, addressErr := netip.ParseAddr(s)
		if addressErr != nil || a.Zone() != "" {
			return nil, fmt.Errorf("wants a block such as 10.0.0.0/24, not %s", show(v))
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	return text(func(have string) bool {
		a, err := netip.ParseAddr(have)
		return err == nil && p.Contains(a)
	}), nil
}

// maxNumber bounds what numeric compares.
const maxNumber = 5e9

// numeric compiles a list of comparisons such as [">", 0, "<=", 5], which must all hold.
func numeric(v any) (matcher, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list)%2 != 0 {
		return nil, fmt.Errorf("wants a list of comparisons and numbers such as [\">\", 0, \"<=\", 5], not %s", show(v))
	}
	var all []func(float64) bool
	var operators string
	for i := 0; i < len(list); i += 2 {
		operator, _ := list[i].(string)
		n, ok := value(list[i+1])
		if !ok || n < -maxNumber || n > maxNumber {
			return nil, fmt.Errorf("wants numbers between -5e9 and 5e9, not %s", show(list[i+1]))
		}
		switch operator {
		case "=":
			all = append(all, func(have float64) bool { return have == n })
		case ">":
			all = append(all, func(have float64) bool { return have > n })
		case ">=":
			all = append(all, func(have float64) bool { return have >= n })
		case "<":
			all = append(all, func(have float64) bool { return have < n })
		case "<=":
			all = append(all, func(have float64) bool { return have <= n })
		default:
			return nil, fmt.Errorf("wants one of = > >= < <=, not %s", show(list[i]))
		}
		operators += operator[:1]
	}
	if operators != "=" && operators != ">" && operators != "<" && operators != "><" {
		return nil, errors.New("wants one comparison, or a lower bound followed by an upper bound")
	}
	return func(v any) bool {
		have, ok := value(v)
		return ok && !slices.ContainsFunc(all, func(holds func(float64) bool) bool { return !holds(have) })
	}, nil
}

// value reads a number of an event or a pattern.
func value(v any) (float64, bool) {
	n, ok := v.(number)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil
}

// anythingBut takes every value that is not among some values or that no nested filter takes.
func anythingBut(v any) (matcher, error) {
	var but []matcher
	switch v := v.(type) {
	case string, number:
		but = append(but, exactly(v))
	case []any:
		if len(v) == 0 {
			return nil, errors.New("has an empty list")
		}
		for _, e := range v {
			if !sameKind(e, v[0]) {
				return nil, fmt.Errorf("wants a list of only strings or only numbers, not %s", show(v))
			}
			but = append(but, exactly(e))
		}
	case *members:
		var err error
		if but, err = butFilter(v); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("wants strings, numbers, or a filter, not %s", show(v))
	}
	return func(have any) bool {
		return !slices.ContainsFunc(but, func(m matcher) bool { return m(have) })
	}, nil
}

func sameKind(a, b any) bool {
	switch a.(type) {
	case string:
		_, ok := b.(string)
		return ok
	case number:
		_, ok := b.(number)
		return ok
	}
	return false
}

// butFilter compiles a filter within anything-but, whose value is a string or a list of strings.
func butFilter(m *members) ([]matcher, error) {
	if len(m.keys) != 1 || !slices.Contains([]string{"prefix", "suffix", "wildcard", "equals-ignore-case"}, m.keys[0]) {
		return nil, fmt.Errorf("takes prefix, suffix, wildcard or equals-ignore-case, not %q", strings.Join(m.keys, ", "))
	}
	values, ok := m.values[0].([]any)
	if !ok {
		values = []any{m.values[0]}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has an empty list", m.keys[0])
	}
	var out []matcher
	for _, v := range values {
		if v == "" {
			return nil, fmt.Errorf("%s has an empty string", m.keys[0])
		}
		f, err := filters[m.keys[0]](v)
		if err != nil {
			return nil, fmt.Errorf("%s %w", m.keys[0], err)
		}
		out = append(out, f)
	}
	return out, nil
}

// wildcard compiles a text in which * stands for any characters, \* for a star and \\ for a backslash.
func wildcard(v any) (matcher, error) {
	s, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("wants a string, not %s", show(v))
	}
	parts := []string{""} // between stars
	for i := 0; i < len(s); i++ {
		last := &parts[len(parts)-1]
		switch {
		case s[i] == '*' && i > 0 && *last == "" && len(parts) > 1:
			return nil, fmt.Errorf("has two * in a row in %q", s)
		case s[i] == '*':
			parts = append(parts, "")
		case s[i] == '\\' && (i+1 == len(s) || s[i+1] != '*' && s[i+1] != '\\'):
			return nil, fmt.Errorf("has a \\ that is not followed by * or \\ in %q", s)
		case s[i] == '\\':
			i++
			*last += s[i : i+1]
		default:
			*last += s[i : i+1]
		}
	}
	return text(func(have string) bool { return glob(parts, have) }), nil
}

// glob tells whether s consists of the parts in order, with anything between them.
func glob(parts []string, s string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}
