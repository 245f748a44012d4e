package local_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/cli"
	"github.com/kerf-sh/kerf/internal/local"
)

// TestMain lets the test binary be two others: kerf itself, of which "kerf local" starts the controller, and the process
// that holds a cluster.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "controller":
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	case os.Getenv("KERF_TEST_HOLD") != "":
		os.Exit(holdCluster(os.Getenv("KERF_TEST_HOLD")))
	}
	os.Exit(m.Run())
}

// holdCluster does what "kerf local up" does. It prints the process ids of all that it has started.
func holdCluster(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cluster, err := local.Up(ctx, local.Options{ClusterName: "held", StateDir: dir})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	pids := []string{strconv.Itoa(cluster.Kube.PID), strconv.Itoa(cluster.Controller.PID())}
	for _, pid := range cluster.Kube.PIDs {
		pids = append(pids, strconv.Itoa(pid))
	}
	fmt.Println("PIDS", strings.Join(pids, " "))
	<-ctx.Done()
	if err := cluster.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// hold starts a process that holds a cluster in the folder.
func hold(t *testing.T, dir string) (holder *exec.Cmd, pids []string) {
	t.Helper()
	binary, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder = exec.Command(self)
	holder.Env = append(os.Environ(), "KERF_TEST_HOLD="+dir, "KERF_CONTROLPLANE="+binary)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill() // an error means that it has ended
		_ = holder.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if list, ok := strings.CutPrefix(lines.Text(), "PIDS "); ok {
			return holder, strings.Fields(list)
		}
		t.Log(lines.Text())
	}
	t.Fatal("the cluster did not start")
	return nil, nil
}

func awaitGone(t *testing.T, pids []string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range pids {
		for {
			command, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			if err != nil || len(command) == 0 { // gone, or a zombie that nobody has reaped
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %s is still there: %q", pid, command)
			}
			<-tick.C
		}
	}
}

func TestDownEndsTheClusterOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	holder, pids := hold(t, dir)
	status, err := local.ReadStatus(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if status.PID != holder.Process.Pid || status.Controller != "ready" || status.Cluster != "held" {
		t.Errorf("the status is %+v", status)
	}
	if err := local.Down(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pids)
	if err := holder.Wait(); err != nil {
		t.Errorf("the process that held the cluster: %v", err)
	}
}

func TestNothingOutlivesAKilledHolder(t *testing.T) {
	dir := t.TempDir()
	holder, pids := hold(t, dir)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pids)
	// The folder is free again for the next cluster.
	_, again := hold(t, dir)
	if err := local.Down(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, again)
}
