package settings

import (
	"maps"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestArgumentsAreReadAsTheControllerReadsThem(t *testing.T) {
	for line, want := range map[string]map[string]string{
		"--cluster-name=demo --reserved-enis=1":     {"cluster-name": "demo", "reserved-enis": "1"},
		"--cluster-name demo --reserved-enis 2":     {"cluster-name": "demo", "reserved-enis": "2"},
		"--isolated-vpc --enable-zonal-shift=false": {"isolated-vpc": "true", "enable-zonal-shift": "false"},
		"--kerf-shadow --cluster-name true":         {"kerf-shadow": "true", "cluster-name": "true"},
		"--shadow --compat=karpenter":               {"kerf-shadow": "true", "kerf-compat": "karpenter"},
		"--compat karpenter --cluster-name a":       {"kerf-compat": "karpenter", "cluster-name": "a"},
		"--memory-limit -1 --cluster-name b":        {"memory-limit": "-1", "cluster-name": "b"},
		"--reserved-enis=1 --reserved-enis=3":       {"reserved-enis": "3"},
		"--cluster-name --isolated-vpc":             {"cluster-name": "--isolated-vpc"},
	} {
		got := Arguments(strings.Fields("controller " + line))
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		AddFlags(fs)
		fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName { return pflag.NormalizedName(LongName(name)) })
		if err := fs.Parse(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		read := map[string]string{}
		fs.Visit(func(f *pflag.Flag) { read[f.Name] = f.Value.String() })
		if !maps.Equal(read, want) {
			t.Errorf("%s: the controller reads %v, want %v", line, read, want)
		}
	}
	other := Arguments(strings.Fields("controller --kubeconfig /x --v --cluster-name=demo --reserved-enis"))
	if want := map[string]string{"kubeconfig": "/x", "v": "true", "cluster-name": "demo"}; !maps.Equal(other, want) {
		t.Errorf("flags of others: got %v, want %v", other, want)
	}
}
