package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

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
	return simulateWith(t, f, "", folders...)
}

// simulateWith is the same with a text on standard input.
func simulateWith(t *testing.T, f *simulateFlags, given string, folders ...string) []*simulate.Configuration {
	t.Helper()
	f.compare, f.configuration = len(folders) > 0, folders
	out, err := f.configurations(strings.NewReader(given))
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

// A folder of settings says nothing of NodePools, so that those of the snapshot are played.
func TestSettingsAloneLeaveTheNodePoolsOfTheSnapshot(t *testing.T) {
	pools, err := yaml.YAMLToJSON([]byte(poolOf("legacy")))
	if err != nil {
		t.Fatal(err)
	}
	tree(t, map[string]string{
		"now/settings.env": "BATCH_IDLE_DURATION=2s\n", "later/settings.env": "BATCH_IDLE_DURATION=5s\n", "own/pool.yaml": poolOf("own"), "own/settings.env": "BATCH_IDLE_DURATION=5s\n",
		"cluster.json": string(pools),
	})
	f := &simulateFlags{}
	f.workload.snapshot = "cluster.json"
	for i, want := range []string{"legacy", "legacy", "own"} {
		c := simulateOf(t, f, "now", "later", "own")[i]
		var names []string
		for _, m := range c.Manifests {
			if strings.Contains(m.JSON, `"kind":"NodePool"`) {
				names = append(names, m.From)
				if !strings.Contains(m.JSON, `"name":"`+want+`"`) {
					t.Errorf("%s has %s", c.Name, m.JSON)
				}
			}
		}
		if len(names) != 1 || len(c.Settings) != 1 {
			t.Errorf("%s has NodePools of %q and settings %v", c.Name, names, c.Settings)
		}
	}
}

// inZones are the requirements of a NodePool in two zones of a region.
func inZones(region string) string {
	return "{key: topology.kubernetes.io/zone, operator: In, values: [" + region + "a, " + region + "b]}"
}

// What is compared is played in one region: the prices of two differ by more than the configurations do.
func TestConfigurationsAreComparedInOneRegion(t *testing.T) {
	tree(t, map[string]string{"zones/pool.yaml": poolOf("web", inZones("eu-central-1")), "none/pool.yaml": poolOf("web"), "elsewhere/pool.yaml": poolOf("web", inZones("us-west-2"))})
	for _, c := range []struct {
		folders []string
		region  string // --region
		want    string
	}{
		{[]string{"zones", "none"}, "", "eu-central-1"},
		{[]string{"none", "zones"}, "", "eu-central-1"},
		{[]string{"zones", "elsewhere"}, "us-west-2", "us-west-2"},
		{[]string{"zones", "none"}, "eu-west-1", "eu-west-1"},
	} {
		f := &simulateFlags{region: c.region, horizon: time.Hour, boot: time.Minute}
		f.workload.register(&cobra.Command{})
		for _, one := range simulateOf(t, f, c.folders...) {
			if s, err := f.spec(one, 1); err != nil || s.Region != c.want || s.RegionUnknown {
				t.Errorf("%q with --region %q: %s is played in %s, %v", c.folders, c.region, one.Name, s.Region, err)
			}
		}
	}
}

// Standard input can be read once, and -f adds it to every configuration.
func TestStandardInputIsOfEveryConfiguration(t *testing.T) {
	tree(t, map[string]string{"now/settings.env": "BATCH_IDLE_DURATION=2s\n", "later/settings.env": "BATCH_IDLE_DURATION=5s\n"})
	for _, c := range simulateWith(t, &simulateFlags{files: []string{"-"}}, poolOf("piped"), "now", "later") {
		if len(c.Manifests) == 0 || !strings.Contains(c.Manifests[0].JSON, `"name":"piped"`) {
			t.Errorf("%s has %+v", c.Name, c.Manifests)
		}
	}
}

// The folders of docs/simulate.md differ in one field, and its line stands in the page. What the page and the help say of the default NodePool is true.
func TestTheFoldersOfThePageDifferInOneField(t *testing.T) {
	read := func(path string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	page, pool, quick := read("docs/simulate.md"), read("examples/nodepool.yaml"), read("internal/local/examples/default.yaml")
	const from, to = "consolidateAfter: 1m", "consolidateAfter: 10m"
	if !strings.Contains(page, "sed 's/"+from+"/"+to+"/' examples/nodepool.yaml > proposal/nodepool.yaml") {
		t.Error("the page has no two folders")
	}
	for _, want := range []string{"values: [spot, on-demand]", "values: [amd64, arm64]", "values: [c, m, r]", "operator: Gt\n        values: [\"4\"]", "consolidateAfter: 15s", "nodes: 100%"} {
		if !strings.Contains(quick, want) {
			t.Errorf("the NodePool of the quick start no longer has %s, which docs/simulate.md and the help of kerf simulate say", want)
		}
	}
	tree(t, map[string]string{"today/nodepool.yaml": pool, "proposal/nodepool.yaml": strings.Replace(pool, from, to, 1)})
	both := simulateOf(t, &simulateFlags{}, "today", "proposal")
	c := &simulate.Comparison{Configurations: []simulate.Configured{{Name: both[0].Name}, {Name: both[1].Name}}}
	c.Tell(both)
	if changes := c.Configurations[1].Changes; len(changes) != 1 || !strings.Contains(page, "`compared: "+changes[0].Text()+"`") {
		t.Errorf("%+v", changes)
	}
}
