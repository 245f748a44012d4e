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
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/version"
)

// Main runs the command line and returns one of the exit codes that ExitCodes lists.
func Main(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == simulateWorkerArgument {
		return runSimulateWorker(os.Stdin, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := Root()
	began := watchBegin(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return done
	}
	mark := "kerf:"
	if isColored(root, stderr) {
		mark = string(painted([]byte(mark), []stroke{strokeOf("^kerf:", wrongColor...)}))
	}
	if ctx.Err() != nil { // what the error says follows from it
		fmt.Fprintf(stderr, "%s interrupted\n", mark)
		return interrupted
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.said != "" {
			fmt.Fprintf(stderr, "%s %s\n%s", mark, e.said, rightToRead(command, e.said))
		}
		return e.code
	}
	fmt.Fprintf(stderr, "%s %v\n%s", mark, err, rightToRead(command, err.Error()))
	if _, ok := errors.AsType[*usageError](err); ok || !*began {
		return wrongUsage
	}
	return failed
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

// exitError ends a command that has told all it has to tell with an exit code of its own.
type exitError struct {
	code int
	said string // on standard error; may be empty
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError marks errors in how the command was called.
type usageError struct{ error }

// The groups of commands in help.
const (
	groupAWS     = "aws"
	groupInstall = "install"
	groupRun     = "run"
	groupLocal   = "local"
)

// Root makes the command line.
func Root() *cobra.Command {
	var color string
	root := &cobra.Command{
		Use:   "kerf",
		Short: "A node autoscaler for Kubernetes on AWS, and the tools around it",
		Example: `  kerf local up                                    # try it, with no AWS account
  kerf stack cloudformation --cluster-name demo    # what an account needs
  kerf manifests --cluster-name demo               # what a cluster needs
  kerf doctor --cluster-name demo                  # what is wrong with either`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              aCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return prepare(c) },

		DisableFlagsInUseLine: true,
		Version:               version.String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	colors := choiceFlag(&color, colorAuto, colorAuto, colorAlways, colorNever)
	root.PersistentFlags().Var(colors, "color", "colour the output: auto, always or never; auto is on a terminal, unless NO_COLOR is set")
	mustComplete(root, "color", colors.words())
	root.PersistentFlags().BoolP("quiet", "q", false, "write only the answer, and of checks only problems; the exit code says the rest")
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupAWS, "Set up AWS:", []*cobra.Command{newStackCommand(), newDoctorCommand()}},
		{groupInstall, "Install, and move over from older releases:", []*cobra.Command{newManifestsCommand(), newMigrateCommand(), newConvertCommand()}},
		{groupRun, "Run and understand:", []*cobra.Command{newAuditCommand(), newControllerCommand(), newStatusCommand(), newTopCommand(), newUICommand(), newPlanCommand(), newSimulateCommand(), newExplainCommand(), newReplayCommand(), newCatalogCommand()}},
		{groupLocal, "Try it on this computer:", []*cobra.Command{newLocalCommand(), newDemoCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersionCommand(), newExitCodesTopic())
	root.InitDefaultCompletionCmd() // now, so that it is like the other groups
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE, c.DisableFlagsInUseLine = aCommand, func(c *cobra.Command, _ []string) error { return c.Help() }, true
			c.Example = "  source <(kerf completion bash)"
			for _, shell := range c.Commands() {
				shell.Args = noArguments
			}
		}
	}
	sayExitCodes(root)
	completeArguments(root)
	return root
}

// prepare does before a command runs what is the same for all: flags that were not given get what the environment says, and
// spellings of older releases are told.
func prepare(c *cobra.Command) error {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if o, ok := f.Value.(*form); ok {
			o.warn(c.ErrOrStderr())
		}
	})
	return readVariables(c)
}

// completeArguments keeps shells from offering files where a command takes no arguments, or only names.
func completeArguments(c *cobra.Command) {
	takesFile := strings.Contains(c.Use, "FILE")
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !takesFile && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		completeArguments(sub)
	}
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

// build is what kerf version answers.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand() *cobra.Command {
	var output form
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Example: `  kerf version
  kerf version -o json | jq -r .version`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			b := build{version.Version, version.Commit, version.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return output.write(c.OutOrStdout(), b, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, version.String())
				return err
			})
		},
	}
	output.register(c, build{})
	return c
}
