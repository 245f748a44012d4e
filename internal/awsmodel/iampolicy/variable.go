package iampolicy

import "strings"

// Bytes that no text has, for what is a wildcard in a pattern whose variables are filled in: a * that came from a
// variable is a plain character.
const (
	anyRun = 0xff
	anyOne = 0xfe
)

// fill puts the values of the variables of a policy text in their places: ${key}, ${key, 'default'}, and ${*}, ${?}, ${$}
// for these characters as such. Documents of the old version have no variables. It is not ok if a variable has no single
// value in the call and no default: then the text matches nothing.
//
// Source: IAM User Guide, "IAM policy elements: Variables and tags", checked 2026-11.
func fill(text, version string, ctx Context) (g glob, ok bool) {
	if version != Version2012 || !strings.Contains(text, "${") {
		return plain(text), true
	}
	var b strings.Builder
	for text != "" {
		start := strings.Index(text, "${")
		if start < 0 {
			writePattern(&b, text)
			break
		}
		writePattern(&b, text[:start])
		name, otherwise, rest, closed := cutVariable(text[start+2:])
		if !closed {
			writePattern(&b, text[start:])
			break
		}
		text = rest
		switch name {
		case "*", "?", "$":
			b.WriteString(name)
			continue
		}
		values := ctx.get(name)
		switch {
		case len(values) == 1:
			b.WriteString(strings.ToValidUTF8(values[0], "\uFFFD"))
		case len(values) == 0 && otherwise != nil:
			b.WriteString(*otherwise)
		default:
			return glob{}, false
		}
	}
	return glob{text: b.String(), run: anyRun, one: anyOne}, true
}

// cutVariable reads what follows ${ up to its closing brace; a brace between quotes does not close it.
func cutVariable(text string) (name string, otherwise *string, rest string, ok bool) {
	end := strings.IndexAny(text, ",}")
	if end < 0 {
		return "", nil, "", false
	}
	name = strings.TrimSpace(text[:end])
	if text[end] == '}' {
		return name, nil, text[end+1:], name != ""
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(text[end+1:], " "), "'")
	if !ok {
		return "", nil, "", false
	}
	value, rest, ok = strings.Cut(value, "'")
	if !ok {
		return "", nil, "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), "}")
	value = strings.ToValidUTF8(value, "\uFFFD")
	return name, &value, rest, ok && name != ""
}

// writePattern copies text that stands in the policy itself, where wildcards are wildcards.
func writePattern(b *strings.Builder, text string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for i := range len(text) {
		switch c := text[i]; c {
		case '*':
			b.WriteByte(anyRun)
		case '?':
			b.WriteByte(anyOne)
		default:
			b.WriteByte(c)
		}
	}
}
