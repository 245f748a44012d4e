package cli

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/web"
)

type uiFlags struct {
	controller controllerFlags
	port       int
	noOpen     bool
}

func newUICommand() *cobra.Command {
	f := &uiFlags{}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the cluster in a browser: nodes, pods, cost, decisions, what waits and why",
		Long: `Opens a page that shows the cluster live: nodes as boxes to scale with their pods, what they cost beside the provable floor,
what waits and why, what is being removed and why, savings that are blocked and by what, decisions, and what is wrong.

The page is served by this command, to this host only, until Ctrl-C. What it shows comes from the controller that leads, through
the Kubernetes API with your rights; nothing in the cluster is exposed or changed. The address bears a key, without which other
users of this host see nothing.`,
		Example: `  kerf ui
  kerf ui --context prod --port 9000 --no-open`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout(), notices(c)) },
	}
	f.controller.register(c)
	c.Flags().IntVar(&f.port, "port", 0, "port of the page on 127.0.0.1 (default: a free one)")
	c.Flags().BoolVar(&f.noOpen, "no-open", false, "print the address and open no browser")
	return c
}

func (f *uiFlags) run(ctx context.Context, out, notices io.Writer) error {
	page := web.New(web.Options{Connect: f.controller.connect, API: f.controller.cluster.config})
	if err := page.Dial(ctx); err != nil {
		return err
	}
	l, err := web.Listen(ctx, f.port)
	if err != nil {
		return err
	}
	address := page.Address(l.Addr())
	fmt.Fprintln(out, address)
	fmt.Fprintln(notices, "The page is served until Ctrl-C.")
	if !f.noOpen {
		openBrowser(ctx, page.Once(l.Addr()))
	}
	return page.Serve(ctx, l)
}

// openBrowser opens an address where there is a way to; elsewhere the address that was printed has to do.
func openBrowser(ctx context.Context, address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if path, err := exec.LookPath(name); err == nil {
		_ = exec.CommandContext(ctx, path, args...).Start()
	}
}
