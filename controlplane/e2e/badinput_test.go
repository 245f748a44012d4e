package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/local"
)

// class is an EC2NodeClass like the default one with one part of its spec replaced or added.
func class(name, old, replacement string) string {
	text := strings.Replace(classYAML, "metadata: {name: default}", "metadata: {name: "+name+"}", 1)
	if old == "" {
		return text + replacement + "\n"
	}
	return strings.Replace(text, old, replacement, 1)
}

// pool is a NodePool of a class, with more requirements, whose instances only pods that ask for it by its name get.
func pool(name, class, requirements string) string {
	return fmt.Sprintf(`
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
      requirements: [%s]
`, name, class, requirements)
}

// TestBadInput brings everything at once that a user may get wrong. Each object is told what is wrong with it and what to
// do, and the one good pool serves its pods all the while.
func TestBadInput(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.mayBeDenied("iam:PassRole", "*:role/absent")
	e.apply(poolYAML)
	e.apply(class("no-subnet", `subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]`, `subnetSelectorTerms: [{tags: {team: nobody}}]`))
	e.apply(class("no-group", `securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]`, `securityGroupSelectorTerms: [{name: absent}]`))
	e.apply(class("no-image", "amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023\n  amiSelectorTerms: [{name: absent}]"))
	e.apply(class("no-role", "role: KarpenterNodeRole-${CLUSTER_NAME}", "role: absent"))
	e.apply(class("no-ebs", "", "  blockDeviceMappings: [{deviceName: /dev/xvda}]"))
	e.apply(pool("lost", "absent", ""))
	e.apply(pool("nowhere", "default", "{key: topology.kubernetes.io/zone, operator: In, values: [mars-1a]}"))
	e.apply(pool("bare", "no-ebs", ""))
	if err := e.cluster.Apply(t.Context(), []byte(pool("odd", "default", "{key: a, operator: Near, values: [b]}"))); err == nil || !strings.Contains(err.Error(), "Near") {
		t.Errorf("an unknown operator: %v, want a refusal that names it", err)
	}
	e.apply(deployment("huge", 1, "1000", "1Gi", ""))
	e.apply(deployment("torn", 1, "1", "1Gi", "      nodeSelector: {kubernetes.io/arch: arm64, karpenter.k8s.aws/instance-cpu-manufacturer: intel}\n"))
	e.apply(deployment("typo", 1, "1", "1Gi", "      nodeSelector: {karpenter.sh/capacity-type: on_demand}\n"))
	e.apply(deployment("martian", 1, "1", "1Gi", "      nodeSelector: {karpenter.sh/nodepool: nowhere}\n"))
	e.apply(deployment("web", 3, "1", "1Gi", ""))

	t.Run("the good pool serves", func(t *testing.T) {
		e.eventually(90*time.Second, "web runs", func() (bool, string) {
			run := 0
			for _, p := range e.pods("default") {
				if p.Labels["app"] == "web" && p.Status.Phase == corev1.PodRunning {
					run++
				}
			}
			return run == 3, fmt.Sprintf("%d of 3 run", run)
		})
	})
	for name, tc := range map[string]struct {
		condition, reason string
		words             []string
	}{
		"no-subnet": {awsv1.ConditionTypeSubnetsReady, awsv1.ReasonSubnetsNotFound, []string{"spec.subnetSelectorTerms"}},
		"no-group":  {awsv1.ConditionTypeSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound, []string{"spec.securityGroupSelectorTerms"}},
		"no-image":  {awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound, []string{"spec.amiSelectorTerms"}},
		"no-role":   {awsv1.ConditionTypeInstanceProfileReady, "", []string{"absent", "role"}},
		"no-ebs":    {"", "", []string{"blockDeviceMappings[0].ebs"}},
	} {
		t.Run("class "+name, func(t *testing.T) {
			e.eventually(60*time.Second, "the class says what is wrong", func() (bool, string) {
				c := &awsv1.EC2NodeClass{}
				if err := e.client.Get(t.Context(), client.ObjectKey{Name: name}, c); err != nil {
					return false, err.Error()
				}
				return says(c.Status.Conditions, tc.condition, tc.reason, tc.words...), fmt.Sprint(c.Status.Conditions)
			})
		})
	}
	t.Run("pool lost", func(t *testing.T) {
		e.eventually(30*time.Second, "the pool says that its class is missing", func() (bool, string) {
			p := &karpv1.NodePool{}
			if err := e.client.Get(t.Context(), client.ObjectKey{Name: "lost"}, p); err != nil {
				return false, err.Error()
			}
			return says(p.Status.Conditions, karpv1.ConditionTypeNodeClassReady, karpv1.ReasonNodeClassNotFound, "absent"), fmt.Sprint(p.Status.Conditions)
		})
	})
	for app, words := range map[string][]string{
		"huge":    {"1000", "cpu"},
		"torn":    {"karpenter.k8s.aws/instance-cpu-manufacturer"},
		"typo":    {"on_demand", "on-demand"},
		"martian": {"mars-1a"},
	} {
		t.Run("pod "+app, func(t *testing.T) {
			e.eventually(60*time.Second, "the pod is told why no instance serves it", func() (bool, string) {
				seen := ""
				for _, ev := range list[corev1.EventList](e, client.InNamespace("default")).Items {
					if ev.Reason != "FailedScheduling" || ev.Source.Component == "default-scheduler" || !strings.HasPrefix(ev.InvolvedObject.Name, app+"-") {
						continue
					}
					seen = ev.Message
					all := true
					for _, w := range words {
						all = all && strings.Contains(ev.Message, w)
					}
					if all {
						return true, ""
					}
				}
				return false, seen
			})
		})
	}
	e.oneToOne()
}

