package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play a container when it is started with the argument of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "controller" {
		play()
	}
	os.Exit(m.Run())
}

func play() {
	fmt.Println("I see", strings.Join(os.Environ(), " "), "in", must(os.Getwd()))
	if why := os.Getenv("DIE"); why != "" {
		fmt.Println(why)
		os.Exit(3)
	}
	if os.Getenv("DEAF") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	var ill, unready atomic.Bool
	health := func(bad *atomic.Bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if bad.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
	}
	http.HandleFunc("/readyz", health(&unready))
	http.HandleFunc("/healthz", health(&ill))
	http.HandleFunc("/ill", func(http.ResponseWriter, *http.Request) { ill.Store(true) })
	http.HandleFunc("/unready", func(http.ResponseWriter, *http.Request) { unready.Store(true) })
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(4) })
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
	os.Exit(1)
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// played is a container whose process this binary plays.
type played struct {
	*Container
	*testing.T
	url string

	mu   sync.Mutex
	said []string
}

func newPlayed(t *testing.T, env ...string) *played {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := &played{T: t, url: "http://" + address}
	check := func(path string) func(context.Context) error {
		return func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s", resp.Status)
			}
			return nil
		}
	}
	_, port, _ := net.SplitHostPort(address)
	p.Container = &Container{
		Name: "the controller", Command: []string{must(os.Executable()), "controller"}, Env: append(env, "PORT="+port), Dir: "/",
		Log: filepath.Join(t.TempDir(), "controller.log"), Grace: 200 * time.Millisecond,
		Probes: Probes{
			Readiness: &Probe{Name: "readiness probe", Period: 20 * time.Millisecond, Timeout: time.Second, Successes: 1, Failures: 2, Check: check("/readyz")},
			// The process is there before the first question: it is ready.
			Liveness: &Probe{Name: "liveness probe", Delay: time.Second, Period: 20 * time.Millisecond, Timeout: 200 * time.Millisecond, Successes: 1, Failures: 3, Check: check("/healthz")},
		},
		Report: func(line string) {
			t.Log(line)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.said = append(p.said, line)
		},
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *played) start() {
	p.Helper()
	if err := p.Start(p.Context()); err != nil {
		p.Fatal(err)
	}
}

func (p *played) ask(path string) {
	if resp, err := http.Get(p.url + path); err == nil {
		resp.Body.Close()
	}
}

// reported waits until a report has words.
func (p *played) reported(words ...string) {
	p.Helper()
	p.eventually("it is said: "+strings.Join(words, ", "), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		all := strings.Join(p.said, "\n")
		for _, w := range words {
			if !strings.Contains(all, w) {
				return false
			}
		}
		return true
	})
}

func (p *played) eventually(what string, so func() bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			p.Fatal("not within a minute: ", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestAContainerIsKilledAndStartedAgain(t *testing.T) {
	c := newPlayed(t)
	c.start()
	first := c.PID()
	if err := c.Start(t.Context()); err == nil {
		t.Error("a second start of a running container is not refused")
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if pid := c.PID(); pid != 0 || c.Ready() {
		t.Errorf("process %d runs after Kill", pid)
	}
	c.start()
	if second := c.PID(); second == 0 || second == first || !c.Ready() {
		t.Errorf("process %d after the restart, %d before it", second, first)
	}
	if err := c.Terminate(); err != nil {
		t.Fatal(err)
	}
	if n := c.Restarts(); n != 0 {
		t.Errorf("%d restarts counted, though each was asked for", n)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("a start after Stop is not refused")
	}
}

func TestAContainerThatEndsByItselfIsStartedAgain(t *testing.T) {
	c := newPlayed(t)
	c.start()
	first := c.PID()
	c.ask("/die")
	c.eventually("another process runs", func() bool { return c.PID() != first && c.PID() != 0 })
	c.eventually("it is ready", c.Ready)
	if n := c.Restarts(); n != 1 {
		t.Errorf("%d restarts counted, want 1", n)
	}
	c.reported("exit status 4", "starting it again now")
	c.ask("/die")
	c.reported("starting it again in 10s") // a kubelet's CrashLoopBackOff
	// A caller need not wait for that.
	c.eventually("no process runs", func() bool { return c.PID() == 0 })
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	c.start()
}

func TestAContainerWhoseLivenessFailsIsRestarted(t *testing.T) {
	for name, env := range map[string][]string{"asked to end": nil, "killed, as it hears no SIGTERM": {"DEAF=yes"}} {
		t.Run(name, func(t *testing.T) {
			c := newPlayed(t, env...)
			c.start()
			first := c.PID()
			c.ask("/ill")
			c.reported("the liveness probe failed 3 times", "500 Internal Server Error")
			c.eventually("another process runs", func() bool { return c.PID() != first && c.PID() != 0 && c.Ready() })
			if env != nil {
				c.reported("signal: killed")
			} else {
				c.reported("signal: terminated")
			}
		})
	}
}

func TestAProcessThatIsStoppedFailsItsLiveness(t *testing.T) {
	c := newPlayed(t)
	c.start()
	first := c.PID()
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.reported("liveness probe failed", "deadline exceeded", "signal: killed")
	c.eventually("another process runs", func() bool { return c.PID() != first && c.PID() != 0 && c.Ready() })
}

func TestReadinessIsWhatTheProbeSays(t *testing.T) {
	c := newPlayed(t)
	c.Probes.Liveness = nil // on a busy instance it may fail, and the process that follows is ready
	// The probe has not seen it ready, only Start has.
	c.Probes.Readiness.Period, c.Probes.Readiness.Failures = 300*time.Millisecond, 1
	c.start()
	pid := c.PID()
	c.ask("/unready")
	c.eventually("it is not ready", func() bool { return !c.Ready() })
	c.reported("the controller is not ready: 500")
	if c.PID() != pid {
		t.Error("it was restarted for not being ready")
	}
}

func TestAContainerThatCannotStartSaysWhy(t *testing.T) {
	c := newPlayed(t, "DIE=CLUSTER_NAME is not set")
	err := c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "CLUSTER_NAME is not set") || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v, want the exit status and the end of the log", err)
	}
	if pid := c.PID(); pid != 0 {
		t.Errorf("process %d is taken for running", pid)
	}
}

func TestAContainerSeesOnlyWhatItIsGiven(t *testing.T) {
	t.Setenv("AWS_PROFILE", "production")
	c := newPlayed(t, "CLUSTER_NAME=kerf")
	c.start()
	log, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "AWS_PROFILE") || !strings.Contains(string(log), "CLUSTER_NAME=kerf") || !strings.Contains(string(log), " in /\n") {
		t.Errorf("the container's surroundings are %s", log)
	}
}
