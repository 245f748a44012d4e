package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// health is what a process answers to one probe: well, except between two times after its start, or never an answer.
type health struct {
	illFrom, illTo time.Duration
	hangs          bool
}

// Each case lists what is told when, in seconds after the start.
func TestProbesAreRunAsAKubeletDoes(t *testing.T) {
	probe := func(name string, delay, period, timeout, failures int) *Probe {
		return &Probe{
			Name: name, Delay: time.Duration(delay) * time.Second, Period: time.Duration(period) * time.Second,
			Timeout: time.Duration(timeout) * time.Second, Successes: 1, Failures: failures,
		}
	}
	const hour = time.Hour
	for name, tc := range map[string]struct {
		probes Probes
		health map[string]health
		want   []string
	}{
		"the shipped ones of a healthy process": {
			Probes{Liveness: probe("liveness", 30, 10, 30, 3), Readiness: probe("readiness", 5, 10, 30, 3)}, nil,
			[]string{"5 ready"},
		},
		"not ready for a while": {
			Probes{Readiness: probe("readiness", 5, 10, 30, 3)}, map[string]health{"readiness": {illFrom: 60 * time.Second, illTo: 100 * time.Second}},
			[]string{"5 ready", "85 not ready", "105 ready"},
		},
		"fewer failures than the threshold change nothing": {
			Probes{Readiness: probe("readiness", 5, 10, 30, 3)}, map[string]health{"readiness": {illFrom: 60 * time.Second, illTo: 80 * time.Second}},
			[]string{"5 ready"},
		},
		"liveness that fails": {
			Probes{Liveness: probe("liveness", 30, 10, 30, 3)}, map[string]health{"liveness": {illFrom: 45 * time.Second, illTo: hour}},
			[]string{"0 ready", "70 liveness failed"},
		},
		"liveness that hangs is counted when its time is over": {
			Probes{Liveness: probe("liveness", 30, 10, 30, 3)}, map[string]health{"liveness": {hangs: true}},
			[]string{"0 ready", "120 liveness failed"},
		},
		"nothing is asked until the startup probe has succeeded": {
			Probes{Startup: probe("startup", 0, 5, 1, 30), Liveness: probe("liveness", 0, 10, 1, 1), Readiness: probe("readiness", 0, 10, 1, 3)},
			map[string]health{"startup": {illTo: 42 * time.Second}, "liveness": {illTo: 44 * time.Second}},
			[]string{"45 ready"},
		},
		"a startup probe that fails": {
			Probes{Startup: probe("startup", 0, 5, 1, 3), Liveness: probe("liveness", 0, 10, 1, 1)}, map[string]health{"startup": {illTo: hour}},
			[]string{"10 startup failed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				for _, p := range []*Probe{tc.probes.Startup, tc.probes.Liveness, tc.probes.Readiness} {
					if p == nil {
						continue
					}
					h := tc.health[p.Name]
					p.Check = func(ctx context.Context) error {
						if h.hangs {
							<-ctx.Done()
							return ctx.Err()
						}
						if at := time.Since(began); at >= h.illFrom && at < h.illTo {
							return errors.New("ill")
						}
						return nil
					}
				}
				var mu sync.Mutex
				var got []string
				last := ""
				told := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					if what == last {
						return
					}
					last = what
					got = append(got, fmt.Sprint(int(time.Since(began).Seconds()), " ", what))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				go tc.probes.watch(ctx, func(ready bool, _ error) {
					if ready {
						told("ready")
					} else {
						told("not ready")
					}
				}, func(p *Probe, _ error) { told(p.Name + " failed") })
				<-ctx.Done()
				synctest.Wait()
				if !slices.Equal(got, tc.want) {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func TestProbesAreReadFromTheContainer(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("X"))
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	c := &corev1.Container{
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
		LivenessProbe: &corev1.Probe{InitialDelaySeconds: 30, TimeoutSeconds: 30, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}}}}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 2, FailureThreshold: 7, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}},
		StartupProbe:   &corev1.Probe{TerminationGracePeriodSeconds: new(int64(4)), ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/bad", Port: intstr.FromInt32(port)}}},
	}
	p, err := ProbesOf(c, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Liveness; l.Delay != 30*time.Second || l.Period != 10*time.Second || l.Timeout != 30*time.Second || l.Failures != 3 || l.Successes != 1 {
		t.Errorf("the liveness probe is %+v", l)
	}
	if r := p.Readiness; r.Delay != 0 || r.Period != 2*time.Second || r.Timeout != time.Second || r.Failures != 7 {
		t.Errorf("the readiness probe is %+v", r)
	}
	if p.Startup.Grace != 4*time.Second {
		t.Errorf("the grace of the startup probe is %s", p.Startup.Grace)
	}
	if err := p.Liveness.ask(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Readiness.ask(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Startup.ask(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v, want the status", err)
	}
	if want := []string{"/healthz y", "/bad "}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for word, bad := range map[string]*corev1.Probe{
		"httpGet and tcpSocket": {ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}},
		`no port named "web"`:   {ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web")}}},
	} {
		if _, err := ProbesOf(&corev1.Container{LivenessProbe: bad}, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "liveness probe") {
			t.Errorf("got %v, want %s", err, word)
		}
	}
}