// says reports whether a condition that is not True has the reason and all the words.
func says(conditions []status.Condition, kind, reason string, words ...string) bool {
	for _, c := range conditions {
		if (kind != "" && c.Type != kind) || c.IsTrue() || (reason != "" && c.Reason != reason) {
			continue
		}
		all := true
		for _, w := range words {
			all = all && strings.Contains(c.Message, w)
		}
		if all {
			return true
		}
	}
	return false
}

// TestStartRefusals starts the controller with settings that can't work and reads what it says as it exits.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) { o.NoController = true })
	e.mayBeDenied("eks:DescribeCluster", "*:cluster/absent")
	key := e.cluster.ControllerKey()
	kubeconfig, err := e.cluster.AsController(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]string{
		"KUBECONFIG": kubeconfig, "AWS_ENDPOINT_URL": e.cluster.AWS, "AWS_REGION": e.cluster.Region,
		"AWS_ACCESS_KEY_ID": key.ID, "AWS_SECRET_ACCESS_KEY": key.Secret, "AWS_SESSION_TOKEN": key.SessionToken,
		"AWS_EC2_METADATA_DISABLED": "true", "CLUSTER_NAME": e.cluster.Name, "DISABLE_LEADER_ELECTION": "true",
		"METRICS_PORT": "0", "HEALTH_PROBE_PORT": "0", "HOME": t.TempDir(), "PATH": os.Getenv("PATH"),
	}
	binary, err := kerf()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change map[string]string
		words  []string
	}{
		"a malformed duration":         {map[string]string{"BATCH_MAX_DURATION": "soon"}, []string{"BATCH_MAX_DURATION", "soon", "10s"}},
		"no cluster name":              {map[string]string{"CLUSTER_NAME": ""}, []string{"CLUSTER_NAME"}},
		"no region":                    {map[string]string{"AWS_REGION": ""}, []string{"AWS_REGION"}},
		"a secret key that is wrong":   {map[string]string{"AWS_SECRET_ACCESS_KEY": "wrong"}, []string{"AWS_SECRET_ACCESS_KEY"}},
		"a cluster that EKS lacks":     {map[string]string{"CLUSTER_NAME": "absent"}, []string{"absent", "CLUSTER_NAME"}},
		"a kubeconfig that is missing": {map[string]string{"KUBECONFIG": "/absent"}, []string{"/absent"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, "controller")
			for k, v := range good {
				if w, ok := tc.change[k]; ok {
					v = w
				}
				if v != "" {
					cmd.Env = append(cmd.Env, k+"="+v)
				}
			}
			for k, v := range tc.change {
				if _, ok := good[k]; !ok {
					cmd.Env = append(cmd.Env, k+"="+v)
				}
			}
			out, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Fatalf("it did not refuse: %v\n%s", err, out)
			}
			last := out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:]
			for _, w := range tc.words {
				if !strings.Contains(string(last), w) {
					t.Errorf("the last line does not name %q: %s", w, last)
				}
			}
			if strings.Contains(string(out), "goroutine ") {
				t.Errorf("it panicked:\n%s", out)
			}
		})
	}
}
