// Package notices gathers the licences of what a program was linked from.
package notices

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// files are those in which modules keep their licences and notices.
var files = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

// Text is one text with the licences of all modules in a program, and of Go's standard library.
//
// Errors: a module in which no licence is found: it must be looked at before it is shipped.
func Text(ctx context.Context, root, binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built from: %w", binary, err)
	}
	dirs, err := folders(ctx, root)
	if err != nil {
		return nil, err
	}
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("asking for GOROOT: %w", err)
	}
	out := bytes.NewBufferString("Kerf is linked from these modules. Their licences follow.\n")
	missing := add(out, "Go's standard library "+info.GoVersion, strings.TrimSpace(string(goRoot)))
	for _, m := range info.Deps {
		if err := add(out, m.Path+" "+m.Version, dirs[m.Path]); err != nil {
			missing = errors.Join(missing, err)
		}
	}
	return out.Bytes(), missing
}

func add(out *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licences of %s: %w", name, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !files.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("licences of %s: %w", name, err)
		}
		found = true
		fmt.Fprintf(out, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s: no licence in %s", name, dir)
	}
	return nil
}

// folders is where the modules of the build are on this machine.
func folders(ctx context.Context, root string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json=Path,Dir,Replace", "all")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing modules: %w", err)
	}
	out := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var m struct {
			Path, Dir string
			Replace   *struct{ Dir string }
		}
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing modules: %w", err)
		}
		if m.Replace != nil {
			m.Dir = m.Replace.Dir
		}
		out[m.Path] = m.Dir
	}
}
