package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A cluster that can't be reached is no wrong usage, and the error says which one it is.
func TestAClusterThatCannotBeReachedIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"plan", "doctor"} {
		args := []string{command, "--kubeconfig", file}
		if command == "doctor" {
			args = append(args, "--no-aws")
		}
		var out, errs bytes.Buffer
		if code := Main(args, &out, &errs); code != 1 || !strings.Contains(errs.String(), "127.0.0.1:1") || strings.Contains(errs.String(), "CLUSTER_NAME") {
			t.Errorf("%s: exit code %d: %s", command, code, errs.String())
		}
	}
}
