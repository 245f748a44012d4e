package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/explain"
)

type explainFlags struct {
	file, namespace string
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{}
	c := &cobra.Command{
		Use:   "explain",
		Short: "Say why a pod is pending, why an instance was launched, why a node is kept, what was decided",
		Long: `Answers from the decisions that the controller recorded, not by guessing at what it may have seen: the problem is solved
again with constraints turned off, one after the other.

Of a pod without a place it tells, for each pool, a set of constraints that can't all be met and of which none can be
spared, and the cheapest single change that would place the pod; the best changes are tried on the whole problem. Of an
instance it tells what decided its shape and what the same pods would have been put on without it. Of a node it tells
what keeps it. Of a decision it tells all that was decided; the ID is that of the log line.

The controller that leads the cluster is asked: the one that holds its Lease, at its metrics port, through the Kubernetes API
with your rights (get on the Lease and the pod, create on pods/portforward). --server asks at an address, -f reads a file
that was saved from there.

The controller answers users who may get /debug/decisions, which the ClusterRole kerf-viewer holds. Your own token is sent; where
the kubeconfig has a client certificate in place of one, a token of the ServiceAccount kerf-viewer is asked for (the right
create on its serviceaccounts/token).`,
		Example: `  kerf explain pod default/web-7d9f8b6c5d-x2k9p
  kerf explain nodeclaim default-x2k9p
  kerf explain node ip-10-0-1-7.ec2.internal --output json
  kerf explain decision 5f0c3e1ab2d47c90              # the decision-id of a log line
  kerf explain pod web-1 -f decision.kerf`,
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	p := c.PersistentFlags()
	p.StringVarP(&f.file, "filename", "f", "", "read this recorded decision in place of asking a controller")
	pod := f.command("pod [NAMESPACE/]NAME", "Say why a pod has no place, or which it was given", func(ctx context.Context, src explain.Source, name string) (*explain.Answer, error) {
		namespace, bare, ok := strings.Cut(name, "/")
		switch {
		case !ok:
			namespace, bare = f.namespace, name
		case namespace == "" || bare == "" || strings.Contains(bare, "/"):
			return nil, &usageError{fmt.Errorf("%q is no pod: write NAME or NAMESPACE/NAME", name)}
		case f.namespace != "" && f.namespace != namespace:
			return nil, &usageError{fmt.Errorf("%s is of namespace %s, and --namespace says %s", name, namespace, f.namespace)}
		}
		return explain.Pod(ctx, src, namespace, bare)
	})
	namespaceFlag(pod, &f.namespace, "", "namespace of the pod (default: any)")
	pod.Example = "  kerf explain pod web-7d9f8b6c5d-x2k9p -n shop\n  kerf explain pod shop/web-7d9f8b6c5d-x2k9p -o json"
	node := f.command("node NAME", "Say why a node was launched and why it is kept", explain.Node)
	node.Example = "  kerf explain node ip-10-0-1-7.ec2.internal"
	claim := f.command("nodeclaim NAME", "Say why a NodeClaim was launched and why its node is kept", explain.NodeClaim)
	claim.Example = "  kerf explain nodeclaim default-x2k9p"
	c.AddCommand(pod, node, claim, f.decisionCommand())
	return c
}

func (f *explainFlags) command(use, short string, ask func(context.Context, explain.Source, string) (*explain.Answer, error)) *cobra.Command {
	var output form
	var controller controllerFlags
	c := &cobra.Command{
		Use: use, Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("give one name, as in %s; %d were given", c.UseLine(), len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var src explain.Source = decisions.File(f.file)
			if f.file == "" {
				to, err := controller.reach(c.Context())
				if err != nil {
					return err
				}
				defer to.Close()
				src = decisions.Server{URL: to.URL, Client: to.Client}
			}
			a, err := ask(c.Context(), src, args[0])
			if err != nil && f.file != "" {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			output.brief = a.WriteVerdict
			err = output.write(c.OutOrStdout(), a, func(w io.Writer) error {
				_, err := fmt.Fprint(w, a.String())
				return err
			})
			if err == nil && !a.Found {
				return &exitError{code: foundWrong}
			}
			return err
		},
	}
	output.register(c, explain.Answer{})
	controller.register(c)
	output.paint = explainPaint
	return c
}

// explainPaint colours an answer for people.
var explainPaint = []stroke{
	strokeOf(`^(Pod|Node|NodeClaim) \S+`, headingColor...), strokeOf(`^kept( by consolidation)?:`, rightColor...), strokeOf(`^it drifted`, doubtColor...), strokeOf(`^will be removed`, doubtColor...),
	strokeOf(`^it has no place`, wrongColor...), strokeOf(`^cheapest single change:`, remedyColor...),
}
