package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/setup/stack"
)

func newStackCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "stack",
		Short: "Write what an AWS account needs for the controller: roles, permissions, interruption queue, rules, alarms",
		Long: `Writes the bootstrap stack of a cluster from one model as CloudFormation, as Terraform or as plain IAM policies: the role of
the nodes, least-privilege policies (and a role, if wanted) of the controller, the interruption queue with its policy and
encryption, the EventBridge rules that feed it, a dead-letter queue, and alarms.

Names, logical IDs and statement IDs are those of the getting-started guides of the v1 API, so that a stack that exists is
updated in place. --compat v0.32 gives what the template of v0.32.10 deployed, v0.32-later the later form of that guide, and
v1.0 the template of v1.0; "kerf stack check" says of a set-up with which edition it is in order.

Every policy is measured as IAM counts (6,144 characters without white space) and cut between statements where it would be
too large. Names that would get too long for AWS are refused, with the flag that shortens them.

Spot instances need a service-linked role, which an account has once and no stack can own:
  aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`,
		Example: `  kerf stack cloudformation --cluster-name demo --output-file stack.yaml
  kerf stack check stack.yaml --cluster-name demo`,
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	c.AddCommand(newStackCloudFormationCommand(), newStackTerraformCommand(), newStackIAMCommand(), newStackAWSAuthCommand(), newStackCheckCommand())
	return c
}

func newStackCloudFormationCommand() *cobra.Command {
	output := form{fileBefore: true}
	c := &cobra.Command{
		Use:   "cloudformation --cluster-name NAME",
		Short: "Write the stack as a CloudFormation template",
		Example: `  kerf stack cloudformation --cluster-name demo --output-file stack.yaml
  aws cloudformation deploy --stack-name Karpenter-demo --template-file stack.yaml --capabilities CAPABILITY_NAMED_IAM

  # before the cluster exists, or where something else makes the controller's role and maps the node role
  kerf stack cloudformation --cluster-name demo --controller none --access-entry none

  # what the guide of v0.32 deployed
  kerf stack cloudformation --cluster-name demo --compat v0.32

  # a key of the stack's own for the queue
  kerf stack cloudformation --cluster-name demo --kms`,
		Args: noArguments,
	}
	options := stackFlags(c)
	nodeRoleFlag(c.Flags(), options)
	queueARNFlag(c.Flags(), options)
	wholeFlags(c.Flags())
	output.register(c, nil, yamlFormat, jsonFormat)
	c.RunE = func(c *cobra.Command, _ []string) error {
		takeWhole(c.Flags(), options)
		s, err := newStack(c.Flags(), options)
		if err != nil {
			return err
		}
		write := s.CloudFormation
		if output.format == jsonFormat {
			write = s.CloudFormationJSON
		}
		text, err := write()
		if err != nil {
			return err
		}
		return output.writeText(c.OutOrStdout(), text)
	}
	return c
}

func newStackIAMCommand() *cobra.Command {
	output := form{fileBefore: true}
	var readOnly bool
	c := &cobra.Command{
		Use:   "iam --cluster-name NAME --region REGION --account-id ACCOUNT",
		Short: "Write the stack's permissions as plain JSON policies",
		Example: `  kerf stack iam --cluster-name demo --region eu-west-1 --account-id 111122223333 --output-file policies.json
  jq '.Policies["KarpenterControllerNodeLifecyclePolicy-demo"]' policies.json

  # for kerf plan and kerf controller --shadow
  kerf stack iam --cluster-name demo --region eu-west-1 --account-id 111122223333 --read-only --output-file reader.json

  # where classes name launch templates or SSM parameters of yours
  kerf stack iam --cluster-name demo --region eu-west-1 --account-id 111122223333 --read-only \
    --launch-templates --ssm-parameter arn:aws:ssm:eu-west-1:111122223333:parameter/images/node --output-file reader.json`,
		Args: noArguments,
	}
	options := stackFlags(c)
	fromVariable(c.Flags().Lookup("region"), "AWS_REGION")
	nodeRoleFlag(c.Flags(), options)
	queueARNFlag(c.Flags(), options)
	accountFlag(c.Flags(), options, "account that the policies name (required)")
	output.register(c, nil, jsonFormat, yamlFormat)
	c.Flags().BoolVar(&readOnly, "read-only", false, "write one policy that reads and changes nothing, for kerf plan and kerf controller --shadow")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := newStack(c.Flags(), options)
		if err != nil {
			return err
		}
		write := s.IAM
		if readOnly {
			write = s.ReadOnlyIAM
		}
		text, err := write()
		if err != nil {
			return &usageError{err}
		}
		return output.writeDocument(c.OutOrStdout(), text)
	}
	return c
}

