package userdata

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// shellWord is one word of a command. It is computed when it needs what is known only at boot: a command's output, or a
// variable that the script does not set to a plain text.
type shellWord struct {
	text     string
	computed bool
}

// shellCommand is one simple command of a script.
type shellCommand struct {
	words      []shellWord
	start, end int  // bytes of the script, with the line break that ends the command
	nested     bool // inside of a condition, a loop, a function or a sub-shell
	joined     bool // with another by &&, ||, | or &
}

// name is the last part of the path of what is run; empty for a command that only sets variables.
func (c *shellCommand) name() string {
	if len(c.words) == 0 {
		return ""
	}
	name := c.words[0].text
	return name[strings.LastIndexByte(name, '/')+1:]
}

// shellReader finds the commands of a script without running it. It knows as much of the language as scripts at boot use;
// what it can't follow makes the whole script not understood, which is always safe.
type shellReader struct {
	in       string
	pos      int
	depth    int // of conditions, loops, functions and sub-shells
	cases    int // open case … esac, in which a closing parenthesis ends a pattern
	vars     map[string]string
	cmd      shellCommand
	word     shellWord
	inWord   bool
	target   bool // the next word is where a redirection goes
	chained  bool // the operator before the command joins it to the one before
	heredocs []string
	commands []shellCommand
	bad      bool
}

// readShell lists the commands of a script in order; false when the script is not understood.
func readShell(script string) ([]shellCommand, bool) {
	r := &shellReader{in: script, vars: map[string]string{}, cmd: shellCommand{start: -1}}
	for r.pos < len(r.in) && !r.bad {
		r.step()
	}
	r.endCommand(r.pos, false)
	return r.commands, !r.bad && r.depth == 0 && len(r.heredocs) == 0
}

func (r *shellReader) step() {
	c := r.in[r.pos]
	switch {
	case c == '\n':
		r.pos++
		r.endCommand(r.pos, false)
		r.skipHeredocs()
	case c == ' ' || c == '\t':
		r.pos++
		r.endWord()
	case c == '#' && !r.inWord:
		r.pos += lineLength(r.in[r.pos:])
	case c == ';':
		r.pos++
		r.endCommand(r.pos, false)
	case c == '>' || c == '<' || c == '&' && strings.HasPrefix(r.in[r.pos+1:], ">"):
		r.redirect()
	case c == '&' || c == '|':
		for r.pos < len(r.in) && (r.in[r.pos] == '&' || r.in[r.pos] == '|') {
			r.pos++
		}
		r.endCommand(r.pos, true)
	case c == '(':
		r.open()
	case c == ')':
		r.close()
	default:
		r.begin()
		r.wordPart()
	}
}

func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func (r *shellReader) begin() {
	if r.cmd.start < 0 {
		r.cmd.start = r.pos
		r.cmd.nested = r.depth > 0
	}
	r.inWord = true
}

// wordPart reads one character, or one quoted or substituted piece, of a word.
func (r *shellReader) wordPart() {
	c := r.in[r.pos]
	r.pos++
	switch c {
	case '\\':
		if r.pos >= len(r.in) {
			return
		}
		if r.in[r.pos] == '\n' { // a continued line
			r.pos++
			r.inWord = r.word != shellWord{}
			return
		}
		r.word.text += r.in[r.pos : r.pos+1]
		r.pos++
	case '\'':
		end := strings.IndexByte(r.in[r.pos:], '\'')
		if end < 0 {
			r.bad = true
			return
		}
		r.word.text += r.in[r.pos : r.pos+end]
		r.pos += end + 1
	case '"':
		r.doubleQuoted()
	case '$', '`':
		r.substitute(c, false)
	default:
		r.word.text += string([]byte{c})
	}
}

func (r *shellReader) doubleQuoted() {
	for r.pos < len(r.in) {
		c := r.in[r.pos]
		r.pos++
		switch c {
		case '"':
			return
		case '\\':
			if r.pos >= len(r.in) {
				break
			}
			next := r.in[r.pos]
			r.pos++
			switch next {
			case '\n':
			case '"', '\\', '$', '`':
				r.word.text += string([]byte{next})
			default:
				r.word.text += string([]byte{'\\', next})
			}
		case '$', '`':
			r.substitute(c, true)
		default:
			r.word.text += string([]byte{c})
		}
	}
	r.bad = true
}

var shellVariable = regexp.MustCompile(`^(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// substitute puts a variable that the script set in its place; anything else stays as written and makes the word computed.
func (r *shellReader) substitute(c byte, quoted bool) {
	if m := shellVariable.FindStringSubmatch(r.in[r.pos:]); c == '$' && m != nil {
		value, known := r.vars[m[1]+m[2]]
		if !known {
			r.word.text += "$" + m[0]
			r.word.computed = true
		}
		r.pos += len(m[0])
		if quoted {
			r.word.text += value
			return
		}
		for i, field := range strings.Split(value, " ") {
			if i > 0 {
				r.endWord()
				r.begin()
			}
			r.word.text += field
		}
		return
	}
	start := r.pos - 1
	r.word.computed = true
	switch {
	case c == '`':
		end := strings.IndexByte(r.in[r.pos:], '`')
		if end < 0 {
			r.bad = true
			return
		}
		r.pos += end + 1
	case strings.HasPrefix(r.in[r.pos:], "("):
		r.skipParentheses()
	case strings.HasPrefix(r.in[r.pos:], "{"):
		end := strings.IndexByte(r.in[r.pos:], '}')
		if end < 0 {
			r.bad = true
			return
		}
		r.pos += end + 1
	}
	r.word.text += r.in[start:r.pos]
}

