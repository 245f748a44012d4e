package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats of answers: text for people, the others for programs.
const (
	textFormat  = "text"
	jsonFormat  = "json"
	yamlFormat  = "yaml"
	sarifFormat = "sarif" // findings, for code scanning
	junitFormat = "junit" // findings, for test reports of CI
)

// answerFormats are those of a command that answers, checkFormats those of one that finds things.
var (
	answerFormats = []string{textFormat, jsonFormat, yamlFormat}
	checkFormats  = []string{textFormat, jsonFormat, yamlFormat, sarifFormat, junitFormat}
)

// form is how a command answers: -o names a format, --output-file a file. It is the value of -o, and refuses what is no format.
type form struct {
	format  string
	formats []string
	file    string // of --output-file; "-": standard output
	answer  any    // a value of the answer's type, for the reference page; nil for documents of other programs
	command *cobra.Command

	// fileBefore: in releases before, -o named the file. A value that is no format is taken for one, with a warning.
	fileBefore bool
	taken      bool // it was

	paint []stroke                // colours the text on a terminal
	brief func(w io.Writer) error // writes what --quiet leaves of the text; nil: the whole text
}

// register adds the flags to a command. answer is a value of the type that is written as JSON; without formats there are text,
// JSON and YAML, and the first one is the default.
func (f *form) register(c *cobra.Command, answer any, formats ...string) {
	if len(formats) == 0 {
		formats = answerFormats
	}
	f.formats, f.format, f.answer, f.command = formats, formats[0], answer, c
	c.Flags().VarP(f, "output", "o", "output format: "+oneOf(formats))
	f.file = "-"
	c.Flags().StringVar(&f.file, "output-file", "-", "file to write the output to, - for standard output")
	mustComplete(c, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Answer is a value of the type that a command writes as JSON and YAML, and the formats that it has; nil where it writes a document
// of others, or has no format.
func Answer(c *cobra.Command) (answer any, formats []string) {
	if flag := c.Flags().Lookup("output"); flag != nil {
		if f, ok := flag.Value.(*form); ok {
			return f.answer, f.formats
		}
	}
	return nil, nil
}

// String is part of pflag.Value.
func (f *form) String() string { return f.format }

// Type is part of pflag.Value: what help calls the value.
func (f *form) Type() string { return "format" }

// Set is part of pflag.Value.
func (f *form) Set(value string) error {
	switch {
	case slices.Contains(f.formats, value):
		f.format = value
	case f.fileBefore && (strings.ContainsAny(value, "./-") || nearest(value, f.formats) == ""):
		f.file, f.taken = value, true
	default:
		return fmt.Errorf("want %s", oneOf(f.formats))
	}
	return nil
}

// warn says that -o named a file, if it did.
func (f *form) warn(w io.Writer) {
	if f.taken {
		fmt.Fprintf(w, "kerf: -o names a format now; write --output-file %s: the next release takes -o %[1]s for a format and refuses it\n", f.file)
	}
}

// write writes an answer in its format to the file, or else to w; text writes it for people.
func (f *form) write(w io.Writer, answer any, text func(io.Writer) error) error {
	var b bytes.Buffer
	var err error
	switch {
	case f.format != textFormat:
		err = encode(&b, f.format, answer)
	case f.brief != nil && isQuiet(f.command):
		err = f.brief(&b)
	default:
		err = text(&b)
	}
	if err != nil {
		return err
	}
	return f.writeText(w, b.Bytes())
}

// writeChecked is write for a command with checkFormats; found makes the findings of the answer.
func (f *form) writeChecked(w io.Writer, answer any, found func() *findings, text func(io.Writer) error) error {
	var content []byte
	var err error
	switch f.format {
	case sarifFormat:
		content, err = found().sarif()
	case junitFormat:
		content, err = found().junit()
	default:
		return f.write(w, answer, text)
	}
	if err != nil {
		return err
	}
	return f.writeText(w, content)
}

// writeText writes what is in its format already.
func (f *form) writeText(w io.Writer, content []byte) error {
	if f.file != "-" {
		return writeWhole(f.file, content)
	}
	if f.format == textFormat && len(f.paint) > 0 && isColored(f.command, w) {
		content = painted(content, f.paint)
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// writeDocument writes a document that is in the first of the formats in the one that is asked for. Comments are lost on the way
// to another.
func (f *form) writeDocument(w io.Writer, content []byte) error {
	if f.format != f.formats[0] {
		var document any
		if err := yaml.Unmarshal(content, &document); err != nil { // JSON is YAML
			return fmt.Errorf("writing the output as %s: %w", f.format, err)
		}
		var b bytes.Buffer
		if err := encode(&b, f.format, document); err != nil {
			return err
		}
		content = b.Bytes()
	}
	return f.writeText(w, content)
}

// encode writes a value as JSON or as YAML, which has the same names.
func encode(w io.Writer, format string, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("writing the output as %s: %w", format, err)
	}
	content := b.Bytes()
	if format == yamlFormat {
		var err error
		if content, err = yaml.JSONToYAML(content); err != nil {
			return fmt.Errorf("writing the output as %s: %w", format, err)
		}
	}
	_, err := w.Write(content)
	return err
}

// oneOf is a list of choices for people: a, b or c.
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// notices is where a command says what is not its answer, such as its progress: standard error, or nowhere with --quiet.
func notices(c *cobra.Command) io.Writer {
	if isQuiet(c) {
		return io.Discard
	}
	return c.ErrOrStderr()
}

// isQuiet tells whether --quiet was given.
func isQuiet(c *cobra.Command) bool {
	quiet, err := c.Root().PersistentFlags().GetBool("quiet")
	return err == nil && quiet
}

// isTerminal tells whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(int(f.Fd()))
}
