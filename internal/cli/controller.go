package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/settings"
)

func newControllerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the in-cluster controller",
		Long: `Runs the controller against the cluster of KUBECONFIG or, inside a pod, of its service account, and the AWS
account of the SDK's own settings (AWS_REGION, AWS_ENDPOINT_URL, credentials chain). Every flag can be given as an
environment variable: --cluster-name is CLUSTER_NAME, and so on. A flag beats its variable.

With --shadow it runs beside the controller that runs already, Karpenter or Kerf, and changes nothing: it reads everything,
decides, and reports what it would have done and the difference in dollars per hour (see docs/shadow.md).`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			s, warnings, err := settings.Load(c.Flags(), os.LookupEnv)
			if err != nil {
				return &usageError{err}
			}
			return app.Run(c.Context(), s, warnings)
		},
	}
	settings.AddFlags(c.Flags())
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "shadow" || name == "compat" {
			name = "kerf-" + name
		}
		return pflag.NormalizedName(name)
	})
	return c
}