// accountFlag is for the commands that name the account in what they write, or judge it; templates and modules find it out.
func accountFlag(f *pflag.FlagSet, o *stack.Options, does string) {
	f.StringVar(&o.AccountID, "account-id", "", does)
}

// nodeRoleFlag is for the commands that write; kerf stack check has one that says which role the node role is.
func nodeRoleFlag(f *pflag.FlagSet, o *stack.Options) {
	f.StringVar(&o.NodeRole, "node-role", "", "name or ARN of a role that exists, for the nodes; the stack makes none then (a role with a path: its ARN)")
}

// queueARNFlag is for the commands that write; kerf stack check has --queue.
func queueARNFlag(f *pflag.FlagSet, o *stack.Options) {
	f.StringVar(&o.QueueARN, "queue-arn", "", "ARN of an interruption queue that exists, of this or another account; the stack makes no queue, rules and alarms then")
}

// wholeFlags tells of the defaults by which a stack is enough for a cluster that exists. Plain policies and the check have
// others: they tell of permissions, however the controller gets them.
func wholeFlags(f *pflag.FlagSet) {
	f.Lookup("controller").Usage = "make a role for the controller: pod-identity, irsa or none (default: irsa with --oidc-provider, none in older editions, else pod-identity)"
	f.Lookup("controller").DefValue = ""
	f.Lookup("access-entry").Usage = "map the node role to the cluster by an access entry: EC2_LINUX, EC2_WINDOWS or none; the cluster must exist (default: none in older editions, else EC2_LINUX)"
}

// takeWhole makes what the user did not say about the controller's role and the access entry as wholeFlags tells.
func takeWhole(f *pflag.FlagSet, o *stack.Options) {
	if !f.Changed("controller") {
		switch {
		case o.OIDCProvider != "":
			o.Controller = stack.IRSA
		case o.Compat == stack.Latest:
			o.Controller = stack.PodIdentity
		}
	}
	if !f.Changed("access-entry") && o.Compat == stack.Latest {
		o.AccessEntry = "EC2_LINUX"
	}
}

// stackFlags puts the flags that describe a stack on a command. newStack reads them.
func stackFlags(c *cobra.Command) *stack.Options {
	f := c.Flags()
	o := stack.Defaults(stack.Latest)
	clusterNameFlag(c, &o.ClusterName, "(required)")
	regionFlag(c, &o.Region, "", "to measure policies for; templates and modules fit every region without it")
	var names []string
	for _, e := range stack.Editions() {
		names = append(names, string(e))
	}
	editions := choiceFlag((*string)(&o.Compat), string(stack.Latest), names...)
	f.Var(editions, "compat", "edition of the permissions: "+oneOf(editions.of)+"; the older ones have none of the extras unless asked for")
	mustComplete(c, "compat", editions.words())
	stackNameFlags(f, &o)
	controllers := choiceFlag((*string)(&o.Controller), string(stack.None), string(stack.PodIdentity), string(stack.IRSA), string(stack.None))
	f.Var(controllers, "controller", "make a role for the controller: "+oneOf(controllers.of))
	mustComplete(c, "controller", controllers.words())
	namespaceFlag(c, &o.Namespace, o.Namespace, controllerNamespace)
	f.StringVar(&o.ServiceAccount, "service-account", o.ServiceAccount, "service account of the controller, for its role")
	f.StringVar(&o.OIDCProvider, "oidc-provider", "", "issuer URL or provider ARN of the cluster, for --controller irsa")
	f.StringVar(&o.AccessEntry, "access-entry", "", "map the node role to the cluster by an access entry: EC2_LINUX, EC2_WINDOWS or none; the cluster must exist (default none)")
	mustComplete(c, "access-entry", cobra.FixedCompletions([]string{"EC2_LINUX", "EC2_WINDOWS", "none"}, cobra.ShellCompDirectiveNoFileComp))
	stackQueueFlags(f, &o)
	f.BoolVar(&o.CapacityReservations, "capacity-reservations", o.CapacityReservations, "let the controller find capacity reservations and launch into them")
	f.BoolVar(&o.PlacementGroups, "placement-groups", o.PlacementGroups, "let the controller find placement groups and launch into them")
	f.BoolVar(&o.InstanceStatus, "instance-status", o.InstanceStatus, "let the controller see status checks and scheduled events of instances")
	f.BoolVar(&o.ZonalShift, "zonal-shift", o.ZonalShift, "let the controller see zonal shifts of the cluster")
	f.BoolVar(&o.LaunchTemplates, "launch-templates", o.LaunchTemplates, "let the controller launch from users' own launch templates that carry the tag karpenter.sh/discovery=<cluster>")
	f.StringArrayVar(&o.PassRoles, "pass-role", nil, "ARN of a role, beside the node role, that is in instance profiles or launch templates of yours (repeatable)")
	f.StringArrayVar(&o.PublicParameters, "public-parameter", nil, "path of AWS's parameters that name images, such as /aws/service/eks/optimized-ami/*; no others may be read then (repeatable; default /aws/service/*)")
	f.StringArrayVar(&o.Parameters, "ssm-parameter", nil, "ARN of an SSM parameter of yours that names an image (repeatable)")
	f.StringArrayVar(&o.VolumeKeys, "volume-key", nil, "ARN of a customer-managed key that volumes are encrypted with (repeatable)")
	return &o
}

