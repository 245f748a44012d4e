package statemetrics_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/statemetrics"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

var (
	began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now   = began.Add(time.Hour)
)

// fixture is a cache that is filled, and what shows it.
type fixture struct {
	*cache.Cache
	registry *prometheus.Registry
	metrics  *obs.Metrics
	elected  chan struct{}
	versions int
}

func newFixture(o statemetrics.Options) *fixture {
	f := &fixture{Cache: cache.New(cache.Options{Now: func() time.Time { return now }}), registry: prometheus.NewPedanticRegistry(), elected: make(chan struct{})}
	f.registry = prometheus.NewRegistry()
	f.metrics = obs.NewMetrics(f.registry)
	if o.State == nil {
		o.State = f.Cache
	}
	o.Elected, o.Now = f.elected, func() time.Time { return now }
	if o.Synced == nil {
		o.Synced = func() bool { return true }
	}
	if err := statemetrics.New(o).Register(f.metrics, slog.New(slog.DiscardHandler)); err != nil {
		panic(err)
	}
	return f
}

func (f *fixture) meta(o metav1.Object, name string) {
	f.versions++
	o.SetName(name)
	o.SetUID(types.UID("uid-" + name))
	o.SetResourceVersion(fmt.Sprint(f.versions))
	o.SetCreationTimestamp(metav1.NewTime(began))
}

// node makes a node with its claim.
func (f *fixture) node(name string) {
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "pool", awsv1.LabelNodeClass: "class", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a", karpv1.CapacityTypeLabelKey: "spot",
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelTopologyRegion: "us-east-1", karpv1.NodeInitializedLabelKey: "true", karpv1.NodeRegisteredLabelKey: "true",
		awsv1.LabelInstanceCPU: "2", awsv1.LabelInstanceMemory: "8192", awsv1.LabelInstanceFamily: "m5", awsv1.LabelInstanceSize: "large", awsv1.LabelInstanceCategory: "m", awsv1.LabelInstanceGeneration: "5",
		awsv1.LabelInstanceHypervisor: "nitro", awsv1.LabelInstanceCPUManufacturer: "intel", awsv1.LabelTopologyZoneID: "use1-az1", awsv1.LabelInstanceNetworkBandwidth: "750", awsv1.LabelInstanceEBSBandwidth: "650",
	}
	id := "aws:///us-east-1a/i-" + name
	claim := &karpv1.NodeClaim{}
	f.meta(claim, "claim-"+name)
	claim.Labels = labels
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "class"}
	claim.Status.ProviderID, claim.Status.NodeName = id, name
	for _, condition := range []string{"Launched", "Registered", "Initialized", "Consolidatable", "Ready"} {
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: metav1.NewTime(began)})
	}
	f.SetClaim(claim)
	node := &corev1.Node{}
	f.meta(node, name)
	node.Labels, node.Spec.ProviderID = maps.Clone(labels), id
	node.Status.Capacity = list("2", "8Gi", "29")
	node.Status.Allocatable = list("1930m", "7Gi", "29")
	for _, condition := range []corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		state := corev1.ConditionFalse
		if condition == corev1.NodeReady {
			state = corev1.ConditionTrue
		}
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: condition, Status: state, Reason: "Kubelet", LastTransitionTime: metav1.NewTime(began)})
	}
	f.SetNode(node)
}

func list(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "pods": resource.MustParse(pods)}
}

// pod makes a pod on a node, or one that waits. Pods of one owner share their containers, as the transform of the informers has it.
func (f *fixture) pod(name, node string, containers []corev1.Container, kind string) *corev1.Pod {
	pod := &corev1.Pod{}
	f.meta(pod, name)
	pod.Namespace, pod.Spec.NodeName, pod.Spec.Containers = "default", node, containers
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "web", UID: "uid-web", Controller: new(true)}}
	pod.Status.Phase = corev1.PodRunning
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	if node == "" {
		pod.Status.Phase = corev1.PodPending
		ready = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}
	}
	pod.Status.Conditions = []corev1.PodCondition{ready}
	f.SetPod(pod)
	return pod
}

func containers(cpu, limit string) []corev1.Container {
	return []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("128Mi")}, Limits: corev1.ResourceList{"memory": resource.MustParse(limit)},
	}}}
}

