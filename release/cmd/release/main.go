// Command release makes everything that a release of Kerf consists of: programs, the image, charts, a bill of materials, licences
// and checksums. Made twice of one commit, everything is the same, byte for byte.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/release/archive"
	"github.com/kerf-sh/kerf/release/bom"
	"github.com/kerf-sh/kerf/release/compile"
	"github.com/kerf-sh/kerf/release/image"
	"github.com/kerf-sh/kerf/release/notices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &release{}
	flag.StringVar(&r.root, "root", ".", "root of the sources")
	flag.StringVar(&r.out, "out", "dist", "folder for what is made; it is made anew")
	flag.StringVar(&r.version, "version", "", "version, such as v1.2.3 (default: what git describes, as a pre-release of v0.0.0 where that is no version)")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems and architectures of the programs")
	flag.Parse()
	r.platforms = strings.Split(*platforms, ",")
	if err := r.make(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type release struct {
	root, out, version string
	platforms          []string

	commit string
	made   time.Time
	scrap  string // folder for programs until they are packed
}

func (r *release) make(ctx context.Context) error {
	if err := r.identify(ctx); err != nil {
		return err
	}
	var err error
	if r.scrap, err = os.MkdirTemp("", "kerf-release-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.scrap) }()
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	if err := r.programs(ctx); err != nil {
		return err
	}
	if err := r.image(); err != nil {
		return err
	}
	if err := r.charts(); err != nil {
		return err
	}
	return r.sums()
}

// identify finds the version, the commit and its time.
func (r *release) identify(ctx context.Context) error {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Stderr = r.root, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	described, err := git("describe", "--tags", "--always", "--dirty")
	if err != nil {
		return err
	}
	if r.commit, err = git("rev-parse", "HEAD"); err != nil {
		return err
	}
	text, err := git("log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	if r.made, err = time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.made = r.made.UTC()
	if r.version == "" {
		r.version = described
		if _, ok := archive.SemVer(described); !ok {
			r.version = "v0.0.0-" + described
		}
	}
	if _, ok := archive.SemVer(r.version); !ok {
		return fmt.Errorf("--version %q: want a semantic version such as v1.2.3", r.version)
	}
	return nil
}

func (r *release) program(platform string) string {
	return filepath.Join(r.scrap, strings.ReplaceAll(platform, "/", "-"))
}

// programs builds the programs and packs them with their licences.
func (r *release) programs(ctx context.Context) error {
	for _, platform := range r.platforms {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("platform %q: want such as linux/amd64", platform)
		}
		fmt.Fprintln(os.Stderr, "building kerf for", platform)
		stamp := compile.Stamp{Version: r.version, Commit: r.commit[:12], Date: r.made.Format(time.DateOnly)}
		if err := compile.Program(ctx, r.root, r.program(platform), system, arch, stamp); err != nil {
			return err
		}
		licences, err := notices.Text(ctx, r.root, r.program(platform))
		if err != nil {
			return err
		}
		bill, err := bom.JSON(r.program(platform), r.version, r.made)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("kerf_%s_%s_%s", r.version, system, arch)
		files := []archive.File{{Name: name + "/THIRD_PARTY_LICENSES", Mode: 0o644, Data: licences}, {Name: name + "/kerf.cdx.json", Mode: 0o644, Data: bill}}
		for from, to := range map[string]string{r.program(platform): "kerf", filepath.Join(r.root, "LICENSE"): "LICENSE", filepath.Join(r.root, "README.md"): "README.md"} {
			data, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if to == "README.md" {
				data = archive.Readme(data, r.commit)
			}
			mode := int64(0o644)
			if to == "kerf" {
				mode = 0o755
			}
			files = append(files, archive.File{Name: name + "/" + to, Mode: mode, Data: data})
		}
		packed, err := archive.Pack(files, r.made)
		if err != nil {
			return err
		}
		if err := r.write(name+".tar.gz", packed); err != nil {
			return err
		}
		if err := errors.Join(r.write(name+".cdx.json", bill), r.write(name+".licenses.txt", licences)); err != nil {
			return err
		}
	}
	return nil
}

// image makes the image of the programs for linux.
func (r *release) image() error {
	b := image.Build{Version: r.version, Commit: r.commit, Made: r.made, Binaries: map[string]string{}}
	var architectures []string
	for _, p := range r.platforms {
		if system, arch, _ := strings.Cut(p, "/"); system == "linux" {
			b.Binaries[arch] = r.program(p)
			architectures = append(architectures, arch)
		}
	}
	if len(architectures) == 0 {
		return nil
	}
	slices.Sort(architectures)
	index, err := b.Index(architectures)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if err := image.Write(index, filepath.Join(r.out, "image")); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	fmt.Fprintln(os.Stderr, "image", strings.Join(architectures, " and "), digest)
	return r.write("image.digest", []byte(digest.String()+"\n"))
}

func (r *release) charts() error {
	for _, chart := range []string{"kerf", "kerf-crd"} {
		name, data, err := archive.Chart(filepath.Join(r.root, "charts", chart), r.version, r.made)
		if err != nil {
			return err
		}
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// sums writes the checksums of all files but those of the image, which has a digest.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, e := range slices.SortedFunc(slices.Values(entries), func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) }) {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	fmt.Fprint(os.Stderr, out.String())
	return r.write("SHA256SUMS", []byte(out.String()))
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
