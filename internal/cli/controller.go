package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/settings"
)

func newControllerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the in-cluster controller",
		Long: `Runs the controller against the cluster of KUBECONFIG or, inside a pod, of its service account, and the AWS
account of the SDK's own settings (AWS_REGION, AWS_ENDPOINT_URL, credentials chain). Every flag can be given as an
environment variable: --cluster-name is CLUSTER_NAME, and so on. A flag beats its variable.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, warnings, err := settings.Load(c.Flags(), os.LookupEnv)
			if err != nil {
				return &usageError{err}
			}
			return app.Run(c.Context(), s, warnings)
		},
	}
	settings.AddFlags(c.Flags())
	return c
}
