package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/fix"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
	"github.com/kerf-sh/kerf/internal/version"
)

// stackCheck holds the flags of the command.
type stackCheck struct {
	stack      *stack.Options
	hints      check.Hints
	parameters []string
	live       bool
	fix, whole bool
	takeOut    bool
	output     form
	profile    string
	notices    io.Writer // what is no answer and no problem
}

func newStackCheckCommand() *cobra.Command {
	s := &stackCheck{}
	c := &cobra.Command{
		Use:   "check FILE | --live",
		Short: "Say what is missing, too wide or different in a set-up that exists",
		Long: `Reads a CloudFormation template, a Terraform plan (terraform show -json), plain IAM policies, or with --live the account of
--profile and --region or the SDK's own settings, and compares it with the stack that "kerf stack" would write with the same flags: give those that yours was written with.

Permissions are judged by what they do: every call that the controller makes is evaluated against the policies found, and
so is every such call with one thing changed that a well-scoped policy refuses: another cluster's tag, another region,
another role. Rules are tried with sample events, the queue's and the key's policy with what EventBridge does.

--fix prints what fixes it in place of the report: for a template a template with the resources to change or add, under the
same logical IDs; for a plan Terraform blocks under the same addresses; for policies the policies; for an account a shell
script of aws commands that change what is there in place, to read and then to run. Where an account seems to be made with
options that are not given, no script is printed: give them, or --take-out. With --whole a template is printed whole,
with the resources in their places, ready to deploy. What --fix cannot fix is said on standard error.`,
		Example: `  kerf stack check cloudformation.yaml --parameter ClusterName=demo --compat v1.0
  kerf stack check cloudformation.yaml --cluster-name demo --fix           # what is to change
  kerf stack check cloudformation.yaml --cluster-name demo --fix --whole > fixed.yaml

  terraform plan -out plan.bin && terraform show -json plan.bin > plan.json
  kerf stack check plan.json --cluster-name demo

  kerf stack check --live --cluster-name demo -o json
  kerf stack check --live --cluster-name demo --fix > fix.sh               # read it, then: sh fix.sh

  # in a CI job: for code scanning, and as a test report
  kerf stack check stack.yaml --cluster-name demo -o sarif --output-file kerf.sarif
  kerf stack check stack.yaml --cluster-name demo -o junit --output-file kerf.xml`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case s.live && len(args) > 0:
				return &usageError{errors.New("--live reads the account; give no file beside it")}
			case !s.live && len(args) != 1:
				return &usageError{fmt.Errorf("name one file (- for standard input), or give --live; %d were given (see %s --help)", len(args), c.CommandPath())}
			}
			return nil
		},
	}
	f := c.Flags()
	s.stack = stackFlags(c)
	f.Lookup("region").Usage = "AWS region of the set-up, where it does not tell; with --live the one that is read [$AWS_REGION]"
	name := f.Lookup("cluster-name")
	name.Usage = "name of the EKS cluster [$CLUSTER_NAME with --live] (default: the one that the set-up is for)"
	delete(name.Annotations, variableKey) // a file may be of another cluster than the shell's
	f.StringVar(&s.stack.QueueARN, "queue-arn", "", "ARN of an interruption queue that is not of the set-up, as in kerf stack cloudformation --queue-arn; it is not judged")
	accountFlag(f, s.stack, "account that a template or policies are for, where they do not tell; with --live the one that must be read")
	f.StringVar(&s.stack.AccountID, "account", "", "same as --account-id")
	f.StringArrayVar(&s.parameters, "parameter", nil, "value of a parameter of the template: NAME=VALUE (repeatable)")
	profileFlag(c, &s.profile)
	f.BoolVar(&s.live, "live", false, "check the account of the SDK's settings (AWS_PROFILE and others) in --region, else in theirs (AWS_REGION)")
	f.BoolVar(&s.fix, "fix", false, "print what fixes it")
	f.BoolVar(&s.whole, "whole", false, "with --fix: print all of the template, fixed")
	f.BoolVar(&s.takeOut, "take-out", false, "with --live --fix: take out what the account has for options that are not given")
	s.output.register(c, check.Report{}, checkFormats...)
	s.output.paint = checkPaint
	f.StringVar(&s.hints.Queue, "queue", "", "interruption queue, by name, ARN or URL (default: the one that the rules send to)")
	f.StringVar(&s.hints.NodeRole, "node-role", "", "role of the nodes, by name or ARN (default: the one for EC2)")
	f.StringVar(&s.hints.ControllerRole, "controller-role", "", "role of the controller, by name or ARN (default: the one of its service account, or else all policies that are not of nodes)")
	c.RunE = func(c *cobra.Command, args []string) error {
		takeDefaults(f, s.stack)
		if err := s.checkFlags(f); err != nil {
			return err
		}
		if s.live {
			if err := setFromVariable(name, clusterNameVariable); err != nil {
				return &usageError{err}
			}
		}
		s.hints.ServiceAccount = s.stack.ServiceAccount
		if f.Changed("namespace") {
			s.hints.Namespace = s.stack.Namespace
		}
		s.notices = notices(c)
		return s.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

func (s *stackCheck) checkFlags(f *pflag.FlagSet) error {
	switch {
	case s.profile != "" && !s.live:
		return &usageError{errors.New("--profile says which account is read; give --live")}
	case s.whole && !s.fix:
		return &usageError{errors.New("--whole goes with --fix")}
	case s.whole && s.live:
		return &usageError{errors.New("--whole is for a template that is given; with --live there is none")}
	case s.takeOut && !(s.live && s.fix):
		return &usageError{errors.New("--take-out goes with --live --fix")}
	case s.fix && f.Changed("output"):
		return &usageError{errors.New("--fix prints what fixes it in place of the report, and so -o has nothing to do")}
	}
	return nil
}

// noteOptions says which options the set-up was made with that were not given here, as far as it shows.
func (s *stackCheck) noteOptions(found *awssetup.Setup, kind setupfile.Kind, o check.Options, r *check.Report) {
	if flags := check.Unasked(found, kind, o); len(flags) > 0 {
		r.Notes = append(r.Notes, "it seems to be made with "+strings.Join(flags, " ")+": give the check the options that the stack was written with, and less is found")
	}
}

// noteEdition says that the set-up is that of an older edition, if it is.
func (s *stackCheck) noteEdition(found *awssetup.Setup, kind setupfile.Kind, o check.Options, r *check.Report) {
	if c, ok := check.OlderEdition(found, kind, o); ok {
		r.Ease()
		r.Notes = append(r.Notes, fmt.Sprintf("with --compat %s nothing is wrong: it is a set-up of that edition, and this is what %s has otherwise; what that guide allows beyond it is advice", c, o.Stack.Compat))
	}
}

func (s *stackCheck) run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) error {
	found, kind, data, err := s.read(ctx, args, in)
	if err != nil {
		return err
	}
	o := check.Options{Stack: *s.stack, Hints: s.hints}
	if s.fix {
		return s.printFix(found, kind, data, o, out, errs)
	}
	r, err := check.Compare(found, kind, o)
	if err != nil {
		return &usageError{err}
	}
	if r.Wrong() {
		s.noteEdition(found, kind, o, r)
	}
	s.noteOptions(found, kind, o, r)
	s.output.brief = r.WriteProblems
	if err := s.output.writeChecked(out, r, func() *findings { return checkFindings(r, args, data) }, r.WriteText); err != nil {
		return err
	}
	switch {
	case r.Wrong():
		return &exitError{code: foundWrong}
	case len(r.Unread) > 0:
		return &exitError{code: failed, said: "not all could be read, and so not all was judged"}
	}
	return nil
}

