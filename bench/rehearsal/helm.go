package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// release and namespace are where users have the Karpenter chart.
const release, namespace = manifests.DefaultName, manifests.DefaultNamespace

// upstreamImage is the repository in the values of upstream's chart.
const upstreamImage = "public.ecr.aws/karpenter/controller"

// helmTimeout is how long Helm may take for one command; it takes some seconds.
const helmTimeout = 2 * time.Minute

// helm runs Helm's commands in the cluster.
type helm struct {
	config *action.Configuration
	// serverSide is how upstream's releases are installed: as Helm 4 does it by default, or as Helm 3 did.
	serverSide bool
}

func newHelm(kubeconfig string, serverSide bool) (*helm, error) {
	h := &helm{config: action.NewConfiguration(), serverSide: serverSide}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = new(kubeconfig), new(namespace)
	if err := h.config.Init(flags, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("prepare Helm: %w", err)
	}
	return h, nil
}

// add is "helm install <name> <chart> --wait", with --take-ownership if that is wanted.
func (h *helm) add(ctx context.Context, name string, chart *chartv2.Chart, values map[string]any, serverSide, takeOwnership bool) error {
	a := action.NewInstall(h.config)
	a.ReleaseName, a.Namespace, a.WaitStrategy, a.Timeout = name, namespace, helmkube.StatusWatcherStrategy, helmTimeout
	a.ServerSideApply, a.TakeOwnership = serverSide, takeOwnership
	if _, err := a.RunWithContext(ctx, chart, values); err != nil {
		return fmt.Errorf("install chart %s as %s: %w", chart.Name(), name, err)
	}
	return nil
}

// takeOver is "helm upgrade <name> <chart> --install --take-ownership" for a release that is not there yet.
func (h *helm) takeOver(ctx context.Context, name string, chart *chartv2.Chart) error {
	return h.add(ctx, name, chart, nil, true, true)
}

// upgrade is "helm upgrade <name> <chart> --reset-then-reuse-values --set … --wait".
func (h *helm) upgrade(ctx context.Context, name string, c *chartv2.Chart, values map[string]any) error {
	a := action.NewUpgrade(h.config)
	a.Namespace, a.WaitStrategy, a.Timeout = namespace, helmkube.StatusWatcherStrategy, helmTimeout
	a.ResetThenReuseValues, a.ServerSideApply = true, "auto"
	if _, err := a.RunWithContext(ctx, name, c, values); err != nil {
		return fmt.Errorf("upgrade release %s to chart %s: %w", name, c.Name(), err)
	}
	return nil
}

// rollback is "helm rollback <name> --wait".
func (h *helm) rollback(name string) error {
	a := action.NewRollback(h.config)
	a.WaitStrategy, a.ServerSideApply, a.Timeout = helmkube.StatusWatcherStrategy, "auto", helmTimeout
	if err := a.Run(name); err != nil {
		return fmt.Errorf("roll release %s back: %w", name, err)
	}
	return nil
}

// uninstall is "helm uninstall <name>".
func (h *helm) uninstall(name string) error {
	a := action.NewUninstall(h.config)
	a.WaitStrategy, a.Timeout = helmkube.HookOnlyStrategy, helmTimeout
	if _, err := a.Run(name); err != nil {
		return fmt.Errorf("uninstall release %s: %w", name, err)
	}
	return nil
}

func load(chart string) (*chartv2.Chart, error) {
	c, err := loader.LoadDir(chart)
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", chart, err)
	}
	return c, nil
}

// loadUpstream reads a chart of upstream's module and gives it the version of the module: the charts there are those of the
// release before, and are given theirs when they are published.
func loadUpstream(folder, version string) (*chartv2.Chart, error) {
	c, err := load(folder)
	if err != nil {
		return nil, err
	}
	version = strings.TrimPrefix(version, "v")
	c.Metadata.Version, c.Metadata.AppVersion = version, version
	if controller, ok := c.Values["controller"].(map[string]any); ok {
		if image, ok := controller["image"].(map[string]any); ok {
			image["tag"], image["digest"] = version, ""
		}
	}
	return c, nil
}

// root is the folder of Kerf's sources.
func root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf("find Kerf's charts: the sources are not known; build without -trimpath")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file))), nil
}

// upstreamModule is where upstream's module of the version in bench/upstream/go.mod is, with its charts.
//
// Errors: those of the Go command, which downloads the module if it is not there.
func upstreamModule(ctx context.Context) (folder, version string, err error) {
	dir, err := root()
	if err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", "github.com/aws/karpenter-provider-aws")
	cmd.Dir = filepath.Join(dir, "bench", "upstream")
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("find upstream's module: %w\n%s", err, out)
	}
	var m struct{ Dir, Version string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", fmt.Errorf("find upstream's module: %w", err)
	}
	return m.Dir, m.Version, nil
}
