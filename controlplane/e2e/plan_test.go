package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/setup/rbac/reader"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const planPools = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[1]s}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      expireAfter: %[2]s
  disruption: {consolidateAfter: Never, budgets: [{nodes: "%[3]s"}]}
`

// TestPlan asks what a new image would do, makes the change, and compares; as somebody who may read only, and as an
// administrator.
func TestPlan(t *testing.T) {
	t.Parallel()
	e := up(t)
	for _, name := range []string{"rolls", "stays"} {
		e.apply(strings.Replace(classYAML, "metadata: {name: default}", "metadata: {name: "+name+"}", 1) + "\n---\n" + fmt.Sprintf(planPools, name, "720h", "1"))
	}
	for app, n := range map[string]int{"rolls": 3, "stays": 1} {
		e.apply(deployment(app, n, "500m", "100Mi", lines("nodeSelector: {karpenter.sh/nodepool: "+app+"}\n"+apart(app)+"\nterminationGracePeriodSeconds: 5", 6)))
	}
	e.running(2*time.Minute, "default", 4)
	asReader := e.reader()

	report, code := e.plan(asReader, "")
	if code != 0 || report.Rolling() != 0 || len(report.Nodes) != 4 || report.Bill.Now == 0 || report.Bill.After != report.Bill.Now {
		t.Fatalf("nothing changed: exit code %d, report %+v", code, report)
	}

	// A pod that must not be moved holds its node.
	held := e.hold("rolls")
	image := e.newImage()
	class := strings.Replace(classYAML, "metadata: {name: default}", "metadata: {name: rolls}", 1)
	class = strings.Replace(class, "amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023\n  amiSelectorTerms: [{id: "+image.ID+"}]", 1)
	path := e.file("class.yaml", class)
	report, code = e.plan(asReader, "-f", path)
	if code != 3 || report.Rolling() != 3 || report.Changes[0].Unchecked == "" {
		t.Fatalf("exit code %d, %d of %d roll, %+v", code, report.Rolling(), len(report.Nodes), report.Changes)
	}
	said := map[string]bool{}
	var ends []int64
	for _, n := range report.Nodes {
		if !n.Rolls {
			if n.Pool != "stays" || n.Stays == "" {
				t.Errorf("node %+v", n)
			}
			continue
		}
		said[n.Claim] = true
		if len(n.Causes) != 1 || n.Causes[0].Reason != "AMIDrift" || !strings.Contains(n.Causes[0].Message, image.ID) || n.Pool != "rolls" || n.Already {
			t.Errorf("node %+v", n)
		}
		if n.Name == held {
			if len(n.Blocks) != 1 || !strings.Contains(n.Blocks[0], "asks not to be disrupted") || n.Turn != nil {
				t.Errorf("the node that is held: %+v", n)
			}
			continue
		}
		if n.Turn == nil || len(n.New) != 1 || n.New[0].Price == 0 || n.New[0].Pods != 1 {
			t.Fatalf("node %+v", n)
		}
		ends = append(ends, n.Turn.Start, n.Turn.End)
	}
	if slices.Sort(ends); len(ends) != 4 || ends[0] != 0 || ends[1] != ends[2] || ends[3] == ends[2] {
		t.Errorf("turns %v, want one after the other as the budget has it", ends)
	}
	p := report.Pools[0]
	if p.Name != "rolls" || p.Nodes != 3 || p.Roll != 3 || p.Blocked != 1 || !strings.HasPrefix(p.LaunchFrom, "measured on 3") || p.Takes != ends[3] || p.Drain != 5 {
		t.Errorf("pool %+v", p)
	}
	if report.Bill.Surge == 0 || report.Bill.Extra == 0 {
		t.Errorf("bill %+v", report.Bill)
	}
	// --image says the same without a file.
	short, _ := e.plan(asReader, "--image", image.ID, "--nodeclass", "rolls")
	if short.Rolling() != 3 || short.Bill != report.Bill {
		t.Errorf("with --image %d roll, bill %+v", short.Rolling(), short.Bill)
	}
	// An administrator's change is judged by the API server.
	full, code := e.plan(nil, "-f", path)
	if code != 3 || full.Changes[0].Unchecked != "" || full.Rolling() != 3 {
		t.Errorf("as an administrator: exit code %d, %+v", code, full.Changes)
	}
	// A budget is policy, an age is part of what nodes are made from.
	report, code = e.plan(nil, "-f", e.file("pool.yaml", fmt.Sprintf(planPools, "stays", "720h", "50%")))
	if code != 0 || report.Rolling() != 0 || len(report.Changes) != 1 || report.Changes[0].Fields[0].Effect != changeplan.NoDrift {
		t.Errorf("a budget: exit code %d, %+v", code, report)
	}
	report, code = e.plan(nil, "-f", e.file("pool.yaml", fmt.Sprintf(planPools, "stays", "336h", "0")))
	if code != 3 || report.Rolling() != 1 || report.Changes[0].Fields[1].Effect != changeplan.RollsAll && report.Changes[0].Fields[0].Effect != changeplan.RollsAll || report.Pools[1].Name != "stays" || report.Pools[1].Never != 1 {
		t.Errorf("an age under a budget of nothing: exit code %d, %+v", code, report)
	}
	e.refused(path)

	// Now the change is made. Those that drift are those that were said.
	e.apply(class)
	e.eventually(time.Minute, "the nodes that were said are drifted, or replaced already", func() (bool, string) {
		there := map[string]bool{}
		for _, c := range e.claims() {
			drifted := c.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) || !c.DeletionTimestamp.IsZero()
			there[c.Name] = true
			if c.Status.ImageID == image.ID {
				continue // a new one
			}
			if drifted && !said[c.Name] {
				t.Fatalf("nodeclaim %s drifted, which was not said", c.Name)
			}
			if !drifted && said[c.Name] {
				return false, c.Name + " is not drifted"
			}
		}
		return true, ""
	})
	e.eventually(3*time.Minute, "those that were said to go are replaced, and no others", func() (bool, string) {
		old, now := 0, 0
		kept := map[string]bool{}
		for _, c := range e.claims() {
			kept[c.Status.NodeName] = true
			switch {
			case said[c.Name]:
				old++
			case c.Status.ImageID == image.ID && c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized):
				now++
			}
		}
		return old == 1 && now == 2 && kept[held], fmt.Sprintf("%d of the old ones are left, %d new ones are ready, the held one %v", old, now, kept[held])
	})
	e.running(time.Minute, "default", 4)
	report, _ = e.plan(asReader, "")
	for _, n := range report.Nodes {
		if said[n.Claim] && (!n.Rolls || !n.Already) {
			t.Errorf("after the change: %+v", n)
		}
	}
}

// refused plans changes that are wrong, and looks where that is said to be.
func (e *env) refused(class string) {
	e.Helper()
	text, err := os.ReadFile(class)
	if err != nil {
		e.Fatal(err)
	}
	for name, tt := range map[string]struct {
		old, now, want string
		code           int
	}{
		"a field that there is not": {"amiFamily:", "amiFamilie:", ":5: spec.amiFamilie: there is no such field", 3},
		"a value that is not one":   {"amiFamily: AL2023", "amiFamily: AL2077", ":5: spec.amiFamily: ", 3},
		"no YAML":                   {"spec:", "spec: {", "bad.yaml:", 2},
	} {
		path := e.file("bad.yaml", strings.Replace(string(text), tt.old, tt.now, 1))
		out, errs, code := e.command(nil, "plan", "--cluster-name", e.cluster.Name, "-f", path)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			e.Errorf("%s: exit code %d, %s%s; want %d and %q", name, code, out, errs, tt.code, tt.want)
		}
	}
}

// credentials are what a command has that is not the administrator.
type credentials []string

// plan runs kerf plan and reads its report; nil credentials are the administrator's.
func (e *env) plan(who credentials, args ...string) (*changeplan.Report, int) {
	e.Helper()
	args = slices.DeleteFunc(args, func(a string) bool { return a == "" })
	out, errs, code := e.command(who, append([]string{"plan", "--cluster-name", e.cluster.Name, "--output", "json"}, args...)...)
	report := &changeplan.Report{}
	if err := json.Unmarshal([]byte(out), report); err != nil {
		e.Fatalf("kerf plan %v: exit code %d, %v\n%s\n%s", args, code, err, out, errs)
	}
	text, _, _ := e.command(who, append([]string{"plan", "--cluster-name", e.cluster.Name}, args...)...)
	e.Logf("kerf plan %s\n%s", strings.Join(args, " "), text)
	return report, code
}

// command runs kerf as somebody.
func (e *env) command(who credentials, args ...string) (stdout, stderr string, code int) {
	e.Helper()
	if who == nil {
		who = append(credentials{"KUBECONFIG=" + e.cluster.Kubeconfig}, e.cluster.Simulator.EnvFor(e.cluster.Administrator())...)
	}
	binary, err := kerf()
	if err != nil {
		e.Fatal(err)
	}
	cmd := exec.CommandContext(e.Context(), binary, args...)
	cmd.Env = append(append(os.Environ(), "HOME="+e.TempDir()), who...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	if err != nil {
		e.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

func (e *env) file(name, text string) string {
	e.Helper()
	path := filepath.Join(e.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(text, "\n"), "---\n"), "${CLUSTER_NAME}", e.cluster.Name)), 0o600); err != nil {
		e.Fatal(err)
	}
	return path
}

const readerName = "kerf-reader"

// reader is somebody who may read only, in both APIs: by the role of package reader, and by the policy that kerf stack iam
// --read-only writes.
func (e *env) reader() credentials {
	e.Helper()
	account := e.account(readerName, string(reader.YAML), "kerf-reader")
	w := e.cluster.Simulator.World
	o := local.StackOptions(e.cluster.Name)
	o.Region, o.AccountID = e.cluster.Region, w.Account()
	s, err := stack.New(o)
	if err != nil {
		e.Fatal(err)
	}
	policy, err := s.ReadOnlyIAM()
	if err != nil {
		e.Fatal(err)
	}
	role, err := w.CreateRole(readerName, "/", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`, nil)
	if err != nil {
		e.Fatal(err)
	}
	if err := w.PutRolePolicy(readerName, "read", string(policy)); err != nil {
		e.Fatal(err)
	}
	return append(account, e.cluster.Simulator.EnvFor(w.CreateAccessKey(role.ARN))...)
}

// hold makes a pod of an app one that must not be moved, and returns its node.
func (e *env) hold(app string) string {
	e.Helper()
	var pods corev1.PodList
	if err := e.client.List(e.Context(), &pods, client.MatchingLabels{"app": app}); err != nil || len(pods.Items) == 0 {
		e.Fatal(err, len(pods.Items))
	}
	pod := &pods.Items[0]
	stored := pod.DeepCopy()
	pod.Annotations = maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[karpv1.DoNotDisruptAnnotationKey] = "true"
	if err := e.client.Patch(e.Context(), pod, client.MergeFrom(stored)); err != nil {
		e.Fatal(err)
	}
	return pod.Spec.NodeName
}

// newImage is an image like the one that the instances of the cluster boot.
func (e *env) newImage() world.Image {
	e.Helper()
	w := e.cluster.Simulator.World
	instance, ok := w.Instance(e.instances()[0].ID)
	if !ok {
		e.Fatal("there is no instance")
	}
	for _, image := range w.Images() {
		if image.ID == instance.ImageID {
			image.ID, image.SSMPaths, image.Name = "", nil, image.Name+"-newer"
			return w.AddImage(image)
		}
	}
	e.Fatalf("image %s is not there", instance.ImageID)
	return world.Image{}
}
