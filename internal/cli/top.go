package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/top"
)

type topFlags struct {
	controller controllerFlags
	sort       string
	nodes      top.NodeOptions
	noFloor    bool
	ascii      bool
}

func newTopCommand() *cobra.Command {
	f := &topFlags{}
	c := &cobra.Command{
		Use:   "top",
		Short: "Show the cluster live in this terminal: nodes, use, cost, what waits, what is under way, decisions",
		Long: `Shows nodes with what is asked for of them, their prices and states, beside the cost of all, the least that the pods could cost,
pods that wait, and problems. Enter opens what the cursor is on: why a node is kept, why a pod waits and the cheapest change, what
was decided. Further lists have moves under way, savings that are blocked, decisions, events and problems. The keys are at the
bottom; ? explains them.

Everything comes from the controller that leads, through the Kubernetes API with your rights; nothing is changed. When another
replica leads, it is asked from then on. Where standard output is no terminal, the nodes are written once as a table, and the
command ends. NO_COLOR and --color are heeded, and a locale without UTF-8 gets ASCII.`,
		Example: `  kerf top
  kerf top --context prod --sort price --filter spot
  kerf top --sort use | head                        # once, as a table: the emptiest nodes`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c, os.Stdin, c.OutOrStdout())
		},
	}
	f.controller.register(c)
	var orders []string
	for _, s := range top.Sorts {
		orders = append(orders, string(s))
	}
	sorts := choiceFlag(&f.sort, orders[0], orders...)
	c.Flags().Var(sorts, "sort", "order of the nodes: "+oneOf(orders)+" (what removing them would save)")
	mustComplete(c, "sort", sorts.words())
	c.Flags().StringVar(&f.nodes.Filter, "filter", "", "list only nodes with these words in their name, NodePool, type, zone, capacity type, state or workloads")
	c.Flags().BoolVar(&f.nodes.Group, "group", false, "group nodes by NodePool")
	c.Flags().BoolVar(&f.noFloor, "no-floor", false, "leave out the least that the pods can cost")
	c.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII only (default: where the locale has no UTF-8)")
	return c
}

func (f *topFlags) run(ctx context.Context, c *cobra.Command, in io.Reader, out io.Writer) error {
	link := overview.NewLink(f.controller.connect)
	defer link.Close()
	within, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	first, err := link.Read(within) // what can't be reached is said before the screen is taken
	if err != nil {
		return err
	}
	f.nodes.Sort = top.Sort(f.sort)
	if !isTerminal(out) || os.Getenv("TERM") == "dumb" {
		return top.WriteTable(out, first, f.nodes)
	}
	o := top.Options{Link: link, First: first, Nodes: f.nodes, Unicode: !f.ascii && hasUnicode(os.Getenv), Color: isColored(c, out)}
	if !f.noFloor {
		o.Floors = &overview.Floors{Problem: link.Problem}
	}
	return top.Run(ctx, o, in, out)
}

// hasUnicode tells whether the locale has UTF-8, by the variables that say so, the strongest first.
func hasUnicode(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
