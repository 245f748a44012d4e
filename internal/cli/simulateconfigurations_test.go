package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// tree is a new folder with files, into which the test goes.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// poolOf is a NodePool in a file, with requirements as YAML besides its capacity type.
func poolOf(name string, more ...string) string {
	return `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ` + name + `}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: mine}
      requirements: [` + strings.Join(append(more, "{key: karpenter.sh/capacity-type, operator: In, values: [spot]}"), ", ") + `]
`
}

// simulateOf is the command with flags and folders, as it is when it begins to run.
func simulateOf(t *testing.T, f *simulateFlags, folders ...string) []*simulate.Configuration {
	t.Helper()
	f.compare, f.configuration = len(folders) > 0, folders
	out, err := f.configurations(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConfigurationsHaveNamesOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ paths, want []string }{
		{[]string{"today/", "./proposal"}, []string{"today", "proposal"}},
		{[]string{"a/x", "x"}, []string{"a/x", "x"}},
		{[]string{"x/", "a/x"}, []string{"x", "a/x"}},
		{[]string{"a/x", "b/x", "x", "y"}, []string{"a/x", "b/x", "x", "y"}},
	} {
		if got, err := configurationNames(c.paths); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q are named %q, %v", c.paths, got, err)
		}
	}
	for _, paths := range [][]string{{"x", "x/"}, {"a/x", "y", "a/../a/x"}, {"-", "-"}} {
		if got, err := configurationNames(paths); err == nil || !strings.Contains(err.Error(), "is there twice") {
			t.Errorf("%q are named %q, %v", paths, got, err)
		}
	}
}

// Two folders of one name are compared with each other, and neither with itself.
func TestFoldersOfOneNameAreTwoConfigurations(t *testing.T) {
	tree(t, map[string]string{"old/pools/pool.yaml": poolOf("was"), "pools/pool.yaml": poolOf("is")})
	both := simulateOf(t, &simulateFlags{}, "old/pools", "pools")
	c := &simulate.Comparison{Configurations: []simulate.Configured{{Name: both[0].Name}, {Name: both[1].Name}}}
	c.Tell(both)
	if both[0].Name == both[1].Name || len(c.Configurations[1].Changes) == 0 {
		t.Errorf("%s against %s: %+v", both[1].Name, both[0].Name, c.Configurations[1].Changes)
	}
}
