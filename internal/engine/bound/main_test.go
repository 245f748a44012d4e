package bound_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain fixes the seed of the random problems, so that a run can be repeated; -rapid.seed=N looks at others.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		_ = f.Value.Set("20260101")
	}
	os.Exit(m.Run())
}
