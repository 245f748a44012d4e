package history_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
	"github.com/kerf-sh/kerf/internal/simulate/history"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// seen is a change that the API server told of.
type seen struct {
	at   time.Time
	what watch.EventType
	pod  *corev1.Pod
	set  *appsv1.ReplicaSet
}

// told is what was asked of the simulated cluster.
type told struct {
	begin, end time.Time
	sizes      map[string][]size // of Deployments
	jobs       map[string]time.Duration
}

type size struct {
	at time.Time
	n  int
}

// recorder keeps what a cluster shows of its pods.
type recorder struct {
	told
	mu    sync.Mutex
	seen  []seen
	dumps map[time.Time][]corev1.Pod
}

// follow notes each change that watches tell of, one after the other as the API server ends them.
func (r *recorder) follow(ctx context.Context, start func(version string) (watch.Interface, error)) {
	for version := ""; ctx.Err() == nil; {
		w, err := start(version)
		if err != nil {
			return
		}
		for e := range w.ResultChan() {
			r.mu.Lock()
			switch o := e.Object.(type) {
			case *corev1.Pod:
				version, o.TypeMeta = o.ResourceVersion, metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
				r.seen = append(r.seen, seen{at: time.Now().UTC(), what: e.Type, pod: o})
			case *appsv1.ReplicaSet:
				version, o.TypeMeta = o.ResourceVersion, metav1.TypeMeta{Kind: "ReplicaSet", APIVersion: "apps/v1"}
				r.seen = append(r.seen, seen{at: time.Now().UTC(), what: e.Type, set: o})
			}
			r.mu.Unlock()
		}
	}
}

// record plays an hour in which Deployments grow and shrink, Jobs run, pods are evicted and nodes drained, and the controller
// consolidates.
func record(t *testing.T, seed uint64) *recorder {
	r := &recorder{told: told{sizes: map[string][]size{}, jobs: map[string]time.Duration{}}, dumps: map[time.Time][]corev1.Pod{}}
	random := rand.New(rand.NewPCG(seed, 1))
	simcluster.Run(t, simcluster.Options{Seed: seed}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var work sync.WaitGroup
		work.Go(func() {
			r.follow(ctx, func(version string) (watch.Interface, error) {
				return h.Kubernetes.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
			})
		})
		work.Go(func() {
			r.follow(ctx, func(version string) (watch.Interface, error) {
				return h.Kubernetes.AppsV1().ReplicaSets("").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
			})
		})
		scale := func(app string, n int) {
			h.Deploy(app, n, "400m", "700Mi")
			r.sizes["default/"+app] = append(r.sizes["default/"+app], size{time.Now().UTC(), n})
		}
		scale("web", 6)
		scale("api", 3)
		h.Pass(5 * time.Minute)
		r.begin = time.Now().UTC()
		for minute := range 60 {
			if minute%5 == 0 {
				r.dump(h)
			}
			switch minute {
			case 4, 22, 47:
				scale("web", 4+random.IntN(10))
			case 13, 38:
				scale("api", 1+random.IntN(8))
			case 9, 31:
				evict(h, random)
			case 17, 41:
				drain(h, random)
			}
			if minute%10 == 6 {
				name, runs := fmt.Sprintf("batch-%08d", minute), time.Duration(7+random.IntN(8))*time.Minute
				job(h, name, runs)
				r.jobs["default/"+name] = runs
			}
			h.Pass(time.Minute)
		}
		r.dump(h)
		r.end = time.Now().UTC()
		cancel()
		work.Wait()
	})
	// The watches of ReplicaSets and of pods tell of the same moment in any order; a ReplicaSet wants pods before it has them.
	slices.SortStableFunc(r.seen, func(a, b seen) int {
		first := func(s seen) int {
			if s.set != nil {
				return 0
			}
			return 1
		}
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(first(a), first(b)))
	})
	return r
}

func (r *recorder) dump(h *simcluster.Cluster) { r.dumps[time.Now().UTC()] = slices.Clone(h.Pods()) }

// evict asks for two pods to be evicted, as a person does who has little patience.
func evict(h *simcluster.Cluster, random *rand.Rand) {
	var running []corev1.Pod
	for _, p := range h.Pods() {
		if p.Labels["app"] != "" && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			running = append(running, p)
		}
	}
	for range min(2, len(running)) {
		p := running[random.IntN(len(running))]
		_ = h.Kubernetes.PolicyV1().Evictions(p.Namespace).Evict(h.T.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}})
	}
}

// drain takes a node away.
func drain(h *simcluster.Cluster, random *rand.Rand) {
	claims := h.Claims()
	if len(claims) == 0 {
		h.T.Fatal("there is no node to drain")
	}
	if err := h.Client.Delete(h.T.Context(), &claims[random.IntN(len(claims))]); client.IgnoreNotFound(err) != nil {
		h.T.Fatal(err)
	}
}