// skipParentheses goes past a balanced pair of parentheses.
func (r *shellReader) skipParentheses() {
	for depth := 0; r.pos < len(r.in); {
		c := r.in[r.pos]
		r.pos++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return
			}
		case '\\':
			r.pos++
		case '\'', '"':
			end := strings.IndexByte(r.in[r.pos:], c)
			if end < 0 {
				r.bad = true
				return
			}
			r.pos += end + 1
		}
	}
	r.bad = true
}

func (r *shellReader) open() {
	if r.inWord && strings.HasSuffix(r.word.text, "=") { // a list
		r.word.computed = true
		r.skipParentheses()
		return
	}
	r.endWord()
	r.depth++
	r.pos++
}

func (r *shellReader) close() {
	r.pos++
	r.endWord()
	if r.cases > 0 && len(r.cmd.words) > 0 {
		r.cmd = shellCommand{start: -1} // a pattern
		return
	}
	r.endCommand(r.pos, false)
	if r.depth--; r.depth < 0 {
		r.bad = true
	}
}

var shellHeredoc = regexp.MustCompile(`^<<-?[ \t]*\\?(?:'([^'\n]+)'|"([^"\n]+)"|([^\s;&|<>'"()]+))`)

func (r *shellReader) redirect() {
	if r.inWord && strings.Trim(r.word.text, "0123456789") == "" {
		r.word, r.inWord = shellWord{}, false // the number of what is redirected
	}
	r.endWord()
	if m := shellHeredoc.FindStringSubmatch(r.in[r.pos:]); m != nil && !strings.HasPrefix(r.in[r.pos:], "<<<") {
		r.heredocs = append(r.heredocs, m[1]+m[2]+m[3])
		r.pos += len(m[0])
		return
	}
	for r.pos < len(r.in) && strings.IndexByte("<>&|", r.in[r.pos]) >= 0 {
		r.pos++
	}
	for r.pos < len(r.in) && r.in[r.pos] == ' ' {
		r.pos++
	}
	switch {
	case strings.HasPrefix(r.in[r.pos:], "("):
		r.skipParentheses()
	case strings.HasPrefix(r.in[r.pos:], ">("), strings.HasPrefix(r.in[r.pos:], "<("):
		r.pos++
		r.skipParentheses()
	default:
		r.target = true
	}
}

func (r *shellReader) skipHeredocs() {
	for _, end := range r.heredocs {
		for {
			if r.pos >= len(r.in) {
				r.bad = true
				return
			}
			n := lineLength(r.in[r.pos:])
			line := strings.TrimLeft(r.in[r.pos:r.pos+n], "\t")
			r.pos = min(r.pos+n+1, len(r.in))
			if line == end {
				break
			}
		}
	}
	if len(r.heredocs) > 0 && len(r.commands) > 0 {
		r.commands[len(r.commands)-1].end = r.pos
	}
	r.heredocs = nil
}

func (r *shellReader) endWord() {
	if r.inWord && !r.target {
		r.cmd.words = append(r.cmd.words, r.word)
	}
	if r.inWord {
		r.target = false
	}
	r.word, r.inWord = shellWord{}, false
}

var shellAssignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)

// endCommand closes a command; joins tells that an operator joins it to the next.
func (r *shellReader) endCommand(end int, joins bool) {
	r.endWord()
	r.target = false
	c := r.cmd
	r.cmd = shellCommand{start: -1}
	if len(c.words) == 0 {
		r.chained = r.chained && !joins || joins
		return
	}
	c.end, c.joined = end, joins || r.chained
	r.chained = joins
	c.words = r.keywords(&c)
	if len(c.words) == 0 {
		return
	}
	if r.assign(&c) {
		return
	}
	r.commands = append(r.commands, c)
}

// keywords takes the words of the language away from the front of a command and keeps count of how deep it is.
func (r *shellReader) keywords(c *shellCommand) []shellWord {
	words := c.words
	for len(words) > 0 {
		switch words[0].text {
		case "if", "while", "until", "{":
			r.depth++
			c.nested = true
			words = words[1:]
		case "for", "select", "function":
			r.depth++
			if words[0].text == "function" {
				r.depth-- // its brace counts
			}
			return nil
		case "case":
			r.depth++
			r.cases++
			return nil
		case "esac":
			r.cases--
			r.depth--
			return nil
		case "fi", "done", "}":
			r.depth--
			r.bad = r.bad || r.depth < 0
			return nil
		case "then", "else", "elif", "do", "!", "sudo", "exec", "time":
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// assign notes the variables that a command sets, and reports whether that is all it does.
func (r *shellReader) assign(c *shellCommand) bool {
	words := c.words
	if slices.Contains([]string{"export", "readonly", "declare", "local"}, words[0].text) {
		words = words[1:]
	}
	set, computed := map[string]string{}, map[string]bool{}
	for _, w := range words {
		m := shellAssignment.FindStringSubmatch(w.text)
		if m == nil {
			return false
		}
		set[m[1]], computed[m[1]] = w.text[len(m[0]):], w.computed || c.nested || c.joined
	}
	maps.Copy(r.vars, set)
	for name, is := range computed {
		if is {
			delete(r.vars, name)
		}
	}
	return true
}
