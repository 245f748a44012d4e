package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/explain"
)

type explainFlags struct {
	server, file, namespace string
	output                  form
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{}
	c := &cobra.Command{
		Use:   "explain",
		Short: "Say why a pod is pending, why a machine was bought, why a node stays",
		Long: `Answers from the decisions that the controller recorded, not by guessing at what it may have seen: the problem is solved
again with constraints turned off, one after the other.

Of a pod without a place it tells, for each pool, a set of constraints that can't all be met and of which none can be
spared, and the cheapest single change that would place the pod; the best changes are tried on the whole problem. Of a
machine it tells what decided its shape and what the same pods would have been put on without it. Of a node it tells
what keeps it.

The decisions come from the metrics port of the controller, which serves them to callers on the same host, so forward the
port first, or from a file (-f) that was saved from there.

Exit codes: 0 answered; 3 no decision knows the object; 2 wrong usage, or a file that can't be read; 1 the controller could
not be asked.`,
		Example: `  kubectl -n kube-system port-forward deploy/karpenter 8080 &
  kerf explain pod default/web-7d9f8b6c5d-x2k9p
  kerf explain nodeclaim default-x2k9p
  kerf explain node ip-10-0-1-7.ec2.internal --output json
  kerf explain pod web-1 -f decision.kerf`,
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	p := c.PersistentFlags()
	server := os.Getenv("KERF_SERVER")
	if server == "" {
		server = "http://127.0.0.1:8080"
	}
	p.StringVar(&f.server, "server", server, "controller's metrics port, as forwarded [$KERF_SERVER]")
	p.StringVarP(&f.file, "filename", "f", "", "read this recorded decision in place of asking a controller")
	f.output.register(p, "form of the answer: text or json")
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
	pod.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the pod (default: any)")
	c.AddCommand(pod, f.command("node NAME", "Say why a node was bought and why it stays", explain.Node),
		f.command("nodeclaim NAME", "Say why a machine was bought and why it stays", explain.NodeClaim))
	return c
}

func (f *explainFlags) command(use, short string, ask func(context.Context, explain.Source, string) (*explain.Answer, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("give one name, as in %s; %d were given", c.UseLine(), len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.output.check(); err != nil {
				return err
			}
			var src explain.Source = explain.Server{URL: f.server}
			if f.file != "" {
				src = explain.File(f.file)
			}
			a, err := ask(c.Context(), src, args[0])
			if err != nil && f.file != "" {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			err = f.output.write(c.OutOrStdout(), a, func(w io.Writer) error {
				_, err := fmt.Fprint(w, a.String())
				return err
			})
			if err == nil && !a.Found {
				return &exitError{code: foundWrong}
			}
			return err
		},
	}
}