// read reads what is to be checked; data is the file, if it is one.
func (s *stackCheck) read(ctx context.Context, args []string, in io.Reader) (*awssetup.Setup, setupfile.Kind, []byte, error) {
	if s.live {
		setup, err := s.readLive(ctx)
		return setup, setupfile.KindLive, nil, err
	}
	parameters := map[string]string{}
	for _, p := range s.parameters {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, "", nil, &usageError{fmt.Errorf("--parameter %q: write NAME=VALUE", p)}
		}
		parameters[name] = value
	}
	data, err := readFileOr(args[0], in)
	if err != nil {
		return nil, "", nil, &usageError{err}
	}
	setup, kind, err := setupfile.Read(data, setupfile.ReadOptions{
		Source: args[0], ClusterName: s.stack.ClusterName, AccountID: s.stack.AccountID, Region: s.stack.Region, Parameters: parameters,
		Given: slices.Concat(s.stack.VolumeKeys, s.stack.Parameters, s.stack.PassRoles, []string{s.stack.KMSKey, s.stack.QueueARN, s.hints.NodeRole, s.stack.PermissionsBoundary}),
	})
	if err != nil {
		err = &usageError{err}
	}
	return setup, kind, data, err
}

func readFileOr(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return data, nil
	}
	data, err := os.ReadFile(name)
	if p, ok := errors.AsType[*fs.PathError](err); ok { // it names the file and a system call
		return nil, fmt.Errorf("read %s: %w", name, p.Err)
	}
	return data, err
}