func (f *fixture) small() {
	f.node("a")
	f.node("b")
	web, agent := containers("500m", "256Mi"), containers("100m", "1Gi")
	f.pod("web-1", "a", web, "ReplicaSet")
	f.pod("web-2", "a", web, "ReplicaSet")
	f.pod("agent-1", "a", agent, "DaemonSet")
	f.pod("web-3", "", web, "ReplicaSet")
}

// values are the series of a metric by the values of some of its labels.
func (f *fixture) values(t *testing.T, name string, labels ...string) map[string]float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			key := make([]string, len(labels))
			for i, label := range labels {
				for _, l := range m.GetLabel() {
					if l.GetName() == label {
						key[i] = l.GetValue()
					}
				}
			}
			out[strings.Join(key, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()) + float64(m.GetSummary().GetSampleCount())
		}
	}
	return out
}

func TestNodesPodsAndConditionsAreShown(t *testing.T) {
	f := newFixture(statemetrics.Options{Pools: func() []*cluster.Pool {
		return []*cluster.Pool{{Name: "pool", Types: []*catalog.Type{{Name: "m5.large", Offerings: []catalog.Offering{{Zone: "us-east-1a", CapacityType: "spot", Price: 40_000}}}}}}
	}})
	f.small()
	close(f.elected)
	for _, tc := range []struct {
		name, labels string
		want         map[string]float64
	}{
		{"karpenter_cluster_state_node_count", "", map[string]float64{"": 2}},
		{"karpenter_cluster_state_synced", "", map[string]float64{"": 1}},
		{"karpenter_nodes_allocatable", "node_name resource_type zone managed instance_family", map[string]float64{
			"a cpu us-east-1a true m5": 1.93, "a memory us-east-1a true m5": 7 << 30, "a pods us-east-1a true m5": 29, "b cpu us-east-1a true m5": 1.93, "b memory us-east-1a true m5": 7 << 30, "b pods us-east-1a true m5": 29,
		}},
		{"karpenter_nodes_system_overhead", "node_name resource_type", map[string]float64{"a cpu": 0.07, "a memory": 1 << 30, "a pods": 0, "b cpu": 0.07, "b memory": 1 << 30, "b pods": 0}},
		{"karpenter_nodes_total_pod_requests", "node_name resource_type", map[string]float64{"a cpu": 1.1, "a memory": 384 << 20, "a pods": 3}},
		{"karpenter_nodes_total_pod_limits", "node_name resource_type", map[string]float64{"a memory": 1536 << 20}},
		{"karpenter_nodes_total_daemon_requests", "node_name resource_type", map[string]float64{"a cpu": 0.1, "a memory": 128 << 20, "a pods": 1}},
		{"karpenter_nodes_total_daemon_limits", "node_name resource_type", map[string]float64{"a memory": 1 << 30}},
		{"karpenter_nodes_current_lifetime_seconds", "node_name", map[string]float64{"a": 3600, "b": 3600}},
		{"karpenter_cluster_utilization_percent", "resource_type", map[string]float64{"cpu": 100 * 1.1 / 3.86, "memory": 100 * 384. / (14 << 10), "pods": 100 * 3. / 58}},
		{"karpenter_nodepools_cost_total", "nodepool", map[string]float64{"pool": 0.08}},
		{"karpenter_pods_state", "name namespace owner node scheduled nodepool instance_type phase ready", map[string]float64{
			"web-1 default ReplicaSet/web a true pool m5.large Running true": 1, "web-2 default ReplicaSet/web a true pool m5.large Running true": 1,
			"agent-1 default DaemonSet/web a true pool m5.large Running true": 1, "web-3 default ReplicaSet/web  false   Pending false": 1,
		}},
		{"karpenter_pods_unbound_time_seconds", "name", map[string]float64{"web-3": 3600}},
		{"karpenter_pods_unstarted_time_seconds", "name", map[string]float64{"web-3": 3600}},
		{"karpenter_pods_provisioning_scheduling_undecided_time_seconds", "name", map[string]float64{"web-3": 0}},
		{"karpenter_scheduler_pending_pods_by_effective_zone_count", "controller zone", map[string]float64{"provisioner flexible": 1}},
		{"karpenter_scheduler_ignored_pods_count", "", map[string]float64{"": 0}},
		{"operator_node_status_condition_count", "name type status karpenter_sh_nodepool karpenter_sh_initialized karpenter_k8s_aws_ec2nodeclass", map[string]float64{
			"a Ready True pool true class": 1, "a MemoryPressure False pool true class": 1, "a DiskPressure False pool true class": 1, "a PIDPressure False pool true class": 1,
			"b Ready True pool true class": 1, "b MemoryPressure False pool true class": 1, "b DiskPressure False pool true class": 1, "b PIDPressure False pool true class": 1,
		}},
		{"operator_status_condition_current_status_seconds", "name kind type status", map[string]float64{
			"claim-a NodeClaim Launched True": 3600, "claim-a NodeClaim Registered True": 3600, "claim-a NodeClaim Initialized True": 3600, "claim-a NodeClaim Consolidatable True": 3600, "claim-a NodeClaim Ready True": 3600,
			"claim-b NodeClaim Launched True": 3600, "claim-b NodeClaim Registered True": 3600, "claim-b NodeClaim Initialized True": 3600, "claim-b NodeClaim Consolidatable True": 3600, "claim-b NodeClaim Ready True": 3600,
		}},
		{"kerf_oldest_pending_pod_seconds", "", map[string]float64{"": 3600}},
		{"kerf_oldest_unready_seconds", "kind", map[string]float64{"Node": 0, "NodeClaim": 0, "NodePool": 0, "EC2NodeClass": 0}},
	} {
		got := f.values(t, tc.name, strings.Fields(tc.labels)...)
		same := len(got) == len(tc.want)
		for key, want := range tc.want {
			same = same && math.Abs(got[key]-want) <= 1e-9*max(1, want)
		}
		if !same {
			t.Errorf("%s is\n%v, want\n%v", tc.name, got, tc.want)
		}
	}
}