func job(h *simcluster.Cluster, name string, runs time.Duration) {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	container := corev1.Container{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
	}}
	j.Spec.Template.Spec.Containers, j.Spec.Template.Spec.RestartPolicy = []corev1.Container{container}, corev1.RestartPolicyNever
	if err := h.Client.Create(h.T.Context(), j); err != nil {
		h.T.Fatal(err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name + "-x8k2p", Namespace: "default", Annotations: map[string]string{
		actors.RunsFor: runs.String(), "karpenter.sh/do-not-disrupt": "true",
	}}}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Spec.Containers = []corev1.Container{container}
	if err := h.Client.Create(h.T.Context(), p); err != nil {
		h.T.Fatal(err)
	}
}

// TestWhatRanComesBack plays a workload in a simulated cluster, writes down what the cluster shows of it in each format, and
// wants the workload back: as many pods of each Deployment at any time, no more and no fewer though pods were moved, and each
// Job's pod for as long as it ran.
func TestWhatRanComesBack(t *testing.T) {
	for _, seed := range []uint64{1} {
		r := record(t, seed)
		replaced := 0
		for _, s := range r.seen {
			if s.pod != nil && s.what == watch.Deleted {
				replaced++
			}
		}
		if replaced < 10 {
			t.Fatalf("seed %d: only %d pods went: the test proves little", seed, replaced)
		}
		for _, export := range []struct {
			name  string
			write func(t *testing.T, r *recorder, folder string)
			// off is how far from its moment a change may be; runs by how much the length of a run.
			off, runs time.Duration
		}{
			{"events", exportEvents, 2 * time.Second, 3 * time.Second},
			{"dumps", exportDumps, 5 * time.Minute, 5 * time.Minute},
			{"watch", exportWatch, 2 * time.Second, 3 * time.Second},
			{"prometheus", exportPrometheus, time.Minute, time.Minute},
			{"audit log", exportAudit, 2 * time.Second, 3 * time.Second},
			{"audit log without ReplicaSets", exportPodAudit, 2 * time.Second, 3 * time.Second},
		} {
			t.Run(fmt.Sprintf("%s, seed %d", export.name, seed), func(t *testing.T) {
				folder := t.TempDir()
				export.write(t, r, folder)
				w, account, err := history.Read([]string{folder})
				if err != nil {
					t.Fatal(err)
				}
				if account.Malformed > 0 {
					t.Errorf("%d were not understood: %s", account.Malformed, account.FirstMalformed)
				}
				wantSizes(t, r, w, account, export.off)
				wantRuns(t, r, w, account, export.runs)
				if t.Failed() {
					var text strings.Builder
					_ = w.Write(&text)
					_ = account.Text(&text)
					t.Logf("want %v\ngot\n%s", r.sizes, text.String())
				}
			})
		}
	}
}

// wantSizes wants each Deployment to have at each time what it had at some moment not far from it.
func wantSizes(t *testing.T, r *recorder, w *workload.Workload, account *history.Account, off time.Duration) {
	t.Helper()
	for name, sizes := range r.sizes {
		at := func(when time.Time) int {
			n := 0
			for _, s := range sizes {
				if !s.at.After(when) {
					n = s.n
				}
			}
			return n
		}
		for when := account.From.Add(time.Second); when.Before(account.To); when = when.Add(17 * time.Second) {
			got := 0
			for i := range w.Steps {
				if s := &w.Steps[i]; s.Workload == name && s.Sets() && !account.From.Add(s.At).After(when) {
					got = s.Replicas
				}
			}
			// In between two sizes, pods come and go one after the other.
			least, most := at(when), at(when)
			for near := when.Add(-off); !near.After(when.Add(off)); near = near.Add(time.Second) {
				least, most = min(least, at(near)), max(most, at(near))
			}
			if got < least || got > most {
				t.Errorf("%s at %s: %d pods, want %d to %d", name, when.Format(time.TimeOnly), got, least, most)
				return
			}
		}
	}
}

// wantRuns wants each Job's pod that ended in the history to have run as long as it did, and a cut run for each of the others.
func wantRuns(t *testing.T, r *recorder, w *workload.Workload, account *history.Account, off time.Duration) {
	t.Helper()
	var got []time.Duration
	for i := range w.Steps {
		if s := &w.Steps[i]; s.Workload == "default/batch" {
			got = append(got, s.Duration)
		}
	}
	cut := 0
	for _, u := range account.Unknown {
		if strings.HasPrefix(u.What, "pods of Jobs that still ran") {
			cut = u.Count
		}
	}
	var want []time.Duration
	for _, s := range r.seen {
		if p := s.pod; p != nil && p.Status.Phase == corev1.PodSucceeded && s.what == watch.Modified && p.DeletionTimestamp == nil && !s.at.After(account.To) {
			want = append(want, r.jobs["default/"+strings.TrimSuffix(p.Name, "-x8k2p")])
		}
	}
	if len(got) != len(want)+cut || len(want) < 3 {
		t.Errorf("runs of Jobs: %v, want %v and %d more", got, want, cut)
	}
	for _, d := range want {
		i := slices.IndexFunc(got, func(g time.Duration) bool { return (g - d).Abs() <= off })
		if i < 0 {
			t.Errorf("runs of Jobs: %v, want one of %s", got, d)
			return
		}
		got = slices.Delete(got, i, i+1)
	}
}
