package iampolicy

import "unicode/utf8"

// glob is a pattern in which two bytes stand for any characters and for any single one.
type glob struct {
	text     string
	run, one byte
	fold     bool // letters of ASCII match without regard to case
}

// plain is a pattern as it stands in a policy.
func plain(pattern string) glob { return glob{text: pattern, run: '*', one: '?'} }

// match tells whether all of s is what the pattern says.
//
// Cost: O(len(pattern) · len(s)) at worst, no allocation.
func (g glob) match(s string) bool {
	p, i := 0, 0           // next of the pattern and of s
	star, resume := -1, -1 // behind the last run in the pattern, and where it ends in s so far
	for i < len(s) {
		switch {
		case p < len(g.text) && g.text[p] == g.run:
			p++
			star, resume = p, i
		case p < len(g.text) && g.text[p] == g.one:
			p++
			i += width(s[i:])
		case p < len(g.text) && g.same(g.text[p], s[i]):
			p++
			i++
		case star >= 0:
			resume += width(s[resume:])
			p, i = star, resume
		default:
			return false
		}
	}
	for p < len(g.text) && g.text[p] == g.run {
		p++
	}
	return p == len(g.text)
}

func (g glob) same(a, b byte) bool {
	return a == b || g.fold && lower(a) == lower(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// width is the length of the first character in bytes.
func width(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}
