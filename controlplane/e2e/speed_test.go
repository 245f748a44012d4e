package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/local"
)

// most is how many writes a node may take: its NodeClaim created and twice patched, its Node twice, the claim's status five
// times (launched, registered, initialized, may be consolidated, is what was launched: the last two fall together with the
// others or not), the events Launched, Registered, Initialized and Ready of its conditions, one of what was launched and one
// of the pod's nomination: 16, and one more for what is written again.
const most = 17

// TestWritesPerNode counts what the controller writes to the Kubernetes API from pending pods to initialized nodes: that,
// not thinking, bounds a large scale-up.
func TestWritesPerNode(t *testing.T) {
	e := up(t)
	e.apply(poolYAML)
	e.ready("default")
	before := len(e.writes())
	// One pod an instance: what is shared by the pods of an instance would flatter the figure.
	e.apply(deployment("lonely", 20, "1", "1Gi", `
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: lonely}}}
`))
	e.running(2*time.Minute, "default", 20)
	e.eventually(30*time.Second, "every node is initialized", func() (bool, string) {
		n := 0
		for _, c := range e.claims() {
			if c.StatusConditions().IsTrue() {
				n++
			}
		}
		return n == 20, fmt.Sprintf("%d of 20", n)
	})
	// Events are written one after the other, behind what they are about.
	e.eventually(30*time.Second, "every node's last event is there", func() (bool, string) {
		n := 0
		for _, ev := range list[corev1.EventList](e).Items {
			if ev.InvolvedObject.Kind == "NodeClaim" && ev.Reason == "Ready" {
				n++
			}
		}
		return n == 20, fmt.Sprintf("%d of 20", n)
	})
	writes := e.writes()[before:]
	if len(writes) < 20 {
		t.Fatalf("%d writes by the controller in the audit log: is that its user?", len(writes))
	}
	kinds := map[string]int{}
	for _, w := range writes {
		kinds[w]++
	}
	// Why nodes stay is told from the first look at them on, on the Node and the NodeClaim, at five events a second at most:
	// that is no part of what a node's coming costs, and how much of it is told by now depends on when that look was.
	stays := 0
	for _, ev := range list[corev1.EventList](e).Items {
		if ev.Reason == "Unconsolidatable" || ev.Reason == "DisruptionBlocked" {
			stays++
		}
	}
	// What its nodes hold is written on a pool once a second while they come, however many they are.
	pools := kinds["patch nodepools/status"]
	perNode := float64(len(writes)-stays-pools) / 20
	t.Logf("%d writes for 20 nodes, %d of them on why nodes stay, %d on the pool, %.1f a node without those: %v", len(writes), stays, pools, perNode, kinds)
	if perNode > most {
		t.Errorf("%.1f writes a node, want at most %d", perNode, most)
	}
}

// writes lists the controller's writes so far, leases left out.
func (e *env) writes() []string {
	e.Helper()
	f, err := os.Open(e.audit)
	if err != nil {
		e.Fatal(err)
	}
	defer f.Close()
	var out []string
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var line struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			continue
		}
		if strings.HasSuffix(line.User.Username, ":karpenter") && line.ObjectRef.Resource != "leases" && slices.Contains([]string{"create", "update", "patch", "delete"}, line.Verb) {
			out = append(out, strings.TrimSuffix(line.Verb+" "+line.ObjectRef.Resource+"/"+line.ObjectRef.Subresource, "/"))
		}
	}
	return out
}

// BenchmarkLonePod measures, pod by pod, the time from a pod's creation to the CreateFleet request on the wire. The limit
// itself is tested in virtual time; here stands what a real control plane adds.
//
//	make bench-e2e
func BenchmarkLonePod(b *testing.B) {
	const pods = 20
	e := up(b, func(o *local.Options) { o.BootTime = 100 * time.Millisecond })
	e.apply(poolYAML)
	e.ready("default")
	var took []time.Duration
	made := 0
	for b.Loop() {
		for range pods {
			took = append(took, e.lonePod(made))
			made++
		}
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)-1].Seconds()*1000, "worst-ms")
}

// lonePod creates a pod that no node before it holds, and returns after which time its fleet was asked for.
func (e *env) lonePod(i int) time.Duration {
	e.Helper()
	calls, err := e.aws.Calls(e.Context(), "CreateFleet")
	if err != nil {
		e.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("lone-%d", i), Labels: map[string]string{"app": "lone"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "lone"}}}}}}
	began := time.Now()
	if err := e.client.Create(e.Context(), pod); err != nil {
		e.Fatal(err)
	}
	var took time.Duration
	e.eventually(20*time.Second, "a fleet is asked for", func() (bool, string) {
		now, err := e.aws.Calls(e.Context(), "CreateFleet")
		if err != nil || len(now) <= len(calls) {
			return false, fmt.Sprint(err)
		}
		took = now[len(now)-1].At.Sub(began)
		return true, ""
	})
	e.running(30*time.Second, "default", i+1)
	return took
}

// BenchmarkThousandPods measures the controller's own share of a large scale-up, each time on a cluster of its own.
//
//	make bench-e2e
func BenchmarkThousandPods(b *testing.B) {
	for b.Loop() {
		e := up(b, func(o *local.Options) { o.BootTime = time.Second })
		e.apply(poolYAML)
		e.ready("default")
		began := time.Now()
		for i := range 5 {
			e.apply(deployment(fmt.Sprintf("group-%d", i), 200, []string{"250m", "500m", "1", "500m", "250m"}[i], []string{"512Mi", "1Gi", "2Gi", "4Gi", "256Mi"}[i], ""))
		}
		e.running(5*time.Minute, "default", 1000)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(time.Since(began).Seconds(), "s-to-running")
		b.ReportMetric(float64(len(e.nodes())), "nodes")
		m := e.metrics()
		for unit, name := range map[string]string{
			"controller-cpu-s": "process_cpu_seconds_total", "controller-bytes": "process_resident_memory_bytes",
			"solving-s": `karpenter_scheduler_scheduling_duration_seconds_sum{controller="provisioner"}`,
			"decisions": `karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`,
		} {
			v, err := strconv.ParseFloat(m[name], 64)
			if err != nil {
				b.Fatalf("metric %s: %v", name, err)
			}
			b.ReportMetric(v, unit)
		}
		e.oneToOne()
	}
}
