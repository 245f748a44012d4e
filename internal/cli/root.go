// Package cli holds Kerf's subcommands. They parse flags and print; what they do lives in the packages they call.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/version"
)

// Main runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 something was found wrong.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	began := watchBegin(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.said != "" {
			fmt.Fprintf(stderr, "kerf: %s\n", e.said)
		}
		return e.code
	}
	fmt.Fprintf(stderr, "kerf: %v\n", err)
	if _, ok := errors.AsType[*usageError](err); ok || !*began {
		return wrongUsage
	}
	return 1
}

// watchBegin tells later whether a command began to run. What fails before is how it was called: a command that there is
// none of, arguments or flags that it does not take; cobra has no type of its own for these errors.
func watchBegin(root *cobra.Command) *bool {
	began := new(bool)
	var watch func(*cobra.Command)
	watch = func(c *cobra.Command) {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				*began = true
				return run(c, args)
			}
		}
		for _, sub := range c.Commands() {
			watch(sub)
		}
	}
	watch(root)
	return began
}

// wrongUsage is the exit code when a command can't be run as it was called.
const wrongUsage = 2

// foundWrong is the exit code of checks that did what they should and found something wrong.
const foundWrong = 3

// exitError ends a command that has told all it has to tell with an exit code of its own.
type exitError struct {
	code int
	said string // on standard error; may be empty
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError marks errors in how the command was called.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kerf",
		Short:         "A node autoscaler for Kubernetes on AWS, and the tools around it",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          aCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		DisableFlagsInUseLine: true,
		Version:               version.String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(newVersionCommand(), newControllerCommand(), newLocalCommand(), newDemoCommand(), newCatalogCommand(),
		newStackCommand(), newDoctorCommand(), newReplayCommand(), newExplainCommand(), newConvertCommand(), newPlanCommand(), newManifestsCommand())
	root.InitDefaultCompletionCmd() // now, so that it is like the other groups
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE, c.DisableFlagsInUseLine = aCommand, func(c *cobra.Command, _ []string) error { return c.Help() }, true
		}
	}
	return root
}

// newHelpCommand is the help that refuses names of commands that there are none of.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Tell about a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if len(rest) > 0 && about.HasSubCommands() {
				return aCommand(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func newVersionCommand() *cobra.Command {
	var output form
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			build := map[string]string{
				"version": version.Version, "commit": version.Commit, "date": version.Date,
				"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			}
			return output.write(c.OutOrStdout(), build, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, version.String())
				return err
			})
		},
	}
	output.register(c.Flags(), "text or json")
	return c
}
