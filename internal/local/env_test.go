package local

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
	if p := readPorts(dir); p != (ports{}) {
		t.Errorf("the first cluster has ports %+v", p)
	}
	one := &Cluster{
		StateDir: dir, AWS: "http://" + taken.Addr().String(),
		Kube: &kube.ControlPlane{Info: kube.Info{Server: "https://127.0.0.1:" + strconv.Itoa(freed)}},
	}
	one.writePorts()
	if got, want := readPorts(dir), (ports{Kubernetes: freed}); got != want {
		t.Errorf("got %+v, want %+v: the other port is taken", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, portsName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := readPorts(dir); p != (ports{}) {
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
