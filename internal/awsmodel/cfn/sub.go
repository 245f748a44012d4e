package cfn

import (
	"fmt"
	"regexp"
	"strings"
)

// subPart is a piece of the text of Fn::Sub: literal, or a variable.
type subPart struct{ literal, variable string }

var subName = regexp.MustCompile(`^[A-Za-z0-9_.:]+$`)

// parseSub takes a text apart at ${Name}, ${Resource.Attribute} and ${!Literal}, which stands for ${Literal}.
func parseSub(text string) ([]subPart, error) {
	var parts []subPart
	var literal strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			break
		}
		literal.WriteString(text[:start])
		name := text[start+2 : start+end]
		text = text[start+end+1:]
		if rest, ok := strings.CutPrefix(name, "!"); ok {
			literal.WriteString("${" + rest + "}")
			continue
		}
		if !subName.MatchString(name) {
			return nil, fmt.Errorf("variable names in Fn::Sub consist of letters, digits, underscores, periods and colons, unlike ${%s}; write ${!%s} to keep it as text", name, name)
		}
		if literal.Len() > 0 {
			parts = append(parts, subPart{literal: literal.String()})
			literal.Reset()
		}
		parts = append(parts, subPart{variable: name})
	}
	literal.WriteString(text)
	if literal.Len() > 0 || len(parts) == 0 {
		parts = append(parts, subPart{literal: literal.String()})
	}
	return parts, nil
}
