package iampolicy

import (
	"slices"
	"strings"
)

// holds tells whether a call meets a condition.
//
// A key that the call does not have fails what asks for a value, and meets what only forbids some: the negated operators,
// ForAllValues, everything with IfExists. ForAnyValue wants a value, negated or not.
//
// Source: IAM User Guide, "Multivalued context keys" and "Condition operators", checked 2026-11.
func (c *Condition) holds(version string, ctx Context) bool {
	o, ok := operatorsByName[c.Operator]
	if !ok {
		return false // a document that was not parsed; what nobody knows allows and denies nothing
	}
	have := ctx.get(c.Key)
	if o.null {
		return slices.ContainsFunc(c.Values, func(v string) bool { return strings.EqualFold(v, "true") == (len(have) == 0) })
	}
	if len(have) == 0 {
		switch {
		case o.ifExists, o.quantifier == allValues:
			return true
		case o.quantifier == anyValue:
			return false
		}
		return o.negated
	}
	switch o.quantifier {
	case allValues:
		for _, h := range have {
			if h == "" && len(have) == 1 {
				return true // an empty value is no value
			}
			if o.any(h, c.Values, version, ctx) == o.negated {
				return false
			}
		}
		return true
	case anyValue:
		return slices.ContainsFunc(have, func(h string) bool { return o.any(h, c.Values, version, ctx) != o.negated })
	}
	matches := slices.ContainsFunc(have, func(h string) bool { return o.any(h, c.Values, version, ctx) })
	return matches != o.negated
}

// any tells whether a value of the call is one of those of the policy.
func (o operator) any(have string, wanted []string, version string, ctx Context) bool {
	for _, want := range wanted {
		if o.textTest == nil {
			if o.test(have, want) {
				return true
			}
			continue
		}
		if g, ok := fill(want, version, ctx); ok && o.textTest(have, g) {
			return true
		}
	}
	return false
}
