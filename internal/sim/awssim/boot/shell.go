package boot

import (
	"maps"
	"regexp"
	"strings"
)

// shellCommands reads a shell script as far as it takes to see which commands it runs with which words: quoting,
// escapes, continued lines, comments, here-documents, and the values of variables that the script itself sets. It
// runs nothing; a substitution such as $(…) stays as it is written.
func shellCommands(script string) [][]string {
	s := &shell{in: script, vars: map[string]string{}}
	for !s.done() {
		s.step()
	}
	s.endCommand()
	return s.commands
}

type shell struct {
	in       string
	pos      int
	vars     map[string]string
	word     strings.Builder
	inWord   bool
	words    []string
	commands [][]string
	heredocs []heredoc
}

type heredoc struct {
	end      string
	trimTabs bool
}

func (s *shell) done() bool { return s.pos >= len(s.in) }

func (s *shell) put(c byte) { s.word.WriteByte(c); s.inWord = true }

func (s *shell) endWord() {
	if !s.inWord {
		return
	}
	s.words = append(s.words, s.word.String())
	s.word.Reset()
	s.inWord = false
}

var assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=`)

// endCommand closes a command. One that only sets variables is remembered; the others are kept for the reader.
func (s *shell) endCommand() {
	s.endWord()
	words := s.words
	s.words = nil
	if len(words) > 0 && (words[0] == "export" || words[0] == "readonly" || words[0] == "declare") {
		words = words[1:]
	}
	set := map[string]string{}
	for len(words) > 0 {
		m := assignment.FindStringSubmatch(words[0])
		if m == nil {
			break
		}
		set[m[1]] = words[0][len(m[0]):]
		words = words[1:]
	}
	if len(words) == 0 {
		maps.Copy(s.vars, set) // before a command they are for that command only
	}
	if len(words) > 0 {
		s.commands = append(s.commands, words)
	}
}

func (s *shell) step() {
	c := s.in[s.pos]
	s.pos++
	switch c {
	case '\\':
		s.escape()
	case '\'':
		s.inWord = true
		end := strings.IndexByte(s.in[s.pos:], '\'')
		if end < 0 {
			end = len(s.in) - s.pos
		}
		s.word.WriteString(s.in[s.pos : s.pos+end])
		s.pos = min(s.pos+end+1, len(s.in))
	case '"':
		s.inWord = true
		s.doubleQuoted()
	case '$':
		s.dollar(false)
	case ' ', '\t', '\r':
		s.endWord()
	case '\n':
		s.endCommand()
		s.skipHeredocs()
	case ';', '&', '|':
		s.endCommand()
	case '<':
		s.redirect()
	case '#':
		if s.inWord {
			s.put(c)
			return
		}
		if end := strings.IndexByte(s.in[s.pos:], '\n'); end >= 0 {
			s.pos += end
		} else {
			s.pos = len(s.in)
		}
	default:
		s.put(c)
	}
}

func (s *shell) escape() {
	if s.done() {
		return
	}
	c := s.in[s.pos]
	s.pos++
	if c == '\n' {
		return // continued line
	}
	s.put(c)
}

func (s *shell) doubleQuoted() {
	for !s.done() {
		c := s.in[s.pos]
		s.pos++
		switch c {
		case '"':
			return
		case '\\':
			if s.done() {
				return
			}
			next := s.in[s.pos]
			s.pos++
			switch next {
			case '\n':
			case '"', '\\', '$', '`':
				s.word.WriteByte(next)
			default:
				s.word.WriteByte('\\')
				s.word.WriteByte(next)
			}
		case '$':
			s.dollar(true)
		default:
			s.word.WriteByte(c)
		}
	}
}

var variable = regexp.MustCompile(`^(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)

// dollar puts the value of a variable in place. Outside of quotes a value is split at blanks, as the shell does.
func (s *shell) dollar(quoted bool) {
	m := variable.FindStringSubmatch(s.in[s.pos:])
	if m == nil {
		s.put('$')
		return
	}
	s.pos += len(m[0])
	value := s.vars[m[1]+m[2]]
	if quoted {
		s.word.WriteString(value)
		return
	}
	for i := range len(value) {
		if c := value[i]; c == ' ' || c == '\t' || c == '\n' {
			s.endWord()
		} else {
			s.put(c)
		}
	}
}

var heredocStart = regexp.MustCompile(`^<(-?)[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|([^\s;&|<>'"]+))`)

func (s *shell) redirect() {
	if strings.HasPrefix(s.in[s.pos:], "<<") { // takes a word, not a document
		s.pos += 2
		s.word.WriteString("<<<")
		s.inWord = true
		return
	}
	m := heredocStart.FindStringSubmatch(s.in[s.pos:])
	if m == nil {
		s.put('<')
		return
	}
	s.pos += len(m[0])
	s.heredocs = append(s.heredocs, heredoc{end: m[2] + m[3] + m[4], trimTabs: m[1] == "-"})
}

func (s *shell) skipHeredocs() {
	for _, h := range s.heredocs {
		for !s.done() {
			line, rest, _ := strings.Cut(s.in[s.pos:], "\n")
			s.pos = len(s.in) - len(rest)
			line = strings.TrimSuffix(line, "\r")
			if h.trimTabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
		}
	}
	s.heredocs = nil
}
