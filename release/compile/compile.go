// Package compile builds the programs of a release: static, without the paths of the machine that built them.
package compile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Stamp is what a program says of itself.
type Stamp struct{ Version, Commit, Date string }

const versions = "github.com/kerf-sh/kerf/internal/version"

// Program builds cmd/kerf of the sources at root for an operating system and architecture. What it writes depends on the sources,
// the stamp and the version of Go alone.
func Program(ctx context.Context, root, out, system, arch string, s Stamp) error {
	flags := []string{"-s", "-w", "-buildid="}
	for _, x := range [][2]string{{"Version", s.Version}, {"Commit", s.Commit}, {"Date", s.Date}} {
		flags = append(flags, "-X "+versions+"."+x[0]+"="+x[1])
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " "), "-o", out, "./cmd/kerf")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building kerf for %s/%s: %w\n%s", system, arch, err, text)
	}
	return nil
}
