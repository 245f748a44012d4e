package simcluster_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// logFile is a log as the controller writes it.
type logFile struct {
	t    *testing.T
	path string
}

// written returns a log and the handler that writes it.
func written(t *testing.T) (logFile, slog.Handler) {
	t.Helper()
	f := logFile{t, filepath.Join(t.TempDir(), "log")}
	log, err := obs.NewLogger(obs.LogOptions{Level: "info", Paths: f.path, ErrorPaths: "stderr", Commit: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return f, log.Handler()
}

// logLine is what the tests read of a line.
type logLine struct {
	Level, Message string
	Decision       string                                 `json:"decision-id"`
	Command        string                                 `json:"command-id"`
	Pods           string                                 `json:"pod-names"`
	NodeClaim      struct{ Name string }                  `json:"NodeClaim"`
	Node           struct{ Name string }                  `json:"Node"`
	Going          []struct{ Node struct{ Name string } } `json:"disrupted-nodes"`
}

// grep is what grep finds in the log.
func (f logFile) grep(text string) (out []logLine) {
	f.t.Helper()
	file, err := os.Open(f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		if !strings.Contains(s.Text(), text) {
			continue
		}
		var l logLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			f.t.Fatalf("%v: %s", err, s.Text())
		}
		out = append(out, l)
	}
	return out
}

// about are the messages of lines about a NodeClaim or its node, and of those about neither.
func about(lines []logLine, claim, node string) (out []string) {
	for _, l := range lines {
		if l.NodeClaim.Name == claim || l.NodeClaim.Name == "" && (l.Node.Name == node || l.Node.Name == "") {
			out = append(out, l.Message)
		}
	}
	return out
}

// twice are the lines that say of one object what another line has said.
func twice(lines []logLine) (out []string) {
	seen := map[[3]string]bool{}
	for _, l := range lines {
		key := [3]string{l.Message, l.NodeClaim.Name, l.Node.Name}
		if seen[key] {
			out = append(out, strings.Join(key[:], " "))
		}
		seen[key] = true
	}
	return out
}

const reachedFrom = "kerf.sh/decision-id"

func TestTheIDOfADecisionFindsTheWholeStoryOfItsNode(t *testing.T) {
	file, handler := written(t)
	simcluster.Run(t, simcluster.Options{World: many, Log: handler}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
		h.Pass(time.Minute)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403, Until: time.Now().Add(8 * time.Second)})
		h.Deploy("large", 5, "3", "12Gi")
		h.Deploy("small", 5, "500m", "1Gi") // pods that differ are nominated to their nodes
		h.Running(5*time.Minute, "", 10)
		h.Pass(time.Minute)
		some := 0
		for _, c := range h.Claims() {
			id := c.Annotations[reachedFrom]
			if len(id) != 16 {
				t.Fatalf("NodeClaim %s: decision ID %q, want 16 digits", c.Name, id)
			}
			lines := file.grep(id)
			// A nomination that the scheduler takes away, for the node is not open yet, is written again, and said again.
			nominated := map[string]bool{}
			lines = slices.DeleteFunc(lines, func(l logLine) bool {
				again := l.Message == "nominated pods" && nominated[l.NodeClaim.Name]
				nominated[l.NodeClaim.Name] = nominated[l.NodeClaim.Name] || l.Message == "nominated pods"
				return again
			})
			want := []string{"decided on pending pods", "created nodeclaim", "failed launching nodeclaim", "launched nodeclaim", "registered nodeclaim", "initialized nodeclaim"}
			if slices.Contains(about(lines, c.Name, c.Status.NodeName), "nominated pods") { // those of the last node are mistaken for no others
				some++
				want = slices.Insert(want, 4, "nominated pods")
			}
			if d := cmp.Diff(want, about(lines, c.Name, c.Status.NodeName)); d != "" {
				t.Errorf("what the log tells of NodeClaim %s and its decision %s:\n%s", c.Name, id, d)
			}
			if again := twice(lines); len(again) > 0 {
				t.Errorf("said twice: %q", again)
			}
			if l := lines[1]; !strings.Contains(l.Pods, "default/") || l.Decision != id {
				t.Errorf("the line on the NodeClaim's creation names pods %q and decision %q", l.Pods, l.Decision)
			}
			for _, node := range h.Nodes() {
				if node.Name == c.Status.NodeName && node.Annotations[reachedFrom] != id {
					t.Errorf("node %s has decision ID %q, want %s", node.Name, node.Annotations[reachedFrom], id)
				}
			}
		}
		if some == 0 {
			t.Error("no pods were nominated; the test plays less than it says")
		}
	})
}

func TestTheIDOfADisruptionFindsItsStoryAcrossAChangeOfLeader(t *testing.T) {
	file, handler := written(t)
	simcluster.Run(t, simcluster.Options{World: few, Log: handler}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 6, "1", "1Gi")
		h.Running(2*time.Minute, "web", 6)
		h.Scale("web", 1)
		h.Eventually(20*time.Minute, "a disruption with a replacement is under way", func() (bool, string) {
			for _, l := range file.grep(`"disrupting node(s)"`) {
				if len(replacements(file, l.Command)) > 0 {
					return true, ""
				}
			}
			return false, ""
		})
		p := h.Controller()
		p.Kill()
		<-p.Done()
		h.StartController()
		quietly(h, 15*time.Minute, 2000)
		h.Pass(2 * time.Minute)
	})
	found := false
	for _, begun := range file.grep(`"disrupting node(s)"`) {
		id := begun.Command
		lines := file.grep(id)
		if again := twice(lines); len(again) > 0 {
			t.Errorf("command %s: said twice: %q", id, again)
		}
		if slices.ContainsFunc(lines, func(l logLine) bool { return strings.HasPrefix(l.Message, "took a disruption back") }) {
			continue
		}
		for _, claim := range replacements(file, id) {
			found = true
			var got []string
			for _, l := range lines {
				if l.NodeClaim.Name == claim && l.Message != "nominated pods" {
					got = append(got, l.Message)
				}
			}
			if len(got) > 4 {
				got = got[:4] // it may go later by another command
			}
			if d := cmp.Diff([]string{"created nodeclaim", "launched nodeclaim", "registered nodeclaim", "initialized nodeclaim"}, got); d != "" {
				t.Errorf("command %s: replacement %s:\n%s", id, claim, d)
			}
		}
		for _, g := range begun.Going {
			var got []string
			for _, l := range lines {
				if l.Node.Name == g.Node.Name && !strings.Contains(l.Message, "nodeclaim") {
					got = append(got, l.Message)
				}
			}
			if d := cmp.Diff([]string{"removing node", "tainted node", "drained node", "terminating instance", "deleted node"}, got); d != "" {
				t.Errorf("command %s: node %s:\n%s", id, g.Node.Name, d)
			}
		}
		if n := len(file.grep(`"deleted nodeclaim"`)); n == 0 {
			t.Error("no NodeClaim was deleted")
		}
	}
	if !found {
		t.Error("no command had a replacement; the test plays less than it says")
	}
}

// replacements are the NodeClaims that were created for a command.
func replacements(file logFile, command string) (out []string) {
	for _, l := range file.grep(command) {
		if l.Message == "created nodeclaim" {
			out = append(out, l.NodeClaim.Name)
		}
	}
	return out
}
