package cli

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/demo"
	"github.com/kerf-sh/kerf/internal/demo/images"
	"github.com/kerf-sh/kerf/internal/local"
)

func newDemoCommand() *cobra.Command {
	o := demo.Options{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on this computer, with no AWS account, and tell it as it happens",
		Long: `Starts a local cluster (see "kerf local"), brings work, takes work away, lets AWS reclaim a spot instance, consolidates
what is left, rolls a pool to a new image under a disruption budget, lets a node expire, and ends with a summary. It checks
that every step happened in its time, budgets were kept, every decision replayed to the same bytes and no instance leaked.`,
		Example: `  kerf demo
  kerf demo --keep
  kerf demo --boot-time 10s --seed 2`,
		Args: aCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Out = c.OutOrStdout()
			o.Terminal = isTerminal(o.Out)
			if err := demoCluster(&o.Local); err != nil {
				return err
			}
			return demo.Run(c.Context(), o)
		},
	}
	c.AddCommand(newDemoImagesCommand())
	f := c.Flags()
	f.DurationVar(&o.Step, "step-timeout", 150*time.Second, "the longest that one step may take")
	f.BoolVar(&o.Keep, "keep", false, "keep the cluster and its page after the end, until Ctrl-C")
	f.StringVar(&o.Local.Stack, "stack", "", "file with the CloudFormation template to deploy and run under (default: what \"kerf stack cloudformation\" writes)")
	demoFlags(f, &o.Local)
	return c
}

func newDemoImagesCommand() *cobra.Command {
	o := images.Options{}
	c := &cobra.Command{
		Use:   "images",
		Short: "Boot one instance of every AMI family, and one of every special kind, and check each node",
		Long: `Starts a local cluster (see "kerf local") and boots one instance of each AMI family, one from a launch template of the
user's own as a guide of 2021 has it, and one each with a GPU, with EFA, in reserved capacity and in a capacity block. Ends
with a table of them, and checks that each joined with the labels and taints of its pool and the room that was planned with.`,
		Example: "  kerf demo images",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Out = c.OutOrStdout()
			if err := demoCluster(&o.Local); err != nil {
				return err
			}
			return images.Run(c.Context(), o)
		},
	}
	c.Flags().DurationVar(&o.Wait, "wait", 150*time.Second, "the longest that all instances together may take to be ready")
	demoFlags(c.Flags(), &o.Local)
	return c
}

func demoFlags(f *pflag.FlagSet, o *local.Options) {
	f.DurationVar(&o.BootTime, "boot-time", 2*time.Second, "how long a simulated instance takes to boot")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of everything that the simulated AWS draws")
	f.StringVar(&o.StateDir, "state-dir", "", stateDirUsage+" (default: a new temporary one, which stays)")
}

func demoCluster(o *local.Options) error {
	o.ClusterName = "kerf-demo"
	if o.StateDir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "kerf-demo-")
	if err != nil {
		return err
	}
	o.StateDir = filepath.Join(dir, "state")
	return nil
}
