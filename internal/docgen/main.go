// Command docgen writes docs/reference, docs/iam.md, a table of docs/install.md and parts of charts/ from the code: settings, metrics, reasons, events, conditions, the fields of
// NodePool, NodeClaim and EC2NodeClass, the command line, permissions, values. What the code says once is not said a second time by hand, so that it can't be said differently.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// page is one file of docs/reference; write gets the root of the repository.
type page struct {
	name  string
	write func(b *bytes.Buffer, root string) error
}

func run(root string) error {
	dir := filepath.Join(root, "docs", "reference")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range []page{{"settings.md", settingsPage}, {"metrics.md", metricsPage}, {"reasons.md", reasonsPage}, {"events.md", eventsPage}, {"conditions.md", conditionsPage}, {"nodepool.md", nodePoolFields.write}, {"nodeclaim.md", nodeClaimFields.write}, {"ec2nodeclass.md", nodeClassFields.write}, {"cli.md", cliPage}, {filepath.Join("..", "iam.md"), iamPage}} {
		b := bytes.NewBufferString("<!-- Written by `make generate`; do not edit. -->\n")
		if err := p.write(b, root); err != nil {
			return fmt.Errorf("writing %s: %w", p.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if err := writeResources(root); err != nil {
		return err
	}
	return writeCharts(root)
}

// row writes one line of a Markdown table.
func row(b *bytes.Buffer, cells ...string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(c, "|", `\|`))
	}
	b.WriteString("|\n")
}

// head writes the first two lines of a Markdown table.
func head(b *bytes.Buffer, titles ...string) {
	row(b, titles...)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
}

// code is s in code type; nothing stays nothing.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
