package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	done       = 0
	failed     = 1 // something could not be asked, read or written
	wrongUsage = 2 // the command can't be run as it was called
	foundWrong = 3 // the command did what it should and found something wrong

	interrupted = 130 // by a signal; shells have it for Ctrl-C
)

// ExitCode is one row of the table of exit codes.
type ExitCode struct {
	Code  int
	Name  string
	Means string
}

// ExitCodes is the table of exit codes. They mean the same in every command.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{done, "done", "The command did what it should, and nothing is wrong; there may be advice or warnings."},
		{failed, "failed", "The command could not do all of it: a cluster, an account or a controller could not be asked, or a file could not be written."},
		{wrongUsage, "wrong usage", "The command can't be run as it was called: a command, flag, value or name that does not exist, or an input file that can't be read or parsed."},
		{foundWrong, "found something wrong", "The command did what it should, and the answer is not the good one: checks that failed, objects that are refused, a difference, something to decide."},
		{interrupted, "interrupted", "Ctrl-C or SIGTERM ended the command before it was done. Commands that run until then, such as kerf controller, end with 0."},
	}
}

// outcome says what 0, 3 and 1 are in one command; empty: what they are in all.
type outcome struct{ done, foundWrong, failed string }

// outcomes has every command that says more than the table of exit codes, by its path.
var outcomes = map[string]outcome{
	"kerf doctor": {
		done: "nothing failed, there may be warnings", foundWrong: "something failed",
		failed: "AWS, EC2 or the cluster could not be examined, though --no-aws or --no-kubernetes did not leave it out",
	},
	"kerf stack check": {
		done: "nothing is wrong, there may be advice", foundWrong: "something is wrong; with --fix, something is left that it can't fix",
		failed: "something of the account could not be read, and nothing else was found",
	},
	"kerf migrate check": {
		done: "ready to swap", foundWrong: "something blocks the swap",
		failed: "the cluster could not be examined, or AWS could not, though --no-aws did not leave it out",
	},
	"kerf convert": {
		done: "converted", foundWrong: "converted, with something to decide, marked with ! in the report",
		failed: "AWS could not be asked, or the output could not be written",
	},
	"kerf status": {
		done: "healthy, there may be warnings", foundWrong: "something is wrong",
		failed: "the controller could not be asked",
	},
	"kerf explain": {done: "answered", foundWrong: "no decision knows the object", failed: "the controller could not be asked"},
	"kerf replay": {
		done: "the same, or nothing to compare with", foundWrong: "different",
		failed: "the controller could not be asked, or the file could not be written",
	},
	"kerf plan": {
		done:       "nothing is in the way, whether nodes would be replaced or not",
		foundWrong: "something is in the way: an object that is refused or can't be used, or nodes that should be replaced and are kept",
		failed:     "the cluster or AWS could not be read",
	},
	"kerf simulate": {
		done: "simulated, and all assertions hold", foundWrong: "simulated, and an assertion does not hold",
		failed: "a run failed, or an output could not be written",
	},
	"kerf audit": {
		done:   "audited, whatever was found; what could not be read is said in the report",
		failed: "the cluster or, with --with-aws, the account could not be asked; or nodes may not be listed: the report is written all the same",
	},
	"kerf demo":        {done: "every step happened in its time, and every promise was kept", failed: "a step failed, or took too long"},
	"kerf demo images": {done: "every instance joined as planned", failed: "one did not join, or not as planned"},
}

// text is an outcome as a list in the help of a command.
func (o outcome) text() string {
	means := map[int]string{done: o.done, failed: o.failed, wrongUsage: "wrong usage, or input that can't be read", foundWrong: o.foundWrong}
	var b strings.Builder
	b.WriteString("Exit codes:")
	for _, e := range ExitCodes() {
		if text := means[e.Code]; text != "" {
			fmt.Fprintf(&b, "\n  %d  %s", e.Code, strings.ReplaceAll(folded(text, helpWidth-5), "\n", "\n     "))
		}
	}
	return b.String()
}

// sayExitCodes adds to the help of the commands below what their exit codes are.
func sayExitCodes(c *cobra.Command) {
	if o, ok := outcomes[c.CommandPath()]; ok {
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		c.Long += "\n\n" + o.text()
	}
	for _, sub := range c.Commands() {
		sayExitCodes(sub)
	}
}

// helpWidth is the longest line of help texts.
const helpWidth = 118

// folded breaks a paragraph between words into lines of a width.
func folded(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// newExitCodesTopic is the help topic of that name: a command that does nothing and is listed under the further topics.
func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Every command ends with one of these codes, which mean the same in all of them:\n")
	for _, e := range ExitCodes() {
		fmt.Fprintf(&b, "\n  %d  %s\n", e.Code, e.Name)
		fmt.Fprintf(&b, "     %s\n", strings.ReplaceAll(folded(e.Means, helpWidth-5), "\n", "\n     "))
	}
	b.WriteString("\nThe help of a command says what they are in its case. With --quiet the code is often all that is needed:\n\n" +
		"  kerf stack check stack.yaml --quiet || echo \"ended with $?\"")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of all commands mean", Long: b.String()}
}

// Outcomes is what the exit codes are in one command, as its help says it; empty where they are what they are in all.
func Outcomes(c *cobra.Command) string {
	o, ok := outcomes[c.CommandPath()]
	if !ok {
		return ""
	}
	return o.text()
}