func TestSeriesAreLeftOut(t *testing.T) {
	all := []string{"karpenter_pods_state", "karpenter_pods_unbound_time_seconds", "karpenter_nodes_allocatable", "operator_nodeclaim_status_condition_count", "operator_status_condition_count"}
	for name, tc := range map[string]struct {
		o    statemetrics.Options
		gone []string
	}{
		"pods":       {statemetrics.Options{WithoutPods: true}, all[:2]},
		"nodes":      {statemetrics.Options{WithoutNodes: true}, all[2:3]},
		"conditions": {statemetrics.Options{WithoutConditions: true}, all[3:]},
	} {
		f := newFixture(tc.o)
		f.small()
		if got := f.values(t, "karpenter_cluster_state_synced"); len(got) != 1 {
			t.Errorf("%s: a replica that does not lead does not say whether it is synced", name)
		}
		for _, metric := range append(all, "karpenter_cluster_utilization_percent") {
			if got := f.values(t, metric); len(got) > 0 {
				t.Errorf("%s: a replica that does not lead serves %s", name, metric)
			}
		}
		close(f.elected)
		for _, metric := range all {
			gone := false
			for _, g := range tc.gone {
				gone = gone || g == metric
			}
			if got := len(f.values(t, metric)) == 0; got != gone {
				t.Errorf("%s: %s is left out: %v, want %v", name, metric, got, gone)
			}
		}
		if got := f.values(t, "karpenter_cluster_utilization_percent", "resource_type")["cpu"]; got < 28 || got > 29 {
			t.Errorf("%s: utilization of %v", name, got)
		}
	}
}

// Half a state would look like a cluster that has shrunk.
func TestAStateThatIsNotSyncedIsNotShown(t *testing.T) {
	f := newFixture(statemetrics.Options{Synced: func() bool { return false }})
	f.small()
	close(f.elected)
	if got := f.values(t, "karpenter_cluster_state_synced"); got[""] != 0 || len(got) != 1 {
		t.Errorf("synced is %v", got)
	}
	if got := f.values(t, "karpenter_nodes_allocatable"); len(got) > 0 {
		t.Errorf("nodes are shown: %v", got)
	}
}

type broken struct{}

func (broken) View() *cache.View { panic("a defect") }

