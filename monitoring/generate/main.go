// Command generate writes the dashboards and the alert rules into charts/kerf, from where the chart, "kerf manifests" and people
// without either take them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kerf-sh/kerf/monitoring/alerts"
	"github.com/kerf-sh/kerf/monitoring/dashboards"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	dir := filepath.Join(root, "charts", "kerf", "files", "monitoring")
	files := map[string][]byte{}
	rules, err := alerts.File()
	if err != nil {
		return err
	}
	files["alerts.yaml"] = append([]byte("# Written by `make generate`; do not edit.\n"), rules...)
	for _, d := range dashboards.All() {
		if files[d.Name+".json"], err = d.JSON(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
