package cli

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/settings"
)

// everyCommand calls see for all commands but those that cobra brings.
func everyCommand(c *cobra.Command, see func(*cobra.Command)) {
	if c.Name() == "completion" || c.Name() == "help" {
		return
	}
	see(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, see)
	}
}

// ownFlags are the flags of a command and those of the commands above, but the controller's settings, which settings.md lists.
func ownFlags(c *cobra.Command) []*pflag.Flag {
	c.InitDefaultHelpFlag()
	var out []*pflag.Flag
	see := func(f *pflag.Flag) {
		if c.Name() != "controller" || !settings.Known(settings.EnvName(f.Name)) {
			out = append(out, f)
		}
	}
	c.NonInheritedFlags().VisitAll(see)
	c.InheritedFlags().VisitAll(see)
	return out
}

// differs are the flags that do not mean the same in every command that has them, with what each is there.
var differs = map[string]string{
	"account-id": "of what is written, or of what is checked", "filename": "what is read", "facts": "what is begun with", "node-role": "for the stack, or of the set-up that is checked",
	"image": "of the controller, or an AMI", "set": "a setting, or a value of the chart", "timeout": "of the start, or of the end", "parameter": "of a template", "help": "cobra names the command in it",
	"verbose": "what else is shown", "boot-time": "the simulator's time, or the demo's", "seed": "of what the simulator draws", "stack": "deployed, or run under as well",
	"queue": "what holds without it", "controller-role": "what holds without it", "compat": "an edition of the permissions, or whose defaults hold", "interruption-queue": "what holds without it", "role-arn": "what holds without it",
	"snapshot":  "written, or what is simulated",
	"replicas":  "that run here, or of the Deployment",
	"queue-arn": "for the stack, or of the set-up that is checked", "output-file": "kerf catalog update writes no text",
}

func TestFlagsAreTheSameInEveryCommand(t *testing.T) {
	type spelling struct{ command, usage, shorthand, kind string }
	seen := map[string][]spelling{}
	everyCommand(Root(), func(c *cobra.Command) {
		for _, f := range ownFlags(c) {
			if !f.Hidden {
				seen[f.Name] = append(seen[f.Name], spelling{c.CommandPath(), f.Usage, f.Shorthand, f.Value.Type()})
			}
		}
	})
	// What follows in parentheses or after "AWS region" is what holds in that command.
	says := func(usage string) string {
		usage, _, _ = strings.Cut(usage, " (default")
		usage, _, _ = strings.Cut(usage, " (required")
		usage, _, _ = strings.Cut(usage, " [$")
		for _, begin := range []string{"AWS region", "name of the EKS cluster", "name of the local cluster", "namespace of the", "output format:", "port of", "folder for logs"} {
			if strings.HasPrefix(usage, begin) {
				return begin
			}
		}
		return usage
	}
	means := map[string][]string{
		"cluster-name": {"name of the EKS cluster", "name of the local cluster"}, "region": {"AWS region"}, "output": {"output format:"}, "port": {"port of"}, "namespace": {"namespace of the"},
	}
	for name, all := range seen {
		for _, s := range all {
			if want := means[name]; want != nil && !slices.Contains(want, says(s.usage)) {
				t.Errorf("%s --%s: help says %q, want it to begin with %q", s.command, name, s.usage, want)
			}
			first := all[0]
			if s.kind != first.kind && differs[name] == "" {
				t.Errorf("--%s is a %s in %s and a %s in %s", name, first.kind, first.command, s.kind, s.command)
			}
			if s.shorthand != first.shorthand && name != "version" {
				t.Errorf("--%s is -%s in %s and -%s in %s", name, first.shorthand, first.command, s.shorthand, s.command)
			}
			if differs[name] == "" && means[name] == nil && says(s.usage) != says(first.usage) {
				t.Errorf("--%s: %s says %q, and %s %q", name, first.command, first.usage, s.command, s.usage)
			}
		}
	}
	for name := range differs {
		if len(seen[name]) < 2 {
			t.Errorf("differs lists --%s, which %d commands have", name, len(seen[name]))
		}
	}
}

func TestOutputIsAFormatInEveryCommand(t *testing.T) {
	silent := []string{ // they run something, write files of several sorts, or only hold others
		"kerf", "kerf stack", "kerf migrate", "kerf catalog", "kerf explain", "kerf local", "kerf exit-codes",
		"kerf controller", "kerf ui", "kerf top", "kerf demo", "kerf demo images", "kerf local up", "kerf local down", "kerf stack terraform",
	}
	everyCommand(Root(), func(c *cobra.Command) {
		f := c.Flags().Lookup("output")
		if f == nil {
			if !slices.Contains(silent, c.CommandPath()) {
				t.Errorf("%s has no -o", c.CommandPath())
			}
			return
		}
		o, ok := f.Value.(*form)
		if !ok || f.Shorthand != "o" {
			t.Errorf("%s: -o is no format but a %s", c.CommandPath(), f.Value.Type())
			return
		}
		if c.Flags().Lookup("output-file") == nil {
			t.Errorf("%s has no --output-file", c.CommandPath())
		}
		for _, want := range []string{jsonFormat, yamlFormat} {
			if !slices.Contains(o.formats, want) {
				t.Errorf("%s has no -o %s", c.CommandPath(), want)
			}
		}
		if slices.Contains(o.formats, textFormat) != (o.answer != nil) {
			t.Errorf("%s: the reference page needs the type of its answer, and of nothing else", c.CommandPath())
		}
		if o.answer != nil {
			jsonNames(t, c.CommandPath(), reflect.TypeOf(o.answer), nil)
		}
	})
}

