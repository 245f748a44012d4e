package awscli

import (
	"fmt"
	"strings"
)

// commands are the aws commands that begin a line of a script, as words. Lines that begin with something else, such as the
// tests that a command stands behind, are left out, and so are commands with words that only a shell knows, and if they are to be left out those that are indented.
func commands(script string, unindented bool) ([][]string, error) {
	var out [][]string
	for rest := script; rest != ""; {
		words, shell, after, err := line(rest)
		if err != nil {
			return nil, err
		}
		indented := strings.HasPrefix(rest, " ")
		if len(words) > 0 && words[0] == "aws" && !shell && !(indented && unindented) {
			out = append(out, words)
		}
		rest = after
	}
	return out, nil
}

// line reads the words of one line of a shell; quotes may go over several. shell is true if only a shell could tell what
// the words are.
func line(text string) (words []string, shell bool, rest string, err error) {
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			end()
			return words, shell, text[i+1:], nil
		case c == ' ' || c == '\t':
			end()
		case c == '#' && !inWord:
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return words, shell, "", nil
			}
			return words, shell, text[i+n+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
				inWord = true
			}
		case c == '\'' || c == '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return nil, false, "", fmt.Errorf("a quote is not closed: %.60s", text[i:])
			}
			quoted := text[i+1 : i+1+n]
			shell = shell || c == '"' && strings.ContainsAny(quoted, "$`")
			word.WriteString(quoted)
			inWord = true
			i += n + 1
		default:
			shell = shell || strings.IndexByte("$`|&;<>()", c) >= 0
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return words, shell, "", nil
}