func stackNameFlags(f *pflag.FlagSet, o *stack.Options) {
	f.StringVar(&o.NodeRoleName, "node-role-name", "", "name of the node role (default KarpenterNodeRole-<cluster>)")
	f.StringVar(&o.ControllerRoleName, "controller-role-name", "", "name of the controller role (default <cluster>-karpenter)")
	f.StringVar(&o.QueueName, "queue-name", "", "name of the interruption queue (default: that of the cluster)")
	f.StringVar(&o.PolicySuffix, "policy-suffix", "", "end of the names of the controller's policies (default: the cluster's name)")
	f.StringVar(&o.Path, "path", o.Path, "path of roles and policies")
	f.StringVar(&o.PermissionsBoundary, "permissions-boundary", "", "ARN of the permissions boundary of both roles")
	f.StringToStringVar(&o.Tags, "tags", nil, "further tags of roles, queues and keys: key=value,…")
}

func stackQueueFlags(f *pflag.FlagSet, o *stack.Options) {
	f.DurationVar(&o.Retention, "retention", o.Retention, "how long the queue keeps messages; older notices are of no use")
	f.DurationVar(&o.Visibility, "visibility", 0, "how long a received message is hidden; the controller sets its own (default: that of SQS)")
	f.BoolVar(&o.KMS, "kms", false, "encrypt the queue with a key of the stack's own that EventBridge may use (default: SQS's own encryption)")
	f.StringVar(&o.KMSKey, "kms-key", "", "ARN of a key that exists to encrypt the queue with; its policy must let events.amazonaws.com use it")
	f.BoolVar(&o.DeadLetter, "dead-letter-queue", o.DeadLetter, "keep what could not be delivered or handled in a second queue")
	f.IntVar(&o.MaxReceives, "max-receives", o.MaxReceives, "how often a message is tried before it goes to the dead-letter queue, 1 to 5")
	f.BoolVar(&o.RuleSources, "rule-sources", o.RuleSources, "let only this stack's rules send to the queue")
	f.BoolVar(&o.Alarms, "alarms", o.Alarms, "alarms on failed deliveries, on messages that nobody reads and on dead letters")
	f.StringArrayVar(&o.AlarmActions, "alarm-action", nil, "ARN that alarms notify, such as of an SNS topic (repeatable)")
}

// newStack makes the stack of the flags.
func newStack(f *pflag.FlagSet, o *stack.Options) (*stack.Stack, error) {
	takeDefaults(f, o)
	s, err := stack.New(*o)
	if err != nil {
		return nil, &usageError{err}
	}
	return s, nil
}

// takeDefaults makes what the user did not set as the edition has it.
func takeDefaults(f *pflag.FlagSet, o *stack.Options) {
	d := stack.Defaults(o.Compat)
	for name, of := range map[string]struct{ to, from *bool }{
		"dead-letter-queue": {&o.DeadLetter, &d.DeadLetter},
		"rule-sources":      {&o.RuleSources, &d.RuleSources},
		"alarms":            {&o.Alarms, &d.Alarms},
		"instance-status":   {&o.InstanceStatus, &d.InstanceStatus},

		"capacity-reservations": {&o.CapacityReservations, &d.CapacityReservations},
		"placement-groups":      {&o.PlacementGroups, &d.PlacementGroups},
		"zonal-shift":           {&o.ZonalShift, &d.ZonalShift},
	} {
		if !f.Changed(name) {
			*of.to = *of.from
		}
	}
}

func writeTo(stdout io.Writer, name string, text []byte) error {
	if name != "-" {
		return writeWhole(name, text)
	}
	_, err := stdout.Write(text)
	return err
}

func writeFiles(stdout io.Writer, dir string, files []stack.File) error {
	if dir != "-" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	for _, f := range files {
		if dir != "-" {
			if err := writeWhole(filepath.Join(dir, f.Name), f.Content); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(stdout, "# %s\n%s\n", f.Name, f.Content); err != nil {
			return err
		}
	}
	return nil
}
