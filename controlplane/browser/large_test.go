//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/web"
)

// large is a cluster of many nodes with 20 pods each.
func large(nodes int) *cluster.Snapshot {
	s := &cluster.Snapshot{}
	classes := make([]*cluster.Class, 300)
	for i := range classes {
		c := &cluster.Class{Namespace: fmt.Sprintf("team-%d", i%20), Labels: map[string]string{"app": fmt.Sprintf("app-%d", i)}, Requests: res.List{res.CPU: int64(100 + 37*i%900), res.Memory: int64(128+61*i%2000) << 20, res.Pods: 1}}
		c.ID = c.Hash()
		classes[i] = c
	}
	sizes := []int64{8, 16, 32, 48}
	for i := range nodes {
		vcpus := sizes[i*7%4]
		n := &cluster.Node{
			Name: fmt.Sprintf("ip-10-%d-%d-%d.ec2.internal", i/62500, i/250%250, i%250), Claim: fmt.Sprintf("default-%05d", i), Pool: []string{"default", "batch", "gpu"}[i*i%3],
			InstanceType: fmt.Sprintf("m7g.%dxlarge", vcpus/4), Zone: []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3], CapacityType: []string{catalog.Spot, catalog.OnDemand}[i%5/4],
			Price:       catalog.MicroUSD(vcpus * 41_000),
			Allocatable: res.List{res.CPU: vcpus * 990, res.Memory: vcpus * 4 << 30, res.Pods: 110}, Used: res.List{}, CreatedAt: time.Now().Add(-time.Duration(i) * time.Minute),
			Launched: true, Registered: true, Initialized: i%97 != 0, Ready: true, Leaving: i%211 == 0,
		}
		for j := range 20 {
			c := classes[(i*13+j*7)%len(classes)]
			n.Pods = append(n.Pods, &cluster.Pod{PodRef: cluster.PodRef{Namespace: c.Namespace, Name: fmt.Sprintf("app-%d-%d", i, j)}, Class: c, Node: n.Name, CreatedAt: n.CreatedAt})
			n.Used.Add(c.Requests)
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// show serves the page over a snapshot.
func show(t testing.TB, s *cluster.Snapshot) string {
	o := overview.New(overview.Sources{
		Kerf: "test", Cluster: "large", Snapshot: func() *cluster.Snapshot { return s }, Now: time.Now,
		Problem: func(_ context.Context, s *cluster.Snapshot) *pack.Problem {
			return &pack.Problem{Nodes: s.Nodes, Pending: s.Pending}
		},
	})
	controller := httptest.NewServer(overview.Handler(o))
	t.Cleanup(controller.Close)
	page := web.New(web.Options{Connect: func(context.Context) (web.Connection, error) { return web.Connection{URL: controller.URL}, nil }})
	server := httptest.NewServer(page)
	t.Cleanup(server.Close)
	return page.Address(server.Listener.Addr())
}

func open(t testing.TB) *Browser {
	b, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestFiveThousandNodes: a large cluster is shown whole, and can be searched and gone through by keyboard.
func TestFiveThousandNodes(t *testing.T) {
	b := open(t)
	must(t, b.Look(View{Width: 1440, Height: 900}))
	must(t, b.Go(show(t, large(5000))))
	nodes := eval[string](t, b, `document.getElementById('f-nodes').textContent`)
	if nodes != "5,000" {
		t.Errorf("the page says %s nodes", nodes)
	}
	said := eval[string](t, b, `(() => { const c = document.getElementById('canvas'); c.focus(); for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'End']) c.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); return document.getElementById('chosen').textContent; })()`)
	if said == "" {
		t.Error("the keyboard chooses no node")
	}
	t.Logf("first picture after %.0f ms", eval[float64](t, b, firstPicture))
	if said := b.Complaints(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}

// BenchmarkFirstPicture is how long after it was asked for the page shows 5,000 nodes and 100,000 pods.
func BenchmarkFirstPicture(b *testing.B) {
	browser := open(b)
	must(b, browser.Look(View{Width: 1440, Height: 900}))
	url := show(b, large(5000))
	for range b.N {
		must(b, browser.Go(url))
		b.ReportMetric(eval[float64](b, browser, firstPicture), "ms/picture")
	}
}

// firstPicture is how many milliseconds after its begin the page showed a cluster.
const firstPicture = `performance.getEntriesByName('kerf-first')[0].startTime`

func eval[T any](t testing.TB, b *Browser, expression string) T {
	t.Helper()
	v, err := Eval[T](b, expression)
	must(t, err)
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
