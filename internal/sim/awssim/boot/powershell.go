package boot

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// psStatement is one statement of a PowerShell script, cut into its words.
type psStatement struct {
	words []psWord
	depth int // how many braces are open around it
}

// psWord is one word of a statement. A word with quotes about it is never a parameter's name.
type psWord struct {
	text   string
	quoted bool
}

// powershellStatements reads a PowerShell script as far as it takes to see which commands it runs with which words:
// quoting, escapes, continued lines, comments, here-strings, braces, and the values of variables that the script itself
// sets. It runs nothing; a substitution such as $(…) stays as it is written.
//
// Errors: what makes PowerShell refuse the whole script before it runs any of it.
func powershellStatements(script string) ([]psStatement, error) {
	p := &powershell{in: strings.ReplaceAll(script, "\r", ""), vars: map[string]string{
		"env:programfiles": `C:\Program Files`, "env:systemdrive": "C:", "env:windir": `C:\Windows`,
	}}
	for p.pos < len(p.in) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	p.endStatement()
	if p.depth > 0 {
		return nil, errors.New("missing closing '}' in statement block")
	}
	return p.statements, nil
}

type powershell struct {
	in         string
	pos        int
	vars       map[string]string // by name in lower case
	word       strings.Builder
	inWord     bool
	quoted     bool
	words      []psWord
	depth      int
	statements []psStatement
}

func (p *powershell) put(s string) { p.word.WriteString(s); p.inWord = true }

func (p *powershell) endWord() {
	if p.inWord {
		p.words = append(p.words, psWord{p.word.String(), p.quoted})
	}
	p.word.Reset()
	p.inWord, p.quoted = false, false
}

var psAssignment = regexp.MustCompile(`^(?:\[[A-Za-z.\[\]]+\])?\$([A-Za-z_][A-Za-z0-9_:]*)$`)

// endStatement closes a statement. One that sets a variable to one word is remembered; all are kept for the reader.
func (p *powershell) endStatement() {
	p.endWord()
	words := p.words
	p.words = nil
	if len(words) == 0 {
		return
	}
	if m := psAssignment.FindStringSubmatch(words[0].text); m != nil && len(words) == 3 && words[1].text == "=" {
		p.vars[strings.ToLower(m[1])] = words[2].text
		return
	}
	p.statements = append(p.statements, psStatement{words, p.depth})
}

func (p *powershell) step() error {
	rest := p.in[p.pos:]
	c := rest[0]
	p.pos++
	switch {
	case strings.HasPrefix(rest, "<#"):
		end := strings.Index(rest, "#>")
		if end < 0 {
			return errors.New("the terminator '#>' is missing from the multiline comment")
		}
		p.pos += end + 1
	case c == '#' && !p.inWord:
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			p.pos += end - 1
		} else {
			p.pos = len(p.in)
		}
	case strings.HasPrefix(rest, "@'\n"), strings.HasPrefix(rest, "@\"\n"):
		return p.hereString(rest)
	case c == '\'':
		return p.singleQuoted()
	case c == '"':
		return p.doubleQuoted()
	case c == '`':
		p.escape()
	case c == '$':
		p.dollar()
	case c == '&' && !p.inWord:
		p.put("&")
		p.endWord()
	case c == ' ', c == '\t':
		p.endWord()
	case c == '\n', c == ';', c == '|':
		p.endStatement()
	case c == '{':
		p.endStatement()
		p.depth++
	case c == '}':
		p.endStatement()
		if p.depth--; p.depth < 0 {
			return errors.New("unexpected token '}' in expression or statement")
		}
	case c == '=' && len(p.words) == 0 && p.inWord: // $name=value
		p.endWord()
		p.put("=")
		p.endWord()
	default:
		p.put(rest[:1])
	}
	return nil
}

