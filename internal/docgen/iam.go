package main

import (
	"bytes"
	"fmt"

	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// iamPage is the table of statements and of the calls that need them.
func iamPage(b *bytes.Buffer, _ string) error {
	page, err := stack.Doc()
	if err != nil {
		return fmt.Errorf("making the page on permissions: %w", err)
	}
	b.WriteString(page)
	return nil
}
