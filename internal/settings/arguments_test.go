package settings

import (
	"maps"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestArgumentsAreReadAsTheControllerReadsThem(t *testing.T) {
	for line, want := range map[string]map[string]string{
		"--cluster-name=demo --reserved-enis=1":     {"CLUSTER_NAME": "demo", "RESERVED_ENIS": "1"},
		"--cluster-name demo --reserved-enis 2":     {"CLUSTER_NAME": "demo", "RESERVED_ENIS": "2"},
		"--isolated-vpc --enable-zonal-shift=false": {"ISOLATED_VPC": "true", "ENABLE_ZONAL_SHIFT": "false"},
		"--kerf-shadow --cluster-name true":         {"KERF_SHADOW": "true", "CLUSTER_NAME": "true"},
		"--shadow --compat=karpenter":               {"KERF_SHADOW": "true", "KERF_COMPAT": "karpenter"},
		"--compat karpenter --cluster-name a":       {"KERF_COMPAT": "karpenter", "CLUSTER_NAME": "a"},
		"--memory-limit -1 --cluster-name b":        {"MEMORY_LIMIT": "-1", "CLUSTER_NAME": "b"},
		"--reserved-enis=1 --reserved-enis=3":       {"RESERVED_ENIS": "3"},
		"--cluster-name --isolated-vpc":             {"CLUSTER_NAME": "--isolated-vpc"},
	} {
		got := Arguments(strings.Fields("controller " + line))
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		AddFlags(fs)
		NormalizeFlags(fs)
		if err := fs.Parse(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		read := map[string]string{}
		fs.Visit(func(f *pflag.Flag) { read[EnvName(f.Name)] = f.Value.String() })
		if !maps.Equal(read, want) || !maps.Equal(got, want) {
			t.Errorf("%s: the controller reads %v, Arguments %v, want %v", line, read, got, want)
		}
	}
	other := Arguments(strings.Fields("controller --kubeconfig /x -batch-max-duration=20s -h --v --cluster-name=demo --reserved-enis"))
	if want := map[string]string{"CLUSTER_NAME": "demo", "BATCH_MAX_DURATION": "20s"}; !maps.Equal(other, want) {
		t.Errorf("flags of others, and one without its value: got %v, want %v", other, want)
	}
}

func TestSettingsAreLookedUpInOneTable(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { rowOf("REGISTRATION_TIMEOUT") }); n > 200 {
		t.Errorf("looking one up allocates %.0f times", n)
	}
}
