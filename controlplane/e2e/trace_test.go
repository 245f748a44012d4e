package e2e

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/local"
)

// task is what a pod of the trace asks for.
type task struct {
	milliCPU, memoryMiB, gpus int
	batch                     bool
}

// tracePods is how many pods the test brings.
const tracePods = 1000

// tasks reads the real trace where it is at hand (KERF_TRACE, or beside a development checkout), else draws a sample of
// the same kind with a fixed seed.
func tasks(t *testing.T) []task {
	path := os.Getenv("KERF_TRACE")
	if path == "" {
		path = filepath.Join("..", "..", "..", "shared", "workloads", "openb-gpu-cluster.csv.gz")
	}
	f, err := os.Open(path)
	if err != nil {
		const seed = 20260301
		t.Logf("no trace at hand; drawing %d pods with seed %d", tracePods, seed)
		return drawn(rand.New(rand.NewPCG(seed, 1)))
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []task
	for s := bufio.NewScanner(z); s.Scan() && len(out) < tracePods; {
		// arrival_s, duration_s, cpu_millicores, memory_mib, gpu, gpu_share_millis, gpu_models, disk_gib, class, ...
		c := strings.Split(s.Text(), ",")
		cpu, err := strconv.Atoi(c[2])
		if err != nil {
			continue // the heading
		}
		mem, _ := strconv.Atoi(c[3])
		gpu, _ := strconv.Atoi(c[4])
		out = append(out, task{milliCPU: cpu, memoryMiB: mem, gpus: gpu, batch: c[8] == "best-effort"})
	}
	t.Logf("%d pods of the trace", len(out))
	return out
}

func drawn(r *rand.Rand) []task {
	cpus, mems := []int{500, 1000, 2000, 4000, 6000, 8000, 12000, 16000, 32000}, []int{1024, 4096, 8192, 12288, 16384, 32768, 65536}
	out := make([]task, tracePods)
	for i := range out {
		out[i] = task{milliCPU: cpus[r.IntN(len(cpus))], memoryMiB: mems[r.IntN(len(mems))], batch: r.IntN(3) == 0}
		if r.IntN(10) < 7 {
			out[i].gpus = []int{1, 1, 1, 2, 4, 8}[r.IntN(6)]
		}
	}
	return out
}

// TestTrace runs the pods of a real cluster as Deployments and Jobs: every one fits some instance type, so every one runs.
func TestTrace(t *testing.T) {
	e := up(t, func(o *local.Options) { o.BootTime = time.Second })
	e.apply(strings.NewReplacer("values: [c, m, r]", "values: [c, m, r, g, p]", `{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}`,
		`{key: karpenter.k8s.aws/instance-hypervisor, operator: In, values: [nitro]}`).Replace(poolYAML))
	e.ready("default")
	groups := map[task]int{}
	all := tasks(t)
	for _, x := range all {
		groups[x]++
	}
	keys := make([]task, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b task) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	var manifests strings.Builder
	for i, k := range keys {
		manifests.WriteString(workload(i, k, groups[k]))
	}
	began := time.Now()
	e.apply(manifests.String())
	e.running(5*time.Minute, "default", len(all))
	t.Logf("%d pods of %d shapes run on %d nodes %.0f s after they were applied", len(all), len(keys), len(e.nodes()), time.Since(began).Seconds())
	e.oneToOne()
}

// workload runs n pods of a task. On a busy instance the controller of taints is behind, and evicts pods that were bound to a
// node from which a taint has just been taken; a Job makes others for them, as long as it bears that many failures.
func workload(i int, k task, n int) string {
	gpu := ""
	if k.gpus > 0 {
		gpu = fmt.Sprintf(", nvidia.com/gpu: %d}, limits: {nvidia.com/gpu: %d", k.gpus, k.gpus)
	}
	container := fmt.Sprintf("{name: c, image: registry.example/c:1, resources: {requests: {cpu: %dm, memory: %dMi%s}}}", k.milliCPU, k.memoryMiB, gpu)
	if k.batch {
		return fmt.Sprintf(`
---
apiVersion: batch/v1
kind: Job
metadata: {name: task-%[1]d, namespace: default}
spec:
  parallelism: %[2]d
  completions: %[2]d
  backoffLimit: 1000
  template:
    metadata: {labels: {app: task-%[1]d}}
    spec:
      restartPolicy: Never
      containers:
      - %[3]s
`, i, n, container)
	}
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: task-%[1]d, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: task-%[1]d}}
  template:
    metadata: {labels: {app: task-%[1]d}}
    spec:
      containers:
      - %[3]s
`, i, n, container)
}
