package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Probe asks a process how it is.
type Probe struct {
	Name                string // liveness probe
	Delay               time.Duration
	Period              time.Duration
	Timeout             time.Duration // of one question
	Successes, Failures int           // in a row that change the answer
	Grace               time.Duration // from SIGTERM to SIGKILL after this probe failed; 0: the container's
	Check               func(context.Context) error
}

// Probes are those of a container; each may be nil.
type Probes struct {
	Startup, Liveness, Readiness *Probe
}

// ProbesOf reads the probes of a container whose pod has an address.
//
// Errors: a probe that is neither httpGet nor tcpSocket; a port that the container does not name.
func ProbesOf(c *corev1.Container, address string) (p Probes, err error) {
	if p.Startup, err = probeOf("startup probe", c.StartupProbe, c.Ports, address); err != nil {
		return p, err
	}
	if p.Liveness, err = probeOf("liveness probe", c.LivenessProbe, c.Ports, address); err != nil {
		return p, err
	}
	p.Readiness, err = probeOf("readiness probe", c.ReadinessProbe, c.Ports, address)
	return p, err
}

// probeOf fills in the defaults of the API, which a Deployment that was not read from an API server lacks.
func probeOf(name string, p *corev1.Probe, ports []corev1.ContainerPort, address string) (*Probe, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // no probe is no error
	}
	seconds := func(n, otherwise int32) time.Duration { return time.Duration(cmp.Or(n, otherwise)) * time.Second }
	out := &Probe{
		Name: name, Delay: seconds(p.InitialDelaySeconds, 0), Period: seconds(p.PeriodSeconds, 10), Timeout: seconds(p.TimeoutSeconds, 1),
		Successes: int(cmp.Or(p.SuccessThreshold, 1)), Failures: int(cmp.Or(p.FailureThreshold, 3)),
	}
	if p.TerminationGracePeriodSeconds != nil {
		out.Grace = time.Duration(*p.TerminationGracePeriodSeconds) * time.Second
	}
	var err error
	switch {
	case p.HTTPGet != nil:
		out.Check, err = httpCheck(p.HTTPGet, ports, address)
	case p.TCPSocket != nil:
		out.Check, err = tcpCheck(p.TCPSocket, ports, address)
	default:
		err = errors.New("only httpGet and tcpSocket can be asked of a process of this computer")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func httpCheck(get *corev1.HTTPGetAction, ports []corev1.ContainerPort, address string) (func(context.Context) error, error) {
	port, err := portOf(get.Port, ports)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(cmp.Or(get.Host, address), strconv.Itoa(port)) + get.Path
	// A kubelet asks by address and takes any certificate.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		for _, h := range get.HTTPHeaders {
			r.Header.Add(h.Name, h.Value)
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}, nil
}

func tcpCheck(socket *corev1.TCPSocketAction, ports []corev1.ContainerPort, address string) (func(context.Context) error, error) {
	port, err := portOf(socket.Port, ports)
	if err != nil {
		return nil, err
	}
	to := net.JoinHostPort(cmp.Or(socket.Host, address), strconv.Itoa(port))
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
		if err != nil {
			return err
		}
		return c.Close()
	}, nil
}

func portOf(port intstr.IntOrString, ports []corev1.ContainerPort) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for _, p := range ports {
		if p.Name == port.StrVal {
			return int(p.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("the container has no port named %q", port.StrVal)
}

// ask asks once what makes a container ready.
func (p Probes) ask(ctx context.Context) error {
	for _, one := range []*Probe{p.Startup, p.Readiness} {
		if one == nil {
			continue
		}
		if err := one.ask(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *Probe) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	return p.Check(ctx)
}

// watch runs the probes of a process that has just started until ctx ends. Readiness is told after each answer that counts,
// also where it is as before, because somebody else may have asked in between; the first startup or liveness probe that
// fails is told once, after which no probe is run. Until the startup probe has succeeded, no other is run.
func (p Probes) watch(ctx context.Context, readiness func(ready bool, err error), failed func(*Probe, error)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if p.Startup != nil {
		started := false
		p.Startup.watch(ctx, func(ok bool, err error) bool {
			if started = ok; !ok {
				failed(p.Startup, err)
			}
			return false
		})
		if !started {
			return
		}
	}
	if p.Readiness != nil {
		go p.Readiness.watch(ctx, func(ok bool, err error) bool { readiness(ok, err); return true })
	} else {
		readiness(true, nil)
	}
	if p.Liveness != nil {
		p.Liveness.watch(ctx, func(ok bool, err error) bool {
			if !ok {
				stop()
				failed(p.Liveness, err)
			}
			return ok
		})
	}
	<-ctx.Done()
}

// watch asks at once after the delay and then in each period, and tells each answer that was given often enough in a row,
// until told returns false or ctx ends.
func (p *Probe) watch(ctx context.Context, told func(ok bool, err error) bool) {
	tick := time.NewTimer(p.Delay)
	defer tick.Stop()
	var last bool
	inARow := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tick.Reset(p.Period)
		err := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		ok := err == nil
		if ok != last {
			last, inARow = ok, 0
		}
		inARow++
		want := p.Failures
		if ok {
			want = p.Successes
		}
		if inARow >= want && !told(ok, err) {
			return
		}
	}
}