// A defect in one collector must end neither the process nor the page.
func TestAPanicIsCounted(t *testing.T) {
	f := newFixture(statemetrics.Options{State: broken{}})
	close(f.elected)
	f.values(t, "x")
	if got := testutil.ToFloat64(f.metrics.Panics.WithLabelValues("metrics.state")); got != 1 {
		t.Errorf("%v panics were counted, want 1", got)
	}
	if got := f.values(t, "karpenter_scheduler_unfinished_work_seconds", "controller"); len(got) != 2 {
		t.Errorf("other metrics: %v", got)
	}
}

// Names in labels are what users wrote, and two conditions of one type would be one series twice.
func TestOddObjectsDoNotSpoilThePage(t *testing.T) {
	f := newFixture(statemetrics.Options{})
	f.small()
	node := &corev1.Node{}
	f.meta(node, "odd")
	node.Labels = map[string]string{corev1.LabelTopologyZone: "\xff"}
	node.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "Ready", Status: "False"}, {Type: "Ready", Status: "True"}}
	f.SetNode(node)
	close(f.elected)
	if got := f.values(t, "karpenter_nodes_current_lifetime_seconds", "node_name", "managed", "zone"); got["odd false \uFFFD"] != 3600 {
		t.Errorf("ages are %v", got)
	}
}

func TestPodsOnTheirWay(t *testing.T) {
	var moments []cache.Moment
	f := newFixture(statemetrics.Options{})
	f.Cache = cache.New(cache.Options{Now: func() time.Time { return now }, Moment: func(m cache.Moment) { moments = append(moments, m) }})
	pod := f.pod("p", "", containers("1", "1Gi"), "ReplicaSet")
	ref := cluster.PodRef{Namespace: "default", Name: "p", UID: "uid-p"}
	f.Decided([]cluster.PodRef{ref}, nil)
	f.Decided([]cluster.PodRef{ref}, nil)
	if v := f.View(); len(v.Starting) != 1 || !v.Starting[0].Placed.Equal(now) || !v.Starting[0].Decided.Equal(now) {
		t.Errorf("starting: %+v", v.Starting)
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName, bound.Status.Conditions = "n", nil
	f.meta(bound, "p")
	f.SetPod(bound)
	runs := bound.DeepCopy()
	runs.Status.Phase = corev1.PodRunning
	f.meta(runs, "p")
	f.SetPod(runs)
	want := []cache.Moment{{Kind: cache.PodDecided, SincePlaced: -1}, {Kind: cache.PodBound, Since: time.Hour}, {Kind: cache.PodStarted, Since: time.Hour}}
	if fmt.Sprint(moments) != fmt.Sprint(want) {
		t.Errorf("moments are %v, want %v", moments, want)
	}
	if v := f.View(); len(v.Starting) != 0 {
		t.Errorf("a pod that runs is still starting: %+v", v.Starting)
	}
}

type source struct{ types []*catalog.Type }

func (s *source) Pools() []*karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Name: "class"}
	return []*karpv1.NodePool{pool}
}
func (s *source) NodeClass(string) *awsv1.EC2NodeClass { return &awsv1.EC2NodeClass{} }
func (s *source) Listen(func(cache.Change))            {}
func (s *source) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	return s.types, nil
}

func TestOfferingsAreShownAndTakenAway(t *testing.T) {
	f := newFixture(statemetrics.Options{})
	s := &source{[]*catalog.Type{{Name: "m5.large", Capacity: map[string]int64{"cpu": 2000, "memory": 8 << 30}, Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: "spot", Price: 30_000}, {Zone: "a", CapacityType: "on-demand", Price: 96_000, Available: true}, {Zone: "b", CapacityType: "spot", Price: catalog.NoPrice},
	}}}}
	o := &statemetrics.Offers{State: s, Types: s, Metrics: f.metrics, Log: slog.New(slog.DiscardHandler), Clock: testingclock.NewFakeClock(now)}
	check := func(name, labels string, want map[string]float64) {
		t.Helper()
		if got := f.values(t, name, strings.Fields(labels)...); !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if o.Pools() != nil {
		t.Error("prices are known before they were read")
	}
	_ = o.Round(t.Context())
	check("karpenter_cloudprovider_instance_type_offering_price_estimate", "instance_type capacity_type zone", map[string]float64{"m5.large spot a": 0.03, "m5.large on-demand a": 0.096})
	check("karpenter_cloudprovider_instance_type_offering_available", "instance_type capacity_type zone", map[string]float64{"m5.large spot a": 0, "m5.large on-demand a": 1})
	check("karpenter_cloudprovider_instance_type_cpu_cores", "instance_type", map[string]float64{"m5.large": 2})
	check("karpenter_cloudprovider_instance_type_memory_bytes", "instance_type", map[string]float64{"m5.large": 8 << 30})
	if p := o.Pools(); len(p) != 1 || p[0].Name != "pool" || p[0].Types[0] != s.types[0] {
		t.Errorf("pools are %v", p)
	}
	s.types = []*catalog.Type{{Name: "m6.large", Capacity: map[string]int64{"cpu": 2000}}}
	_ = o.Round(t.Context())
	check("karpenter_cloudprovider_instance_type_cpu_cores", "instance_type", map[string]float64{"m6.large": 2})
	check("karpenter_cloudprovider_instance_type_offering_available", "instance_type", map[string]float64{})
}

