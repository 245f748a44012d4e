package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/version"
)

// stackTerraform holds the flags of the command.
type stackTerraform struct {
	stack   *stack.Options
	dir     string
	imports string // file
	module  string // address
	profile string
}

func newStackTerraformCommand() *cobra.Command {
	s := &stackTerraform{}
	c := &cobra.Command{
		Use:   "terraform --cluster-name NAME",
		Short: "Write the stack as a Terraform module",
		Long: `Writes a module with its variables, outputs and versions. Outputs have the names that users of the Karpenter part of the
common EKS module know: iam_role_arn, node_iam_role_name, queue_name and so on.

--adopt takes over what exists, so that no queue and no role is made anew. What is taken over keeps its name.

  eks-module  what terraform-aws-modules/eks//modules/karpenter of version 20 or later made: the module gets moved blocks.
              Leave the call of the module its name, and change its source.
  live        what is in the account, whoever made it: --adopt-output gets import blocks for the root module.
              Reading the account takes the permissions of "kerf stack check --live". Exit code 1 says that something could
              not be read, and so is not in the file if it exists.`,
		Example: `  kerf stack terraform --cluster-name demo --output-dir modules/karpenter
  kerf stack terraform --cluster-name demo     # all files, one after the other

  # in place of the EKS module's Karpenter part
  kerf stack terraform --cluster-name demo --adopt eks-module --output-dir modules/karpenter

  # what CloudFormation, eksctl or people made
  kerf stack terraform --cluster-name demo --adopt live --output-dir modules/karpenter --adopt-output imports.tf`,
		Args: noArguments,
	}
	f := c.Flags()
	s.stack = stackFlags(c)
	nodeRoleFlag(f, s.stack)
	queueARNFlag(f, s.stack)
	wholeFlags(f)
	f.StringVar(&s.dir, "output-dir", "-", "directory to write the files to, - for standard output")
	f.StringVar((*string)(&s.stack.Adopt), "adopt", "", "take over what exists: eks-module or live")
	mustComplete(c, "adopt", cobra.FixedCompletions([]string{"eks-module", "live"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&s.imports, "adopt-output", "-", "with --adopt live: file for the import blocks, in the directory of the root module; - for standard output")
	f.StringVar(&s.module, "adopt-module-address", "module.karpenter", "with --adopt live: address of the module's call; empty if the files are the root module")
	profileFlag(c, &s.profile)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.stack.Adopt != stack.AdoptLive {
			for _, name := range []string{"adopt-output", "adopt-module-address", "profile"} {
				if f.Changed(name) {
					return &usageError{fmt.Errorf("--%s goes with --adopt live", name)}
				}
			}
		}
		takeWhole(f, s.stack)
		made, err := newStack(f, s.stack)
		if err != nil {
			return err
		}
		return s.write(c.Context(), made, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

func (s *stackTerraform) write(ctx context.Context, made *stack.Stack, out, errs io.Writer) error {
	files, err := made.Terraform()
	if err != nil {
		return err
	}
	if s.stack.Adopt != stack.AdoptLive {
		return writeFiles(out, s.dir, files)
	}
	found, err := s.look(ctx)
	if err != nil {
		return err
	}
	adopted, err := made.Imports(stack.Found{Setup: &found.Setup, Queue: found.QueueARN, NodeRole: found.NodeRole, Controller: found.ControllerRole})
	if err != nil {
		return &usageError{err}
	}
	blocks, err := adopted.Blocks(s.module)
	if err != nil {
		return &usageError{err}
	}
	if err := writeFiles(out, s.dir, files); err != nil {
		return err
	}
	if s.imports == "-" {
		err = writeFiles(out, "-", []stack.File{{Name: "imports.tf, of the root module", Content: blocks}})
	} else {
		err = writeTo(out, s.imports, blocks)
	}
	if err != nil {
		return err
	}
	for _, n := range adopted.Notes {
		fmt.Fprintf(errs, "kerf: %s\n", n)
	}
	for _, g := range found.Gaps {
		fmt.Fprintf(errs, "kerf: not read, and so not taken over: %s: %s\n", g.What, g.Why)
	}
	if len(found.Gaps) > 0 {
		return &exitError{code: 1, said: "not all could be read: what exists and has no import block can't be made anew, and apply fails for it"}
	}
	return nil
}

// look reads the account. A queue that is not named is looked for by the cluster's name, as guides call it, and then as the
// EKS module calls it.
func (s *stackTerraform) look(ctx context.Context) (*account.Account, error) {
	o := s.stack
	session, err := session.New(ctx, session.Options{Version: version.Version, Region: o.Region, Profile: s.profile})
	if err != nil {
		return nil, err
	}
	options := account.Options{
		ClusterName: o.ClusterName, Queue: o.QueueName, NodeRole: cmp.Or(o.NodeRole, o.NodeRoleName), ControllerRole: o.ControllerRoleName,
		Namespace: o.Namespace, ServiceAccount: o.ServiceAccount,
	}
	a, err := account.Look(ctx, session, options)
	if err != nil || a.QueueARN != "" || o.QueueName != "" {
		return a, err
	}
	options.Queue = "Karpenter-" + o.ClusterName
	other, err := account.Look(ctx, session, options)
	switch {
	case err != nil:
		return nil, errors.Join(err)
	case other.QueueARN != "":
		return other, nil
	}
	return a, nil
}