var camelCase = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// jsonNames fails for names in JSON of another style.
func jsonNames(t *testing.T, where string, of reflect.Type, in []reflect.Type) {
	t.Helper()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		jsonNames(t, where, of.Elem(), in)
	case reflect.Struct:
		if slices.Contains(in, of) || of.PkgPath() == "time" {
			return
		}
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported():
				continue
			case name == "" && !f.Anonymous || name != "" && !camelCase.MatchString(name):
				t.Errorf("%s: field %s of %s is %q in JSON", where, f.Name, of, name)
			}
			jsonNames(t, where, f.Type, append(slices.Clone(in), of))
		}
	}
}

func TestEveryFlagOfAChoiceHasCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	t.Setenv("AWS_CONFIG_FILE", "testdata/aws-config")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "testdata/none")
	wants := map[string]string{
		"output": "json", "color": "never", "context": "prod", "profile": "reader", "region": "eu-west-1",
		"compat": "v1.0", "controller": "pod-identity", "access-entry": "EC2_LINUX",
	}
	tried := map[string]bool{}
	everyCommand(Root(), func(c *cobra.Command) {
		if !c.Runnable() || c.HasSubCommands() {
			return
		}
		for _, f := range ownFlags(c) {
			want, ok := wants[f.Name]
			if !ok {
				continue
			}
			if f.Name == "compat" && c.Name() == "to-kerf" {
				want = "karpenter"
			}
			tried[f.Name] = true
			var out, errs bytes.Buffer
			args := append([]string{"__complete"}, strings.Fields(c.CommandPath())[1:]...)
			if code := Main(append(args, "--"+f.Name, ""), &out, &errs); code != 0 || !slices.Contains(strings.Split(out.String(), "\n"), want) {
				t.Errorf("%s --%s offers no %s (exit code %d): %.300s", c.CommandPath(), f.Name, want, code, out.String())
			}
		}
	})
	for name := range wants {
		if !tried[name] {
			t.Errorf("no command has --%s", name)
		}
	}
	if got := awsProfiles(); !slices.Equal(got, []string{"default", "reader"}) {
		t.Errorf("profiles are %q", got)
	}
}

func TestEveryCommandHasAGroupAndAnExample(t *testing.T) {
	everyCommand(Root(), func(c *cobra.Command) {
		topic := c.Name() == "exit-codes"
		if c.HasParent() && !c.Parent().HasParent() && c.GroupID == "" && c.Name() != "version" && !topic {
			t.Errorf("%s is in no group", c.CommandPath())
		}
		if topic {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, words := range kerfCommands(c.Example) {
			if err := parses(words); err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), strings.Join(words, " "), err)
			}
		}
	})
	for path := range outcomes {
		if c, _, err := Root().Find(strings.Fields(path)[1:]); err != nil || c.CommandPath() != path {
			t.Errorf("outcomes has %s, which is no command", path)
		}
	}
}

// parses tells whether a command takes its flags and arguments.
func parses(words []string) error {
	root := Root()
	c, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	old := ""
	c.Flags().Visit(func(f *pflag.Flag) {
		if o, ok := f.Value.(*form); f.Hidden || ok && o.taken {
			old = f.Name
		}
	})
	if old != "" {
		return fmt.Errorf("--%s is spelled as in older releases", old)
	}
	if c.Args == nil {
		return nil
	}
	return c.Args(c, c.Flags().Args())
}

// kerfCommands are the commands of kerf in lines for a shell.
func kerfCommands(text string) [][]string {
	var out [][]string
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		var words []string
		end := func() {
			if len(words) > 1 && words[0] == "kerf" {
				out = append(out, words)
			}
			words = nil
		}
		for _, w := range shellWords.FindAllString(line, -1) {
			switch {
			case strings.HasPrefix(w, "#"):
				words = append(words, "#")
			case w == "|" || w == "||" || w == "&&" || w == "&":
				end()
			case strings.HasPrefix(w, ">") || strings.HasPrefix(w, "2>"):
				words = append(words, ">")
			default:
				words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(w))
			}
		}
		if at := slices.IndexFunc(words, func(w string) bool { return w == "#" || w == ">" }); at >= 0 {
			words = words[:at]
		}
		end()
	}
	return out
}

var shellWords = regexp.MustCompile(`#.*|(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// Commands in pages and in the files of other packages are spelled as the command takes them.
func TestCommandsInPagesParse(t *testing.T) {
	pages := markdown(t, "../../README.md", "../../docs/*.md", "../../examples/*.md", "../../charts/*/README.md")
	n := 0
	for name, text := range pages {
		for _, block := range codeBlocks(text) {
			sentence := !strings.Contains(block, "\n") // which may name a command without all that it needs
			for _, words := range kerfCommands(strings.TrimRight(block, "\n")) {
				if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, "…$<`") }) {
					continue // a pattern, or a shell's own
				}
				n++
				err := parses(words)
				if _, ok := errors.AsType[*usageError](err); sentence && ok {
					continue
				}
				if _, ok := errors.AsType[*pflag.ValueRequiredError](err); sentence && ok {
					continue
				}
				if err != nil {
					t.Errorf("%s: %q: %v", name, strings.Join(words, " "), err)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d commands were tried", n)
	}
}
