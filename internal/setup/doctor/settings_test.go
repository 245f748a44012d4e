package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestWhatADeploymentTellsTheController(t *testing.T) {
	type values = map[string]string
	for name, tc := range map[string]struct {
		env  values
		args []string
		want values
	}{
		"numbers that read as booleans": {values{"CLUSTER_NAME": "demo", "RESERVED_ENIS": "1", "KERF_NODE_UPKEEP": "1", "BATCH_IDLE_DURATION": "0"}, nil,
			values{"CLUSTER_NAME": "demo", "RESERVED_ENIS": "1", "KERF_NODE_UPKEEP": "1", "BATCH_IDLE_DURATION": "0"}},
		"a cluster whose name reads as one": {nil, []string{"--cluster-name=t"}, values{"CLUSTER_NAME": "t"}},
		"flags in two arguments": {nil, []string{"--cluster-name", "demo", "--reserved-enis", "2", "--isolated-vpc", "--leader-election-name", "mine"},
			values{"CLUSTER_NAME": "demo", "RESERVED_ENIS": "2", "ISOLATED_VPC": "true", "LEADER_ELECTION_NAME": "mine"}},
		"short names":                 {values{"CLUSTER_NAME": "demo", "KERF_COMPAT": "kerf"}, []string{"--compat=karpenter"}, values{"CLUSTER_NAME": "demo", "KERF_COMPAT": "karpenter"}},
		"a flag against its variable": {values{"CLUSTER_NAME": "demo", "ISOLATED_VPC": "true"}, []string{"--isolated-vpc=false"}, values{"CLUSTER_NAME": "demo", "ISOLATED_VPC": "false"}},
		"an empty variable":           {values{"CLUSTER_NAME": "demo", "CLUSTER_ENDPOINT": ""}, nil, values{"CLUSTER_NAME": "demo"}},
	} {
		d := deployment("kube-system", "karpenter", "kerf:1", tc.env, tc.args...)
		d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "beside", Image: "proxy", Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "warn"}}}}, d.Spec.Template.Spec.Containers...)
		lookup, ok, _ := SettingsOf(d, nil)
		if !ok {
			t.Errorf("%s: it runs no controller", name)
			continue
		}
		got := values{}
		for _, env := range []string{"CLUSTER_NAME", "RESERVED_ENIS", "KERF_NODE_UPKEEP", "BATCH_IDLE_DURATION", "ISOLATED_VPC", "LEADER_ELECTION_NAME", "KERF_COMPAT", "CLUSTER_ENDPOINT", "LOG_LEVEL"} {
			if v, ok := lookup(env); ok {
				got[env] = v
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestOfAVariableThatIsThereTwiceTheLastCounts(t *testing.T) {
	d := deployment("kube-system", "karpenter", "kerf:1", map[string]string{"CLUSTER_NAME": "demo"})
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env = append(c.Env, corev1.EnvVar{Name: "RESERVED_ENIS", Value: "1"}, corev1.EnvVar{Name: "RESERVED_ENIS", Value: "2"})
	lookup, ok, _ := SettingsOf(d, nil)
	if !ok {
		t.Fatal("it runs no controller")
	}
	if got, _ := lookup("RESERVED_ENIS"); got != "2" {
		t.Errorf("RESERVED_ENIS is %q, want 2, as the kubelet reads it", got)
	}
}

func TestDeploymentsOfOthersAreSkippedAtOnce(t *testing.T) {
	d := deployment("shop", "web", "nginx:1", map[string]string{"CLUSTER_NAME": "demo"}, "--port=80", "--log-level=info", "--quiet")
	if n := testing.AllocsPerRun(10, func() { controllerOf(d, nil) }); n > 0 {
		t.Errorf("one that runs no node autoscaler takes %.0f allocations", n)
	}
}

func TestOneInShadowIsNotTheController(t *testing.T) {
	for _, args := range [][]string{{"--shadow"}, {"--kerf-shadow"}, {"--kerf-shadow=true"}, {"--shadow=true", "--reserved-enis", "1"}} {
		d := deployment("kube-system", "shadow", "kerf:1", map[string]string{"CLUSTER_NAME": "demo"}, args...)
		if _, ok, _ := SettingsOf(d, nil); ok {
			t.Errorf("%q: it counts as the controller", args)
		}
	}
	d := deployment("kube-system", "karpenter", "kerf:1", map[string]string{"CLUSTER_NAME": "demo", "KERF_SHADOW": "true"}, "--shadow=false")
	if _, ok, _ := SettingsOf(d, nil); !ok {
		t.Error("a flag that says no does not beat its variable")
	}
}