func (s *stackCheck) readLive(ctx context.Context) (*awssetup.Setup, error) {
	if s.stack.ClusterName == "" {
		return nil, &usageError{errors.New("--live needs --cluster-name: an account may have several")}
	}
	if len(s.parameters) > 0 {
		return nil, &usageError{errors.New("--parameter is for templates; with --live there are none")}
	}
	session, err := session.New(ctx, session.Options{Version: version.Version, Region: s.stack.Region, Profile: s.profile})
	if err != nil {
		return nil, err
	}
	queue := s.hints.Queue
	if queue == "" {
		queue = cmp.Or(s.stack.QueueARN, s.stack.QueueName)
	}
	a, err := account.Look(ctx, session, account.Options{
		ClusterName: s.stack.ClusterName, Queue: queue, NodeRole: s.hints.NodeRole, ControllerRole: s.hints.ControllerRole,
		Namespace: s.hints.Namespace, ServiceAccount: s.hints.ServiceAccount,
	})
	if err != nil {
		return nil, err
	}
	if want := s.stack.AccountID; want != "" && want != a.AccountID {
		return nil, &usageError{fmt.Errorf("--account-id %s: the credentials are of account %s; give those of the other one, such as by AWS_PROFILE, or leave --account-id out", want, a.AccountID)}
	}
	// The account says which is which better than the setup alone does.
	s.hints.ControllerRole, s.hints.NodeRole = a.ControllerRole, a.NodeRole
	switch {
	case s.stack.QueueARN != "": // it is not judged
	case a.QueueARN != "":
		s.hints.Queue = a.QueueARN
	case a.QueueName != "": // it is missing; no other may be taken for it
		s.hints.Queue = a.QueueName
		if a.QueueName != s.stack.ClusterName {
			s.stack.QueueName = a.QueueName
		}
	}
	return &a.Setup, nil
}

// printFix prints what fixes what was found; what nothing can fix is said on standard error.
func (s *stackCheck) printFix(found *awssetup.Setup, kind setupfile.Kind, data []byte, o check.Options, out, errs io.Writer) error {
	fixed, err := fix.Write(found, kind, data, fix.Options{Options: o, Whole: s.whole})
	if err != nil {
		return &usageError{err}
	}
	var flags []string
	if fixed.Changed {
		flags = check.Unasked(found, kind, o)
	}
	if s.live && !s.takeOut && len(flags) > 0 {
		// The script is run against what works now.
		return &usageError{fmt.Errorf("%s seems to be made with %s: give these options, too; with --take-out the script takes out what they give", found.Source, strings.Join(flags, " "))}
	}
	if err := writeTo(out, s.output.file, fixed.Text); err != nil {
		return err
	}
	if len(flags) > 0 {
		fmt.Fprintf(s.notices, "kerf: it seems to be made with %s; what these give is taken out unless they are given here, too\n", strings.Join(flags, " "))
	}
	if !fixed.Changed && len(fixed.Left) == 0 {
		fmt.Fprintln(s.notices, "kerf: nothing has to be fixed")
	}
	for _, u := range found.Gaps {
		fmt.Fprintf(errs, "kerf: not judged, and so not fixed: %s: %s\n", u.What, u.Why)
	}
	for _, f := range fixed.Left {
		fmt.Fprintf(errs, "kerf: not fixed: %s: %s: %s\n", f.Thing, f.What, f.Fix)
	}
	switch {
	case len(fixed.Left) > 0:
		return &exitError{code: foundWrong}
	case len(found.Gaps) > 0:
		return &exitError{code: failed, said: "not all could be read, and so not all was judged"}
	}
	return nil
}
