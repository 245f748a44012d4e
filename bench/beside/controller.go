package beside

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Controller is a program that can run in the cluster.
type Controller struct {
	Name string
	// Env is what it needs on top of what every controller gets.
	Env []string
	// Admin lets it talk to Kubernetes as an administrator: its own roles are not installed.
	Admin bool
	// module is the folder, from that of the benchmarks, and target what is built there.
	module, target string
	// writer is a part of the user's name or agent in the audit log.
	writer string
}

// Controllers are the two, Kerf's first.
//
// Both are given the same cluster, queue and settings; consolidation of spot by spot, off by default with both, stays off.
func Controllers() []Controller {
	return []Controller{
		{Name: "kerf", module: "..", target: "./cmd/kerf", writer: "kube-system:karpenter"},
		{
			Name: "upstream", module: "upstream", target: "github.com/aws/karpenter-provider-aws/cmd/controller", Admin: true, writer: "karpenter",
			Env: []string{
				"KARPENTER_SERVICE=karpenter", "SYSTEM_NAMESPACE=kube-system", "DISABLE_WEBHOOK=true", "LOG_LEVEL=info",
				// As the Helm chart sets them from the container's limits.
				"CPU_REQUESTS=2000", "MEMORY_LIMIT=4294967296",
			},
		},
	}
}

// Build makes the program and returns its path in the folder.
//
// Errors: those of the Go command, with what it said.
func (c Controller) Build(ctx context.Context, folder string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf("building %s: the sources are not known; build this command without -trimpath", c.Name)
	}
	path := filepath.Join(folder, c.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, c.target)
	cmd.Dir = filepath.Join(filepath.Dir(filepath.Dir(file)), c.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", c.Name, err, out)
	}
	return path, nil
}
