package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
)

type planFlags struct {
	files, images, classes []string
	clusterName            string
	cluster                clusterFlags
	account                accountFlags
	output                 form
	all                    bool
}

func newPlanCommand() *cobra.Command {
	f := &planFlags{}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say what a change of NodePools, EC2NodeClasses or images would do to the nodes, before it is made",
		Long: `Compares the nodes of a cluster with NodePools and EC2NodeClasses as they would be after a change: which nodes would be
replaced and why, field by field, and which would not; by which instances; in which order and how long under the disruption
budgets; what stands in the way (PodDisruptionBudgets, do-not-disrupt, limits); what it costs before, after and meanwhile.
Without a change it tells which nodes are drifted as things are, and which will be as soon as the controller looks again: an
alias such as al2023@latest may stand for a newer image.

Nothing is changed. Changed objects are judged by the API server in a dry run; without the right to write them, their form
is checked by the definitions in kerf, and that is said. Reading needs no more than the roles that kerf controller --shadow
has. What may not be read is named with what follows from it.

The cluster is that of --kubeconfig and --context, AWS that of --profile, --region and the SDK's own settings.
The controller's settings are those of its Deployment if there is one; environment variables of the same names beat them.`,
		Example: `  kerf plan -f nodepool.yaml
  kerf plan -f pools/ -f class.yaml -o json | jq '.nodes[] | select(.rolls)'
  kubectl get nodepool default -o yaml | sed 's/720h/336h/' | kerf plan -f -
  kerf plan                                   # what is drifted now, and what a newer image would do
  kerf plan -f nodepool.yaml --context prod --profile prod --region eu-west-1
  kerf plan --image ami-0123456789abcdef0 --nodeclass default`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), notices(c))
		},
	}
	p := c.Flags()
	p.StringArrayVarP(&f.files, "filename", "f", nil, "file or folder with changed objects, - for standard input (repeatable)")
	p.StringArrayVar(&f.images, "image", nil, "id of an image in place of what classes select theirs by (repeatable, for several architectures)")
	p.StringArrayVar(&f.classes, "nodeclass", nil, "EC2NodeClass that --image is for (repeatable; default: all)")
	f.cluster.register(c)
	f.account.register(c)
	clusterNameFlag(c, &f.clusterName, "(default: what the controller in the cluster is told)")
	f.output.register(c, changeplan.Report{})
	f.output.paint = planPaint
	p.BoolVarP(&f.all, "verbose", "v", false, "list the nodes that stay one by one, too")
	return c
}

func (f *planFlags) run(ctx context.Context, in io.Reader, out, progress io.Writer) error {
	switch {
	case len(f.classes) > 0 && len(f.images) == 0:
		return &usageError{errors.New("--nodeclass says what --image is for, and there is none")}
	}
	documents, err := f.read(in, progress)
	if err != nil {
		return err
	}
	config, err := f.cluster.config()
	if err != nil {
		return err
	}
	s, err := f.settings(ctx, config, progress)
	if err != nil {
		return err
	}
	report, err := app.Foresee(ctx, config, s, f.account.options(), changeplan.Options{Documents: documents, Images: f.images, Classes: f.classes})
	if errors.Is(err, changeplan.ErrRefused) {
		return &exitError{code: foundWrong, said: err.Error()}
	}
	if err != nil {
		return err
	}
	f.output.brief = report.WriteAnswer
	err = f.output.write(out, report, func(w io.Writer) error { return report.Write(w, f.all) })
	if err == nil && report.Trouble() {
		return &exitError{code: foundWrong}
	}
	return err
}

// read parses the files. What is not planned for is told and left out.
func (f *planFlags) read(in io.Reader, progress io.Writer) ([]*changeplan.Document, error) {
	files, err := readInputs(f.files, in)
	if err != nil {
		return nil, err
	}
	var documents []*changeplan.Document
	for _, file := range files {
		found, skipped, err := changeplan.Parse(changeplan.File{Name: file.Name, Data: file.Data})
		if errors.Is(err, changeplan.ErrSyntax) {
			return nil, &usageError{err}
		}
		if err != nil {
			return nil, &exitError{code: foundWrong, said: err.Error()}
		}
		for _, what := range skipped {
			fmt.Fprintf(progress, "%s: left out, for no node is made from it\n", what)
		}
		documents = append(documents, found...)
	}
	if len(f.files) > 0 && len(documents) == 0 {
		return nil, &usageError{errors.New("there is no NodePool and no EC2NodeClass in the files")}
	}
	seen := map[string]*changeplan.Document{}
	for _, d := range documents {
		if other := seen[d.Kind+d.Name]; other != nil {
			return nil, &usageError{fmt.Errorf("%s %s is given twice: %s:%d and %s:%d", d.Kind, d.Name, other.File, other.Line(), d.File, d.Line())}
		}
		seen[d.Kind+d.Name] = d
	}
	return documents, nil
}

// settings are the controller's: of the environment, else of its Deployment.
func (f *planFlags) settings(ctx context.Context, config *rest.Config, progress io.Writer) (settings.Settings, error) {
	fs := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	settings.AddFlags(fs)
	reader, err := client.New(config, client.Options{})
	if err != nil {
		return settings.Settings{}, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	deployed, _, err := doctor.ControllerSettings(ctx, reader)
	if err != nil {
		if _, answered := errors.AsType[*apierrors.StatusError](err); !answered {
			return settings.Settings{}, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
		}
		fmt.Fprintf(progress, "%v; settings that were not read there and are not in the environment have their defaults\n", err)
	}
	if f.clusterName != "" {
		if err := fs.Set("cluster-name", f.clusterName); err != nil {
			return settings.Settings{}, &usageError{err}
		}
	}
	s, err := loadSettings(fs, environmentOr(deployed), progress)
	if err != nil {
		return s, &usageError{err}
	}
	return s, nil
}

// loadSettings reads the controller's settings as settings.Load does, and writes what the controller would warn of in lines.
func loadSettings(fs *pflag.FlagSet, lookup func(name string) (string, bool), progress io.Writer) (settings.Settings, error) {
	s, warnings, err := settings.Load(fs, lookup)
	for _, w := range warnings {
		fmt.Fprintln(progress, w)
	}
	return s, err
}

// environmentOr looks settings up in the environment, and elsewhere where it has none or an empty one, which says nothing.
func environmentOr(other func(name string) (string, bool)) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if v := os.Getenv(name); v != "" {
			return v, true
		}
		return other(name)
	}
}

// planPaint colours a report for people.
var planPaint = []stroke{
	strokeOf(`BLOCKED|can't be used as it is|NOT USABLE|STAYS for now|could launch nothing`, wrongColor...),
	strokeOf(`^  (!) `, wrongColor...), strokeOf(`^  \+ .*`, rightColor...), strokeOf(`^  - .*`, wrongColor...), strokeOf(`^  ~ .*`, doubtColor...),
	strokeOf(`^\d+ of \d+ nodes? replaced.*|^None of .*|^Bill:.*`, headingColor...), strokeOf(`^(NodePool|EC2NodeClass) \S+`, headingColor...),
}
