package overview_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Of the cluster of BenchmarkPage.
const (
	benchNodes, benchPods  = 5000, 20 // pods on each
	benchPools, benchTypes = 10, 800
	pollEvery              = 4 * time.Second // of the page, in a cluster of this size
)

// benchWorld is a cluster of 5,000 nodes and 100,000 pods with all that a document has beside its nodes.
func benchWorld() *world {
	w := &world{now: start, snapshot: &cluster.Snapshot{}, decision: &disrupt.Decision{}}
	classes := make([]*cluster.Class, 500)
	for i := range classes {
		classes[i] = class(fmt.Sprint("app", i), int64(100+i))
	}
	types := make([]*catalog.Type, benchTypes)
	for i := range types {
		types[i] = &catalog.Type{Name: fmt.Sprintf("m%d.large", i), Offerings: []catalog.Offering{{Zone: "us-east-1a", CapacityType: catalog.Spot, Price: catalog.MicroUSD(100 + i), Available: true}}}
	}
	for i := range benchPools {
		w.pools = append(w.pools, &cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Types: types})
	}
	for i := range benchNodes {
		name := fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250)
		var pods []*cluster.Pod
		for j := range benchPods {
			pods = append(pods, pod(classes[(i*7+j*13)%len(classes)], fmt.Sprintf("p-%d-%d", i, j), name))
		}
		n := node(name, 0, pods...)
		n.Pool, n.InstanceType, n.Capacity = w.pools[i%benchPools].Name, types[i%benchTypes].Name, n.Allocatable
		w.snapshot.Nodes = append(w.snapshot.Nodes, n)
	}
	slices.SortFunc(w.snapshot.Nodes, func(a, b *cluster.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	w.decide()
	return w
}

// decide makes a new decision: half of the nodes are kept for what only passes, a tenth by something that somebody could change.
func (w *world) decide() {
	d := &disrupt.Decision{Before: 1000, After: 900}
	for i, n := range w.snapshot.Nodes {
		k := disrupt.Kept{Node: n.Name, Reasons: []disrupt.Reason{{Code: disrupt.NotCheaper}}}
		switch {
		case i%10 == 0:
			k = disrupt.Kept{Node: n.Name, Saves: 3000, Reasons: []disrupt.Reason{{Code: disrupt.DisruptionBudget, Pod: n.Pods[0].String(), Want: fmt.Sprintf("shop/budget-%d", i%97)}}}
		case i%2 == 0:
			k.Reasons[0].Code = disrupt.ConsolidateAfter
		}
		d.Kept = append(d.Kept, k)
	}
	w.decision = d
}

// churn replaces as many pods as 1 % of all a minute are in the time between two polls: each takes one node's pod away and gives
// another node one.
func (w *world) churn(turn int) {
	replaced := benchNodes * benchPods / 100 * int(pollEvery) / int(time.Minute)
	s := *w.snapshot
	s.Nodes = slices.Clone(s.Nodes)
	for j := range replaced {
		from, to := (turn*replaced+j)*37%benchNodes, (turn*replaced+j)*41%benchNodes
		for at, k := range []int{from, to} {
			n := *s.Nodes[k]
			n.Pods = slices.Clone(n.Pods)
			if at == 0 && len(n.Pods) > 1 {
				n.Pods = n.Pods[1:]
			} else {
				n.Pods = append(n.Pods, pod(n.Pods[0].Class, fmt.Sprintf("new-%d-%d", turn, j), n.Name))
			}
			s.Nodes[k] = &n
		}
	}
	w.snapshot = &s
}

// BenchmarkPage is what readers cost a controller with 5,000 nodes and 100,000 pods, as CPU time for each minute: a page asks every four
// seconds, for an answer that is compressed. Busy: 1 % of the pods are replaced a minute, and a decision is made every eight seconds.
func BenchmarkPage(b *testing.B) {
	for _, tc := range []struct {
		name    string
		busy    bool
		readers int
	}{{"rest", false, 1}, {"busy", true, 1}, {"busy-ten-readers", true, 10}} {
		b.Run(tc.name, func(b *testing.B) {
			w := benchWorld()
			o := w.overview()
			handler := overview.Handler(o)
			versions := make([]string, tc.readers)
			ask := func(reader int) int64 {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, overview.Path+"?since="+versions[reader], http.NoBody)
				r.Header.Set("Accept-Encoding", "gzip")
				to := &discard{header: http.Header{}}
				handler.ServeHTTP(to, r)
				return to.n
			}
			for reader := range versions {
				ask(reader)
				versions[reader] = o.Document(b.Context(), "").Version
			}
			var sent int64
			var took time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				w.later(pollEvery)
				if tc.busy {
					w.churn(i)
					if i%2 == 0 {
						w.decide()
					}
				}
				begun := cpu(b)
				for reader := range versions {
					sent += ask(reader)
				}
				took += cpu(b) - begun
				at := o.Document(b.Context(), versions[0]).Version
				for reader := range versions {
					versions[reader] = at
				}
			}
			perMinute := float64(time.Minute / pollEvery)
			b.ReportMetric(took.Seconds()*1000/float64(b.N)*perMinute, "CPU-ms/minute")
			b.ReportMetric(float64(sent)/float64(b.N)/1000, "kB/answer")
		})
	}
}

// cpu is the processor time that this process has taken.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// discard counts what is answered.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return io.Discard.Write(p)
}

// BenchmarkFirst is what a reader costs who knows nothing yet.
func BenchmarkFirst(b *testing.B) {
	o := benchWorld().overview()
	handler := overview.Handler(o)
	for range b.N {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, overview.Path, http.NoBody)
		r.Header.Set("Accept-Encoding", "gzip")
		to := &discard{header: http.Header{}}
		handler.ServeHTTP(to, r)
		b.ReportMetric(float64(to.n)/1e6, "MB")
	}
}
