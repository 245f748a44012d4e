package cli

import "testing"

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