func (p *powershell) hereString(rest string) error {
	end := strings.Index(rest[2:], "\n"+rest[1:2]+"@")
	if end < 0 {
		return errors.New("the here-string is missing its terminator")
	}
	p.put(strings.TrimPrefix(rest[2:2+end], "\n"))
	p.quoted = true
	p.pos += 1 + end + 3
	return nil
}

func (p *powershell) singleQuoted() error {
	p.quoted = true
	p.put("")
	for {
		end := strings.IndexByte(p.in[p.pos:], '\'')
		if end < 0 {
			return errors.New("the string is missing the terminator: '")
		}
		p.put(p.in[p.pos : p.pos+end])
		p.pos += end + 1
		if !strings.HasPrefix(p.in[p.pos:], "'") {
			return nil
		}
		p.put("'") // doubled, it stands for itself
		p.pos++
	}
}

func (p *powershell) doubleQuoted() error {
	p.quoted = true
	p.put("")
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		p.pos++
		switch {
		case c == '"' && strings.HasPrefix(p.in[p.pos:], `"`):
			p.put(`"`)
			p.pos++
		case c == '"':
			return nil
		case c == '`':
			p.escape()
		case c == '$':
			p.dollar()
		default:
			p.put(string(c))
		}
	}
	return errors.New(`the string is missing the terminator: "`)
}

// escape reads what follows a backtick; before the end of a line it continues the line.
func (p *powershell) escape() {
	if p.pos >= len(p.in) {
		return
	}
	c := p.in[p.pos]
	p.pos++
	switch c {
	case '\n':
		if !p.quoted {
			p.endWord()
		}
	case 'n':
		p.put("\n")
	case 't':
		p.put("\t")
	default:
		p.put(string(c))
	}
}

var psVariable = regexp.MustCompile(`^(?:\{([^}]+)\}|([A-Za-z_][A-Za-z0-9_]*(?::[A-Za-z_][A-Za-z0-9_]*)?))`)

// dollar puts the value of a variable in place, except where one is being set.
func (p *powershell) dollar() {
	m := psVariable.FindStringSubmatch(p.in[p.pos:])
	if m == nil {
		p.put("$")
		return
	}
	p.pos += len(m[0])
	name := m[1] + m[2]
	first := len(p.words) == 0 && !p.quoted && (p.word.Len() == 0 || strings.HasSuffix(p.word.String(), "]"))
	if first {
		p.put("$" + name)
		return
	}
	p.put(p.vars[strings.ToLower(name)])
}

// psCall reads the words behind a command as parameters with values, by the parameter's full name. Names may be cut short
// and are the same in any case, as PowerShell has it.
func psCall(words []psWord, parameters []string) (map[string]string, error) {
	given := map[string]string{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.quoted && strings.Contains(w.text, ">") {
			if strings.HasSuffix(w.text, ">") {
				i++ // the file is a word by itself
			}
			continue
		}
		if w.quoted || !strings.HasPrefix(w.text, "-") {
			return nil, fmt.Errorf("a positional parameter cannot be found that accepts argument '%s'", w.text)
		}
		short, value, has := strings.Cut(w.text[1:], ":")
		name := ""
		for _, p := range parameters {
			if strings.EqualFold(p, short) {
				name = p
				break
			}
			if short != "" && len(p) >= len(short) && strings.EqualFold(p[:len(short)], short) {
				if name != "" {
					return nil, fmt.Errorf("parameter name '%s' is ambiguous", short)
				}
				name = p
			}
		}
		if name == "" {
			return nil, fmt.Errorf("a parameter cannot be found that matches parameter name '%s'", short)
		}
		if _, twice := given[name]; twice {
			return nil, fmt.Errorf("parameter '%s' is specified more than once", name)
		}
		if !has {
			if i+1 >= len(words) || !words[i+1].quoted && strings.HasPrefix(words[i+1].text, "-") {
				return nil, fmt.Errorf("missing an argument for parameter '%s'", name)
			}
			i++
			value = words[i].text
		}
		given[name] = value
	}
	return given, nil
}