// large is 5,000 nodes with 20 pods each.
func large(f *fixture) {
	templates := [][]corev1.Container{}
	for range 200 {
		templates = append(templates, containers("90m", "256Mi"))
	}
	for n := range 5000 {
		name := fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", n/256, n%256)
		f.node(name)
		for i := range 20 {
			f.pod(fmt.Sprintf("web-%d-%d", n, i), name, templates[(n+i)%len(templates)], "ReplicaSet")
		}
	}
	close(f.elected)
	f.Snapshot()
}

// A scrape of 5,000 nodes and 100,000 pods: how long it takes, and how many bytes and series it has.
func BenchmarkScrape(b *testing.B) {
	for _, tc := range []struct {
		name string
		o    statemetrics.Options
	}{
		{"all", statemetrics.Options{}},
		{"without-pods", statemetrics.Options{WithoutPods: true}},
		{"without-pods-and-conditions", statemetrics.Options{WithoutPods: true, WithoutConditions: true}},
		{"without-all", statemetrics.Options{WithoutPods: true, WithoutNodes: true, WithoutConditions: true}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			f := newFixture(tc.o)
			large(f)
			handler := promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{DisableCompression: true})
			b.ReportAllocs()
			n, before := int64(0), processorTime(b)
			for b.Loop() {
				w := &counter{header: http.Header{}}
				handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil))
				n = w.n
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/float64(b.N), "cpu-s/scrape")
			b.ReportMetric(float64(n)/1e6, "MB/scrape")
			got := 0.0
			families, _ := f.registry.Gather()
			for _, family := range families {
				if family.GetName() == "kerf_state_metrics_series" {
					got = family.GetMetric()[0].GetGauge().GetValue()
				}
			}
			b.ReportMetric(got, "series")
		})
	}
}

// How long a view takes, and with it how long the state is locked at the most.
func BenchmarkView(b *testing.B) {
	f := newFixture(statemetrics.Options{})
	large(f)
	before := processorTime(b)
	for b.Loop() {
		f.View()
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// processorTime is what the process has used, whatever else the host does.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

type counter struct {
	header http.Header
	n      int64
}

func (c *counter) Header() http.Header         { return c.header }
func (c *counter) WriteHeader(int)             {}
func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

var _ io.Writer = (*counter)(nil)

func TestTheOldestPodWithAPlace(t *testing.T) {
	c := cache.New(cache.Options{Now: func() time.Time { return began }})
	f := newFixture(statemetrics.Options{State: c, WithoutPods: true})
	f.Cache = c
	close(f.elected)
	oldest := func() float64 { return f.values(t, "kerf_oldest_placed_pod_seconds")[""] }
	pod := f.pod("p", "", containers("1", "1Gi"), "ReplicaSet")
	if got := oldest(); got != 0 {
		t.Errorf("%v seconds without a place", got)
	}
	f.Decided([]cluster.PodRef{{Namespace: "default", Name: "p", UID: "uid-p"}}, nil)
	if got := oldest(); got != 3600 {
		t.Errorf("%v seconds, an hour after the decision", got)
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n"
	f.meta(bound, "p")
	f.SetPod(bound)
	if got := oldest(); got != 0 {
		t.Errorf("%v seconds of a pod that is bound", got)
	}
}
