package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/shadow"
	"github.com/kerf-sh/kerf/internal/setup/leader"
)

const shadowPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  disruption: {consolidateAfter: %s, budgets: [{nodes: "%s"}]}
`

// TestShadow runs a shadow beside the real controller, as somebody who may read only in both APIs. The real one is kept from
// consolidating by its budget; the shadow says what that costs, and changes nothing.
func TestShadow(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	e.apply(fmt.Sprintf(shadowPool, "1s", "100%"))
	e.apply(deployment("web", 3, "500m", "100Mi", lines(apart("web"), 6)))
	e.running(2*time.Minute, "default", 3)
	s := e.startShadow(e.reader())

	before := s.summary(func(x *shadow.Summary) bool { return x.Rounds > 0 && x.Total.Nodes == 3 && x.Unpriced == 0 })
	if before.Total.Running == 0 || len(before.Pools) != 1 || before.Pools[0].Name != "default" {
		t.Errorf("with three nodes in use: %+v", before)
	}

	// Pods that nothing can be launched for by the real controller, which is stopped: the shadow would launch, and does not pile
	// up what it would have launched.
	if err := e.cluster.Controller.Terminate(); err != nil {
		t.Fatal(err)
	}
	e.apply(deployment("more", 2, "500m", "100Mi", lines(apart("more"), 6)))
	e.apply(deployment("big", 1, "6", "100Mi", ""))
	first := s.summary(func(x *shadow.Summary) bool { return x.Total.Launched > 0 })
	again := s.summary(func(x *shadow.Summary) bool { return x.Rounds >= first.Rounds+2 })
	if again.Total.Launched != first.Total.Launched || again.Total.Nodes != 3 || again.count("launch") != first.count("launch") {
		t.Errorf("the same pods wait: first %+v, then %+v", first, again)
	}
	if err := e.cluster.Controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.running(2*time.Minute, "default", 6)

	// The work goes, and the budget forbids the real controller to follow.
	e.apply(fmt.Sprintf(shadowPool, "1s", "0"))
	e.scale("big", 0)
	e.scale("more", 0)
	nodes := len(e.nodes())
	e.eventually(time.Minute, "three pods are left, and all nodes may be consolidated", func() (bool, string) {
		confirmed := 0
		for _, c := range e.claims() {
			if c.StatusConditions().IsTrue(karpv1.ConditionTypeConsolidatable) {
				confirmed++
			}
		}
		return confirmed == nodes && len(e.pods("default")) == 3, fmt.Sprintf("%d of %d, %d pods", confirmed, nodes, len(e.pods("default")))
	})
	was := s.summary(func(*shadow.Summary) bool { return true })
	blocked := s.summary(func(x *shadow.Summary) bool { return x.Rounds >= was.Rounds+2 && x.Total.Nodes == nodes })
	if blocked.Total.Saved != 0 {
		t.Errorf("the shadow does not heed the budget: %+v", blocked.Total)
	}
	// With the budget open both would go. The real one is stopped again, so that what it leaves undone can be seen.
	if err := e.cluster.Controller.Terminate(); err != nil {
		t.Fatal(err)
	}
	e.apply(fmt.Sprintf(shadowPool, "1s", "100%"))
	open := s.summary(func(x *shadow.Summary) bool { return x.Total.Saved > 0 })
	if open.Total.Kerf >= open.Total.Running || open.count("delete")+open.count("replace") == 0 {
		t.Errorf("with an open budget: %+v", open)
	}
	later := s.summary(func(x *shadow.Summary) bool { return x.Rounds >= open.Rounds+2 })
	if later.Missed <= open.Missed || later.Total.Nodes != nodes {
		t.Errorf("nodes that stay cost more each hour: %d, then %d micro-USD; %d nodes", open.Missed, later.Missed, later.Total.Nodes)
	}
	if v := s.metric(`kerf_shadow_bill_dollars{nodepool="default",of="running"}`); v == "" || v == "0" {
		t.Errorf("the running bill is %q in metrics", v)
	}

	// At the end it says all once more.
	text := s.stop()
	if i := strings.Index(text, "Shadow run of"); i >= 0 {
		t.Log(text[i:])
	}
	for _, want := range []string{"nothing was changed", "default", "would have done"} {
		if !strings.Contains(text, want) {
			t.Errorf("the end does not say %q:\n%s", want, text)
		}
	}
	s.wroteNothing()
	if err := e.cluster.Controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// shadowRun is a shadow's process.
type shadowRun struct {
	*env
	cmd *exec.Cmd
	out bytes.Buffer
	url string
}

func (e *env) startShadow(who credentials) *shadowRun {
	e.Helper()
	binary, err := kerf()
	if err != nil {
		e.Fatal(err)
	}
	s := &shadowRun{env: e}
	port := freePort(e)
	s.url = "http://127.0.0.1:" + port
	s.cmd = exec.Command(binary, "controller", "--shadow")
	s.cmd.Env = append([]string{"HOME=" + e.TempDir(), "PATH=" + os.Getenv("PATH"), "CLUSTER_NAME=" + e.cluster.Name, "METRICS_PORT=" + port, "HEALTH_PROBE_PORT=0"}, who...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		if e.Failed() {
			e.Log("the shadow's output:\n" + s.out.String())
		}
	})
	return s
}

func freePort(e *env) string {
	e.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// seenSummary is a summary as it was served.
type seenSummary struct{ shadow.Summary }

func (s *seenSummary) count(what string) (n int) {
	for _, c := range s.Counts {
		if c.What == what {
			n += c.N
		}
	}
	return n
}

// summary waits for one that will do.
func (s *shadowRun) summary(want func(*shadow.Summary) bool) *seenSummary {
	s.Helper()
	out := &seenSummary{}
	to, err := leader.At{Server: s.url, Config: s.cluster.Config}.Reach()
	if err != nil {
		s.Fatal(err)
	}
	defer to.Close()
	s.eventually(time.Minute, "a summary of the shadow", func() (bool, string) {
		resp, err := to.Client.Get(to.URL + shadow.Path + "?format=json")
		if err != nil {
			return false, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		*out = seenSummary{}
		if err != nil || json.Unmarshal(text, &out.Summary) != nil {
			return false, fmt.Sprint(err, string(text))
		}
		return want(&out.Summary), string(text)
	})
	return out
}

func (s *shadowRun) metric(name string) string {
	s.Helper()
	resp, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return v
		}
	}
	return ""
}

// stop ends the process as Kubernetes does, and returns what it wrote.
func (s *shadowRun) stop() string {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.Errorf("the shadow ended with %v", err)
	}
	return s.out.String()
}

// wroteNothing looks in both APIs for any call of the reader's that is not reading, whether it was let in or not.
func (s *shadowRun) wroteNothing() {
	s.Helper()
	reads := 0
	for _, c := range s.cluster.Simulator.World.Calls("") {
		if !strings.Contains(c.Principal, readerName) {
			continue
		}
		reads++
		if !strings.HasPrefix(c.Operation, "Describe") && !strings.HasPrefix(c.Operation, "Get") && !strings.HasPrefix(c.Operation, "List") {
			s.Errorf("AWS was asked for %s by the reader", c.Operation)
		}
	}
	if reads == 0 {
		s.Error("the simulated AWS knows of no call of the reader: what shows that it wrote nothing?")
	}
	for _, d := range s.cluster.Simulator.Permissions.Denied().Denials {
		if strings.Contains(d.Principal, readerName) {
			s.Errorf("AWS refused %s to the reader: %s", d.Action, d.Outcome)
		}
	}
	audit, err := os.ReadFile(s.audit)
	if err != nil {
		s.Fatal(err)
	}
	others := 0
	for line := range strings.Lines(string(audit)) {
		asks := strings.Contains(line, `"resource":"tokenreviews"`) || strings.Contains(line, `"resource":"subjectaccessreviews"`) // stores nothing
		if !asks && strings.Contains(line, `"username":"system:serviceaccount:kube-system:`+readerName+`"`) {
			s.Errorf("the API server saw a write of the reader: %s", line)
		}
		others++
	}
	if others == 0 {
		s.Error("the audit log is empty: what shows that nothing was written?")
	}
	if strings.Contains(s.out.String(), "was not let out") {
		s.Error("the shadow tried to change something")
	}
}
