// Package harness gives tests a real Kubernetes control plane.
//
// The binary is built by the first test that needs it and kept in the user's
// cache folder under a key of its sources; a start takes about three seconds.
package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kerf-sh/kerf/internal/local/kube"
)

// A ControlPlane is a running control plane with ready-made client settings.
type ControlPlane struct {
	*kube.ControlPlane

	// Config belongs to the admin and has no client-side rate limit.
	Config *rest.Config
}

// Option changes how a control plane is started.
type Option func(*kube.Options)

// WithAuditLog makes the apiserver write one line of JSON per API write.
func WithAuditLog(path string) Option {
	return func(o *kube.Options) { o.AuditLog = path }
}

// WithNodeLease sets how long leases of simulated instances last, in seconds;
// an instance that stops renewing is NotReady after twice this time.
func WithNodeLease(seconds int) Option {
	return func(o *kube.Options) { o.NodeLeaseSeconds = seconds }
}

// Start starts a control plane that ends with the test. Its logs are shown
// if the test fails.
func Start(t testing.TB, options ...Option) *ControlPlane {
	t.Helper()
	cp, err := Launch(t.Context(), append(options, func(o *kube.Options) { o.StateDir = t.TempDir() })...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Err(); err != nil {
			t.Errorf("the control plane ended during the test: %v", err)
		}
		_ = cp.Close()
	})
	return cp
}

// Launch starts a control plane outside of a test, for TestMain. The context
// bounds the start; the caller closes it.
func Launch(ctx context.Context, options ...Option) (*ControlPlane, error) {
	binary, err := Binary(ctx)
	if err != nil {
		return nil, err
	}
	o := kube.Options{Binary: binary}
	for _, option := range options {
		option(&o)
	}
	cp, err := kube.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	h := &ControlPlane{ControlPlane: cp}
	if h.Config, err = h.ConfigFor(kube.Admin); err != nil {
		_ = cp.Close()
		return nil, err
	}
	return h, nil
}

// ConfigFor returns client settings for one of the identities, without a
// client-side rate limit.
func (c *ControlPlane) ConfigFor(id kube.Identity) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfigs[id])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", id, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

var binary = sync.OnceValues(func() (string, error) { return buildBinary(context.Background()) })

// Binary returns the path of a current control plane binary:
// $KERF_CONTROLPLANE if it is set, bin/kerf-controlplane if "make build" made
// it from the present sources, otherwise one from the cache, built now if it
// is not there.
func Binary(ctx context.Context) (string, error) {
	if os.Getenv(kube.BinaryEnv) != "" {
		return kube.FindBinary()
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return binary()
}

func buildBinary(ctx context.Context) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find the sources of the control plane: compiled with -trimpath; set $" + kube.BinaryEnv)
	}
	root := filepath.Dir(filepath.Dir(file))
	script := filepath.Join(root, "build.sh")
	if err := lookAt(filepath.Join(root, "cmd", kube.BinaryName)); err != nil {
		return "", err
	}
	key, err := run(ctx, script, "--key")
	if err != nil {
		return "", err
	}
	made := filepath.Join(filepath.Dir(root), "bin", kube.BinaryName)
	if got, err := os.ReadFile(made + ".key"); err == nil && strings.TrimSpace(string(got)) == key {
		if _, err := os.Stat(made); err == nil {
			return made, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	cache = filepath.Join(cache, "kerf", "controlplane")
	path := filepath.Join(cache, key, kube.BinaryName)
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := run(ctx, script, path); err != nil {
		return "", err
	}
	return path, prune(cache, key)
}

// lookAt asks for every file of the sources, by which "go test" learns that
// its cached results are worth nothing once one of them has changed.
func lookAt(dir string) error {
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look at the sources of the control plane: %w", err)
	}
	return nil
}

// run returns the trimmed standard output of a command.
func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build the control plane: %w\n%s", err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// lock waits for the lock on a file, so that tests of several packages that
// start together build once.
func lock(path string) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache folder: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the cache folder: %w", err)
	}
	return func() { f.Close() }, nil
}

// keptBinaries is how many binaries, of 130 MB each, stay in the cache.
const keptBinaries = 3

// prune removes all but the newest binaries and the current one.
func prune(cache, key string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() || e.Name() == key })
	modified := func(e os.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(modified(b), modified(a)) })
	for i, e := range entries {
		if i < keptBinaries-1 {
			continue
		}
		if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
