package simcluster_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
)

// slowly is how long a control plane takes from one pod that it creates to the next while its processors are busy with other
// work: now and then it stands still.
func slowly(r *rand.Rand) time.Duration {
	if r.IntN(60) == 0 {
		return time.Duration(300+r.IntN(600)) * time.Millisecond
	}
	return time.Duration(20+r.IntN(30)) * time.Millisecond
}

// What is launched for pods that come bit by bit costs what it costs for those that come at once. A control plane that is
// busy creates some 25 pods a second, so that these bursts last longer than one wait for more pods.
func TestBurstsCostWhatTheyCostAtOnce(t *testing.T) {
	for name, burst := range map[string]struct {
		pods  int
		start func(h *simcluster.Cluster, between func() time.Duration)
		// price and instances are by how many percent more they may be.
		price     int64
		instances int
		long      bool
	}{
		"one Deployment": {500, func(h *simcluster.Cluster, _ func() time.Duration) { h.Deploy("web", 500, "500m", "512Mi") }, 5, 15, false},
		// The first of them are decided before the last are created: that is two instances more than the ten of all at once.
		"five Deployments": {1500, func(h *simcluster.Cluster, between func() time.Duration) {
			for i := range 5 {
				h.Deploy(fmt.Sprint("web-", i), 300, "500m", "512Mi")
				if between != nil {
					h.Pass(2 * time.Second)
				}
			}
		}, 5, 20, true},
		"a Job":                      {200, func(h *simcluster.Cluster, between func() time.Duration) { work(h, 200, between) }, 5, 15, true},
		"one a second, of one owner": {60, func(h *simcluster.Cluster, between func() time.Duration) { work(h, 60, each(time.Second, between)) }, 5, 15, true},
		// Nobody can know that there are sixty. One by one they would get an instance each, at 82 % more.
		"one a second, of none": {60, func(h *simcluster.Cluster, between func() time.Duration) {
			for i := range 60 {
				pod(h, fmt.Sprint("alone-", i), nil)
				if between != nil {
					h.Pass(time.Second)
				}
			}
		}, 25, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			if burst.long {
				long(t)
			}
			t.Parallel()
			price, instances := launched(t, "at once", burst.pods, nil, burst.start)
			r := rand.New(rand.NewPCG(1, 2))
			got, n := launched(t, "bit by bit", burst.pods, func() time.Duration { return slowly(r) }, burst.start)
			if got > price+price*burst.price/100 || n > instances+max(instances*burst.instances/100, 1) {
				t.Errorf("$%.4f/h on %d instances; at once $%.4f/h on %d", float64(got)/1e6, n, float64(price)/1e6, instances)
			}
		})
	}
}

// launched is what a burst costs per hour, and how many instances it gets.
func launched(t *testing.T, name string, pods int, between func() time.Duration, start func(*simcluster.Cluster, func() time.Duration)) (sum int64, instances int) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		simcluster.Run(t, simcluster.Options{Actors: actors.Options{Between: between}}, func(h *simcluster.Cluster) {
			h.Apply(strings.NewReplacer("[amd64]", "[amd64, arm64]", "consolidateAfter: 30s", "consolidateAfter: Never").Replace(simcluster.Defaults))
			h.Pass(time.Minute)
			start(h, between)
			h.Running(3*time.Minute, "", pods)
			sum, instances = price(h), len(h.Instances())
			h.T.Logf("$%.4f/h on %d instances", float64(sum)/1e6, instances)
		})
	})
	return sum, instances
}

// each is a pace that takes no heed of how busy the control plane is.
func each(d time.Duration, between func() time.Duration) func() time.Duration {
	if between == nil {
		return nil
	}
	return func() time.Duration { return d }
}

// work makes a Job that wants n pods at a time, and creates them.
func work(h *simcluster.Cluster, n int, between func() time.Duration) {
	h.T.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default"}}
	job.Spec.Parallelism, job.Spec.Completions = new(int32(n)), new(int32(n))
	job.Spec.Template.Labels = map[string]string{"app": "work"}
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	if err := h.Client.Create(h.T.Context(), job); err != nil {
		h.T.Fatal(err)
	}
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	for i := range n {
		pod(h, fmt.Sprint("work-", i), owner)
		if between != nil {
			h.Pass(between())
		}
	}
}

// pod creates a pod, of an owner or of none.
func pod(h *simcluster.Cluster, name string, owner *metav1.OwnerReference) {
	h.T.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
	}}}
	if err := h.Client.Create(h.T.Context(), p); err != nil {
		h.T.Fatal(err)
	}
}
