package decisions

import (
	"context"
	"fmt"
	"os"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// ReadFile reads a recorded decision.
//
// Errors name the file, what is wrong with it, and what to do.
func ReadFile(name string) (*record.Decision, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a recorded decision: %w", err)
	}
	defer func() { _ = f.Close() }()
	d, err := record.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// File is a source of the one decision that a file holds.
type File string

// Decisions reads the file.
func (f File) Decisions(_ context.Context, see func(string, *record.Decision) bool) error {
	d, err := ReadFile(string(f))
	if err == nil {
		see(string(f), d)
	}
	return err
}
