package main

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/cli"
	"github.com/kerf-sh/kerf/internal/settings"
)

func cliPage(b *bytes.Buffer, _ string) error {
	root := cli.Root()
	b.WriteString(`# The command line

Every command has ` + "`--help`" + `. What is the same in all of them comes first; then each command with its flags and what it answers.

## Exit codes

`)
	head(b, "code", "name", "what it means")
	for _, e := range cli.ExitCodes() {
		row(b, code(fmt.Sprint(e.Code)), e.Name, e.Means)
	}
	b.WriteString(`
` + "`kerf help exit-codes`" + ` prints the same.

## Output

- ` + "`-o`" + ` (` + "`--output`" + `) names a format. ` + "`text`" + ` is for people and may change. ` + "`json`" + ` and ` + "`yaml`" + ` have the same fields, listed below;
  names are in camelCase. Prices and costs are whole numbers an hour, in millionths of the ` + "`currency`" + ` beside them, or of USD where none is; those of ` + "`kerf audit`" + ` are whole
  units of its ` + "`prices.currency`" + `. Times are whole numbers of seconds where nothing else is said. NAME stands for names that are data, such as of resources. Fields are added without notice; they are renamed or removed as flags are (see [releases](../releases.md)).
- Checks have ` + "`sarif`" + ` (SARIF 2.1.0, for code scanning) and ` + "`junit`" + ` (for test reports of CI) as well.
  A case fails where the exit code would be 3, and has an error where it would be 1. Results on what is live name the object and no
  file; some viewers show only results with a file.
- ` + "`--output-file`" + ` names a file. It is written whole or not at all.
- The answer goes to standard output, progress and notes go to standard error. ` + "`-q`" + ` (` + "`--quiet`" + `) leaves out the notes, and of checks all
  but problems.
- Text is in colour on a terminal. ` + "`NO_COLOR`" + ` or ` + "`--color never`" + ` turns that off, ` + "`--color always`" + ` keeps it in a pipe.

## Which cluster, which account

These flags are the same in every command that has them. A flag beats its variable.

`)
	head(b, "flag", "variable", "what it sets")
	for _, r := range [][3]string{
		{"--kubeconfig", "KUBECONFIG", "kubeconfig file; without one `~/.kube/config`, or the pod's service account"},
		{"--context", "", "context of the kubeconfig file"},
		{"--namespace", "", "namespace of the controller, or of the pod that is asked about"},
		{"--cluster-name", "CLUSTER_NAME", "name of the EKS cluster"},
		{"--region", "AWS_REGION", "AWS region; without one that of the AWS profile"},
		{"--profile", "AWS_PROFILE", "profile of the AWS configuration"},
		{"--server", "KERF_SERVER", "address of the controller's metrics port, as forwarded"},
		{"--controller-namespace", "KERF_NAMESPACE", "namespace of the controller that `kerf explain` and `kerf replay` ask; without one kube-system, or where its Lease is"},
	} {
		row(b, code(r[0]), code(r[1]), r[2])
	}
	b.WriteString("\n`eval \"$(kerf local env)\"` sets all of these variables for a local cluster.\n" +
		"The commands of `kerf local` take no notice of CLUSTER_NAME: its `--cluster-name` is that of a local cluster, `kerf` where none is given.\n\n## Commands\n\n")
	groups := root.Groups()
	head(b, "command", "what it does")
	var commands []*cobra.Command
	walk(root, func(c *cobra.Command) { commands = append(commands, c) })
	slices.SortStableFunc(commands, func(x, y *cobra.Command) int { return groupOf(groups, x) - groupOf(groups, y) })
	for _, c := range commands {
		row(b, fmt.Sprintf("[`%s`](#%s)", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-")), c.Short)
	}
	told := map[reflect.Type]string{}
	for _, c := range commands {
		writeCommand(b, c, told)
	}
	return nil
}

// walk calls see for each command that does something, but for those that cobra brings.
func walk(c *cobra.Command, see func(*cobra.Command)) {
	if c.Name() == "completion" || c.Name() == "help" {
		return
	}
	if c.HasParent() && c.Runnable() && (!c.HasSubCommands() || c.Flags().HasAvailableFlags()) {
		see(c)
	}
	for _, sub := range c.Commands() {
		walk(sub, see)
	}
}

// groupOf is the place of a command's group among all; those without one come last.
func groupOf(groups []*cobra.Group, c *cobra.Command) int {
	top := c
	for top.Parent().HasParent() {
		top = top.Parent()
	}
	if at := slices.IndexFunc(groups, func(g *cobra.Group) bool { return g.ID == top.GroupID }); at >= 0 {
		return at
	}
	return len(groups)
}

// writeCommand writes what there is to know of a command. told are the types whose fields are written already, with the command.
func writeCommand(b *bytes.Buffer, c *cobra.Command, told map[reflect.Type]string) {
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	codes := cli.Outcomes(c)
	if codes == "" && c.HasParent() {
		codes = cli.Outcomes(c.Parent())
	}
	about = strings.TrimSpace(strings.TrimSuffix(about, codes))
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", c.CommandPath(), escaped(about))
	fmt.Fprintf(b, "```console\n%s\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n%s\n", strings.ReplaceAll("\n"+c.Example, "\n  ", "\n")[1:])
	}
	b.WriteString("```\n\n")
	var rows [][]string
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || c.Name() == "controller" && settings.Known(settings.EnvName(f.Name)) {
			return
		}
		name := code("--" + f.Name)
		if f.Shorthand != "" {
			name = code("-"+f.Shorthand) + ", " + name
		}
		def := f.DefValue
		if slices.Contains([]string{"", "false", "[]", "0", "0s"}, def) {
			def = ""
		}
		rows = append(rows, []string{name, code(def), escaped(f.Usage)})
	}
	c.NonInheritedFlags().VisitAll(add)
	for p := c.Parent(); p != nil && p.HasParent(); p = p.Parent() {
		p.PersistentFlags().VisitAll(add)
	}
	if len(rows) > 0 {
		head(b, "flag", "default", "what it sets")
		for _, r := range rows {
			row(b, r...)
		}
		b.WriteString("\n")
	}
	if c.Name() == "controller" {
		b.WriteString("All other flags are [settings](settings.md).\n\n")
	}
	if codes != "" {
		fmt.Fprintf(b, "%s\n\n", strings.ReplaceAll(strings.ReplaceAll(codes, "Exit codes:", "Exit codes:\n"), "\n  ", "\n- "))
	}
	switch answer, _ := cli.Answer(c); {
	case answer == nil:
	case told[reflect.TypeOf(answer)] != "":
		fmt.Fprintf(b, "As JSON and YAML: the fields of `%s`.\n", told[reflect.TypeOf(answer)])
	default:
		told[reflect.TypeOf(answer)] = c.CommandPath()
		b.WriteString("As JSON and YAML:\n\n")
		writeShape(b, answer)
	}
}

// escaped keeps <…> from being taken for HTML.
func escaped(s string) string { return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s) }
