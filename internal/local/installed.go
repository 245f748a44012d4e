package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

// installed are the controllers of an installation that run on the nodes. Their ports change with each pod, so one address
// stands for all: it leads to the metrics port of the leader.
type installed struct {
	server string // URL; empty before serve

	web *http.Server
	mu  sync.Mutex
	all []*installedPod // in the order of their start
}

type installedPod struct {
	container *kubelet.Container
	url       string // of the metrics port
}

// serve begins to answer.
func (i *installed) serve() error {
	l, err := net.Listen("tcp4", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return fmt.Errorf("serve the address of the controller: %w", err)
	}
	i.server = "http://" + l.Addr().String()
	i.web = &http.Server{Handler: i, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.web.Serve(l) }() // ends with close
	return nil
}

func (i *installed) close() error {
	if i.web == nil {
		return nil
	}
	return i.web.Close()
}

// add takes in a pod with the URL of its metrics port. One without is not led to.
func (i *installed) add(container *kubelet.Container, url string) (forget func()) {
	if url == "" {
		return func() {}
	}
	pod := &installedPod{container: container, url: url}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, pod)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		for n, p := range i.all {
			if p == pod {
				i.all = append(i.all[:n:n], i.all[n+1:]...)
				return
			}
		}
	}
}

// ServeHTTP hands a request to the leader, or to the first pod that is ready where none leads.
func (i *installed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod := i.leader(r.Context())
	if pod == nil {
		http.Error(w, "no controller is ready in the local cluster: install Kerf with Helm or kubectl, or see why its pods are not ready (kubectl get pods --all-namespaces)", http.StatusServiceUnavailable)
		return
	}
	to, err := url.Parse(pod.url)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(w, r)
}

func (i *installed) leader(ctx context.Context) *installedPod {
	i.mu.Lock()
	all := append([]*installedPod(nil), i.all...)
	i.mu.Unlock()
	var first *installedPod
	for _, p := range all {
		if !p.container.Ready() {
			continue
		}
		if p.leads(ctx) {
			return p
		}
		if first == nil {
			first = p
		}
	}
	return first
}

// askLeader bounds the question to one pod.
const askLeader = 2 * time.Second

// leads reads the metric by which client-go says who leads.
func (p *installedPod) leads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askLeader)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/metrics", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(resp.Body, 64<<20))
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "leader_election_master_status{") {
			return strings.HasSuffix(line, " 1")
		}
	}
	return false
}
