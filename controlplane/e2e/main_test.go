package e2e

import (
	"os"
	"testing"
)

// kerfDir is where kerf builds the controller's binary, which is large; empty while it has not.
var kerfDir string

// TestMain takes away what all stories shared.
func TestMain(m *testing.M) {
	code := m.Run()
	if kerfDir != "" {
		if err := os.RemoveAll(kerfDir); err != nil && code == 0 {
			code = 1
		}
	}
	os.Exit(code)
}
