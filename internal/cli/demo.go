package cli

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/demo"
)

func newDemoCommand() *cobra.Command {
	o := demo.Options{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on this machine, with no AWS account, and tell it as it happens",
		Long: `Starts a local cluster (see "kerf local"), brings work, takes work away, lets AWS take a spot machine back, and ends with
a summary. Exits with 0 when every step happened in its time and no machine was leaked.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Out = c.OutOrStdout()
			if f, ok := o.Out.(*os.File); ok {
				info, err := f.Stat()
				o.Terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
			}
			o.Local.ClusterName = "kerf-demo"
			if o.Local.StateDir == "" {
				dir, err := os.MkdirTemp("", "kerf-demo-")
				if err != nil {
					return err
				}
				o.Local.StateDir = filepath.Join(dir, "state")
			}
			return demo.Run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.DurationVar(&o.Step, "step-timeout", 90*time.Second, "the longest that one step may take")
	f.DurationVar(&o.Local.BootTime, "boot-time", 2*time.Second, "how long a simulated machine takes to boot")
	f.StringVar(&o.Local.Stack, "stack", "", "file with the CloudFormation template to deploy and run under (default: what \"kerf stack cloudformation\" writes)")
	f.Uint64Var(&o.Local.Seed, "seed", 1, "seed of everything that the simulated AWS draws")
	f.StringVar(&o.Local.StateDir, "state-dir", "", "folder for logs and kubeconfigs; default: a new temporary one, which stays")
	return c
}
