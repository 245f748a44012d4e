package local

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

func TestExportsAreReadBackByAShell(t *testing.T) {
	value := `with space, "double" and 'single' quotes, $HOME and \`
	out, err := exec.Command("sh", "-c", Exports([]string{"A=/plain/path:1", "B=" + value, "C="})+`printf '%s|%s|%s' "$A" "$B" "$C"`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := string(out), "/plain/path:1|"+value+"|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAClusterHasItsPortsAgainWhereTheyAreFree(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, release, err := kubelet.ClaimPorts(1)
	if err != nil {
		t.Fatal(err)
	}
	release()
	freed := free[0]
	dir := t.TempDir()
	read := func() ports {
		p, release := readPorts(dir)
		release()
		return p
	}
	if p := read(); p != (ports{}) {
		t.Errorf("the first cluster has ports %+v", p)
	}
	one := &Cluster{
		StateDir: dir, AWS: "http://" + taken.Addr().String(),
		Kube: &kube.ControlPlane{Info: kube.Info{Server: "https://127.0.0.1:" + strconv.Itoa(freed)}},
	}
	one.writePorts()
	if got, want := read(), (ports{Kubernetes: freed}); got != want {
		t.Errorf("got %+v, want %+v: the other port is taken", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, portsName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := read(); p != (ports{}) {
		t.Errorf("a broken note gives %+v", p)
	}
}

// The pool of local clusters is the example that people see but for its limit and its disruption: what is careful in an account
// is slow on a laptop.
func TestTheVisibleExampleIsTheDefaultOneButForItsPace(t *testing.T) {
	text, err := os.ReadFile("../../examples/nodepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	calm := func(text string) string {
		before, rest, ok := strings.Cut(text, "  limits:\n")
		_, after, more := strings.Cut(rest, "---\n")
		if !ok || !more {
			t.Fatalf("no limits, or no second object, in\n%s", text)
		}
		_, before, _ = strings.Cut(before, "\n") // the comment on top
		return before + after
	}
	if diff := cmp.Diff(calm(string(text)), calm(defaultExample)); diff != "" {
		t.Errorf("examples/nodepool.yaml and internal/local/examples/default.yaml differ: %s", diff)
	}
}

// TestAPortThatSomebodyTookSinceIsNotWantedAgain: a cluster listens on its last ports seconds after it has looked at them.
func TestAPortThatSomebodyTookSinceIsNotWantedAgain(t *testing.T) {
	two, release, err := kubelet.ClaimPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	release()
	dir := t.TempDir()
	before := &Cluster{StateDir: dir, AWS: "http://127.0.0.1:" + strconv.Itoa(two[0]), Kube: &kube.ControlPlane{Info: kube.Info{Server: "https://127.0.0.1:" + strconv.Itoa(two[1])}}}
	before.writePorts()

	// Another cluster that starts: one that has chosen a port does not listen on it at once.
	p, release := readPorts(dir)
	if want := (ports{AWS: two[0], Kubernetes: two[1]}); p != want {
		t.Fatalf("got %+v, want %+v", p, want)
	}
	if other, release := readPorts(dir); other != (ports{}) {
		t.Errorf("a second cluster has %+v, which the first is about to use", other)
		release()
	}
	release()

	// Anybody else. The control plane here is a script that waits until its port is taken.
	arguments, goOn, script := filepath.Join(dir, "arguments"), filepath.Join(dir, "go-on"), filepath.Join(dir, "kerf-controlplane")
	text := "#!/bin/sh\necho \"$@\" >>'" + arguments + "'\nwhile [ ! -e '" + goOn + "' ]; do sleep 0.01; done\nexit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	taken := make(chan net.Listener, 2)
	go func() {
		for range time.Tick(time.Millisecond) {
			if _, err := os.Stat(arguments); err == nil || t.Context().Err() != nil {
				break
			}
		}
		for _, port := range two {
			l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
			if err != nil {
				t.Error(err)
			}
			taken <- l
		}
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	c := &Cluster{StateDir: dir, options: Options{ControlPlane: script, Report: func(string) {}}}
	if err := c.start(t.Context()); err == nil {
		t.Fatal("the script is no control plane")
	}
	defer func() {
		for range two {
			if l := <-taken; l != nil {
				_ = l.Close()
			}
		}
		for _, release := range c.releases {
			release()
		}
	}()
	said, err := os.ReadFile(arguments)
	if lines := strings.Split(strings.TrimSpace(string(said)), "\n"); err != nil || len(lines) != 2 || !strings.Contains(lines[0], "--port="+strconv.Itoa(two[1])) || strings.Contains(lines[1], "--port") {
		t.Errorf("the control plane was started with %q, %v, want its last port, and then any", said, err)
	}
	if port, err := c.awsPort(); err != nil || port == two[0] || port >= 32768 {
		t.Errorf("the simulated AWS gets port %d, %v, want another than %d, of those that no connection gets", port, err, two[0])
	}
}
