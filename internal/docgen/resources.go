package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed rest.tsv
var rest string

// Marks between which docs/install.md has the table of resources.
const (
	resourcesBegin = "<!-- From internal/docgen/rest.tsv, by `make generate`. -->\n"
	resourcesEnd   = "<!-- End of what is generated. -->\n"
)

// resourcesTable is what the controller takes, by the size of the cluster.
func resourcesTable() ([]byte, error) {
	b := &bytes.Buffer{}
	row(b, "nodes", "pods", "NodePools", "CPU at rest, cores", "CPU while 1 % of the pods are replaced a minute", "live memory")
	b.WriteString(strings.Repeat("|--:", 6) + "|\n")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 6 {
			return nil, fmt.Errorf("rest.tsv: %q has %d columns, want 6", line, len(cells))
		}
		for i, c := range cells {
			if c == "-" {
				cells[i] = "not measured"
			}
		}
		cells[5] += " MB"
		row(b, cells...)
	}
	return b.Bytes(), nil
}

// writeResources puts the table into docs/install.md.
func writeResources(root string) error {
	path := filepath.Join(root, "docs", "install.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	table, err := resourcesTable()
	if err != nil {
		return err
	}
	before, after, ok := strings.Cut(string(page), resourcesBegin)
	if ok {
		_, after, ok = strings.Cut(after, resourcesEnd)
	}
	if !ok {
		return errors.New("docs/install.md: the marks of the table of resources are not there")
	}
	return os.WriteFile(path, []byte(before+resourcesBegin+string(table)+resourcesEnd+after), 0o644)
}
