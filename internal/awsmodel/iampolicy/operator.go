package iampolicy

import (
	"bytes"
	"encoding/base64"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// quantifier says how an operator treats a key with several values.
type quantifier int

const (
	single    quantifier = iota // one value is expected; of several, any may match
	allValues                   // each value of the call must match; none at all is well
	anyValue                    // one value of the call must match
)

// operator is a condition operator in its parts: ForAllValues:StringNotLikeIfExists is allValues, negated, ifExists.
type operator struct {
	name       string // without prefix and suffix
	quantifier quantifier
	ifExists   bool
	negated    bool
	null       bool
	// test compares a value of the call with one of the policy. Those of text get the policy's with variables filled in.
	test     func(have, want string) bool
	textTest func(have string, want glob) bool
}

// operatorsByName are all operators that a policy may name.
//
// Source: IAM User Guide, "IAM JSON policy elements: Condition operators", checked 2026-11.
var operatorsByName = allOperators()

func allOperators() map[string]operator {
	out := map[string]operator{}
	add := func(base operator) {
		for prefix, q := range map[string]quantifier{"": single, "ForAllValues:": allValues, "ForAnyValue:": anyValue} {
			o := base
			o.quantifier = q
			out[prefix+o.name] = o
			if !o.null {
				o.ifExists = true
				out[prefix+o.name+"IfExists"] = o
			}
		}
	}
	for name, test := range map[string]func(string, glob) bool{
		"StringEquals":           func(have string, want glob) bool { return have == want.literal() },
		"StringEqualsIgnoreCase": func(have string, want glob) bool { return strings.EqualFold(have, want.literal()) },
		"StringLike":             func(have string, want glob) bool { return want.match(have) },
		"ArnEquals":              matchARN,
		"ArnLike":                matchARN,
	} {
		add(operator{name: name, textTest: test})
		add(operator{name: negation(name), textTest: test, negated: true})
	}
	for name, test := range map[string]func(string, string) bool{
		"NumericEquals": numeric(func(a, b float64) bool { return a == b }),
		"DateEquals":    date(time.Time.Equal),
		"IpAddress":     inNetwork,
	} {
		add(operator{name: name, test: test})
		add(operator{name: negation(name), test: test, negated: true})
	}
	for name, test := range map[string]func(string, string) bool{
		"NumericLessThan":          numeric(func(a, b float64) bool { return a < b }),
		"NumericLessThanEquals":    numeric(func(a, b float64) bool { return a <= b }),
		"NumericGreaterThan":       numeric(func(a, b float64) bool { return a > b }),
		"NumericGreaterThanEquals": numeric(func(a, b float64) bool { return a >= b }),
		"DateLessThan":             date(time.Time.Before),
		"DateLessThanEquals":       date(func(a, b time.Time) bool { return !a.After(b) }),
		"DateGreaterThan":          date(time.Time.After),
		"DateGreaterThanEquals":    date(func(a, b time.Time) bool { return !a.Before(b) }),
		"Bool":                     strings.EqualFold,
		"BinaryEquals":             sameBytes,
	} {
		add(operator{name: name, test: test})
	}
	add(operator{name: "Null", null: true})
	return out
}

// negation names the opposite: StringEqualsIgnoreCase → StringNotEqualsIgnoreCase, IpAddress → NotIpAddress.
func negation(name string) string {
	for _, verb := range []string{"Equals", "Like"} {
		if before, after, ok := strings.Cut(name, verb); ok {
			return before + "Not" + verb + after
		}
	}
	return "Not" + name
}

// literal is the text with its wildcards as plain characters.
func (g glob) literal() string {
	if g.run == '*' {
		return g.text
	}
	b := []byte(g.text)
	for i, c := range b {
		switch c {
		case anyRun:
			b[i] = '*'
		case anyOne:
			b[i] = '?'
		}
	}
	return string(b)
}

const arnParts = 6

// matchARN compares the six parts of ARNs one by one: a wildcard ends at the colon. A pattern that is * alone stands for
// every ARN.
func matchARN(have string, want glob) bool {
	var parts [arnParts]string
	if !cutARN(have, &parts) {
		return false
	}
	if len(want.text) == 1 && want.text[0] == want.run {
		return true
	}
	var patterns [arnParts]string
	if !cutARN(want.text, &patterns) {
		return false
	}
	for i := range parts {
		g := want
		g.text = patterns[i]
		if !g.match(parts[i]) {
			return false
		}
	}
	return true
}

func cutARN(s string, parts *[arnParts]string) bool {
	for i := range arnParts - 1 {
		var ok bool
		if parts[i], s, ok = strings.Cut(s, ":"); !ok {
			return false
		}
	}
	parts[arnParts-1] = s
	return true
}

func numeric(compare func(a, b float64) bool) func(string, string) bool {
	return func(have, want string) bool {
		a, okA := number(have)
		b, okB := number(want)
		return okA && okB && compare(a, b)
	}
}

func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && !strings.ContainsAny(s, "xX_")
}

func date(compare func(a, b time.Time) bool) func(string, string) bool {
	return func(have, want string) bool {
		a, okA := moment(have)
		b, okB := moment(want)
		return okA && okB && compare(a, b)
	}
}

// moment reads a time as ISO 8601 has it, in the profile of W3C, or in seconds since 1970.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02", "2006-01"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	seconds, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

func inNetwork(have, want string) bool {
	address, err := netip.ParseAddr(have)
	if err != nil {
		return false
	}
	address = address.Unmap()
	if !strings.Contains(want, "/") {
		one, err := netip.ParseAddr(want)
		return err == nil && one.Unmap() == address
	}
	network, err := netip.ParsePrefix(want)
	return err == nil && network.Contains(address)
}

func sameBytes(have, want string) bool {
	a, errA := base64.StdEncoding.DecodeString(have)
	b, errB := base64.StdEncoding.DecodeString(want)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
