package cli

import (
	"bytes"
	"io"
	"os"
	"regexp"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The choices of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// terminal tells whether a file descriptor is one.
var terminal = term.IsTerminal

// isColored tells whether what is written to w is in colour: as --color says, else on terminals that can, unless NO_COLOR is set.
func isColored(c *cobra.Command, w io.Writer) bool {
	when := colorAuto
	if f := c.Root().PersistentFlags().Lookup("color"); f != nil {
		when = f.Value.String()
	}
	switch when {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

// stroke colours what a pattern matches in a line: its first group, or all of it where there is no group.
type stroke struct {
	pattern *regexp.Regexp
	color   *color.Color
}

func strokeOf(pattern string, attributes ...color.Attribute) stroke {
	c := color.New(attributes...)
	c.EnableColor() // whether there is colour at all is decided once, in isColored
	return stroke{regexp.MustCompile(pattern), c}
}

// What colours mean, in every command.
var (
	wrongColor   = []color.Attribute{color.FgRed, color.Bold}
	doubtColor   = []color.Attribute{color.FgYellow}
	rightColor   = []color.Attribute{color.FgGreen}
	quietColor   = []color.Attribute{color.Faint}
	remedyColor  = []color.Attribute{color.FgCyan}
	headingColor = []color.Attribute{color.Bold}
)

// painted colours a text line by line; the first stroke that fits a line is taken.
func painted(text []byte, strokes []stroke) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		line, end := bytes.TrimSuffix(line, []byte("\n")), line[len(bytes.TrimSuffix(line, []byte("\n"))):]
		from, to, with := 0, 0, (*color.Color)(nil)
		for _, s := range strokes {
			at := s.pattern.FindSubmatchIndex(line)
			if at == nil {
				continue
			}
			from, to, with = at[0], at[1], s.color
			if len(at) > 2 && at[2] >= 0 {
				from, to = at[2], at[3]
			}
			break
		}
		out.Write(line[:from])
		if with != nil && to > from {
			out.WriteString(with.Sprint(string(line[from:to])))
		}
		out.Write(line[to:])
		out.Write(end)
	}
	return out.Bytes()
}
