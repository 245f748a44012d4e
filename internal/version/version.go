// Package version says which build this is. The values are stamped by the linker (see the Makefile).
package version

import "runtime"

// Stamped by -ldflags -X.
var (
	Version = "dev"
	Commit  = "unknown"
	Date    = "unknown"
)

// String is one line for people.
func String() string {
	return "kerf " + Version + " (commit " + Commit + ", " + Date + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}
