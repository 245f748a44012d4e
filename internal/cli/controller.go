package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/settings"
)

func newControllerCommand() *cobra.Command {
	var cluster clusterFlags
	var account accountFlags
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the in-cluster controller",
		Long: `Runs the controller against the cluster of --kubeconfig, of KUBECONFIG or, inside a pod, of its service account, and the
AWS account of --profile, --region and the SDK's own settings (AWS_REGION, AWS_ENDPOINT_URL, credentials chain). Every
setting can be given as an environment variable: --cluster-name is CLUSTER_NAME, and so on. A flag beats its variable.

With --shadow it runs beside the controller that runs already, Karpenter or Kerf, and changes nothing: it reads everything,
decides, and reports what it would have done and the difference in dollars per hour (see docs/shadow.md).`,
		Example: `  kerf controller --cluster-name demo
  kerf controller --cluster-name demo --shadow --context prod --profile reader --region eu-west-1`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			s, warnings, err := settings.Load(c.Flags(), os.LookupEnv)
			if err != nil {
				return &usageError{err}
			}
			where := app.Surroundings{AWS: account.options()}
			if cluster.kubeconfig != "" || cluster.context != "" {
				if where.Kubernetes, err = cluster.config(); err != nil {
					return err
				}
			}
			return app.Run(c.Context(), s, warnings, where)
		},
	}
	settings.AddFlags(c.Flags())
	cluster.register(c)
	account.register(c)
	settings.NormalizeFlags(c.Flags())
	return c
}

// controllerArguments is what kerf controller says of the arguments behind it on a command line: of each that it does not take, where it
// ends with the first itself. Nothing: it takes them all.
func controllerArguments(args []string) (refused []error) {
	c, _, err := Root().Find([]string{"controller"})
	if err != nil {
		return []error{err}
	}
	for len(args) > 0 {
		some := args[:1]
		err := c.ParseFlags(some)
		if _, more := errors.AsType[*pflag.ValueRequiredError](err); more && len(args) > 1 {
			some = args[:2] // whatever it looks like
			err = c.ParseFlags(some)
		}
		_, unknown := errors.AsType[*pflag.NotExistError](err)
		args = args[len(some):]
		switch {
		case err != nil:
			refused = append(refused, flagError(c, err))
			if unknown && !strings.Contains(some[0], "=") && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // rather its value than one more
			}
		case some[0] == "--":
			for i := range args {
				refused = append(refused, noArguments(c, args[i:]))
			}
			return refused
		default:
			if err := noArguments(c, c.Flags().Args()); err != nil {
				refused = append(refused, err)
			}
		}
	}
	return refused
}
