package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestACommandStaysWithItsCluster has somebody switch the current context while a page is open.
func TestACommandStaysWithItsCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	write := func(current string) {
		t.Helper()
		text := `apiVersion: v1
kind: Config
current-context: ` + current + `
contexts:
- {name: prod, context: {cluster: prod, user: u}}
- {name: staging, context: {cluster: staging, user: u}}
clusters:
- {name: prod, cluster: {server: "https://prod.example"}}
- {name: staging, cluster: {server: "https://staging.example"}}
users:
- {name: u, user: {token: t}}
`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("prod")
	var f clusterFlags
	f.register(&cobra.Command{})
	f.kubeconfig = file
	for _, current := range []string{"prod", "staging"} {
		write(current)
		config, err := f.config()
		if err != nil || !strings.Contains(config.Host, "prod") || f.name() != "prod" {
			t.Errorf("with the current context %s it asks %v of %s, %v", current, config, f.name(), err)
		}
	}
}
