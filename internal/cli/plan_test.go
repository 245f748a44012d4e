package cli

import (
	"bytes"
	"io"
	"testing"

	"github.com/spf13/pflag"
)

func TestAnEmptyVariableHidesNoSettingOfTheDeployment(t *testing.T) {
	t.Setenv("CLUSTER_NAME", "")
	t.Setenv("RESERVED_ENIS", "2")
	lookup := environmentOr(func(name string) (string, bool) { return "deployed " + name, true })
	for name, want := range map[string]string{"CLUSTER_NAME": "deployed CLUSTER_NAME", "RESERVED_ENIS": "2", "KERF_COMPAT": "deployed KERF_COMPAT"} {
		if got, ok := lookup(name); !ok || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestALocalPortCollidesWithAnotherThatIsGivenOnly(t *testing.T) {
	for _, pair := range []string{"METRICS_PORT=8081", "HEALTH_PROBE_PORT=8080"} {
		if err := settingsRead([]string{pair}, io.Discard); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if err := settingsRead([]string{"METRICS_PORT=9000", "HEALTH_PROBE_PORT=9000"}, io.Discard); err == nil {
		t.Error("one port for both is taken")
	}
}

func TestWhatTheControllerWarnsOfIsPrinted(t *testing.T) {
	const want = "FEATURE_GATES: feature gate \"NodeRepiar\" is not known and has no effect\n"
	var local, plan bytes.Buffer
	if err := settingsRead([]string{"FEATURE_GATES=NodeRepiar=true"}, &local); err != nil || local.String() != want {
		t.Errorf("kerf local up prints %q, %v", local.String(), err)
	}
	env := map[string]string{"CLUSTER_NAME": "demo", "FEATURE_GATES": "NodeRepiar=true"}
	s, err := loadSettings(pflag.NewFlagSet("plan", pflag.ContinueOnError), func(name string) (string, bool) { v, ok := env[name]; return v, ok }, &plan)
	if err != nil || s.ClusterName != "demo" || plan.String() != want {
		t.Errorf("kerf plan prints %q, %v", plan.String(), err)
	}
}
