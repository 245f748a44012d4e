package simulate

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/simulate/drive"
)

// refusedAfter is for how long a pod must have had no node to count as refused: longer than an instance takes to boot, and than a launch
// takes to find another pool where stock is out.
const refusedAfter = 10 * time.Minute

// refusedAtEnd is for how long a pod must have had no node that still waits when a run ends, and of which the controller says why. In a
// run of twice refusedAfter and more, its warm-up included, that is as at any other time: a pod that came a moment ago says nothing.
// In a shorter one it is half of the run, so that a short look at an input names the pods that fit nowhere.
func refusedAtEnd(played time.Duration) time.Duration { return min(refusedAfter, played/2) }

// Reasons why pods are moved that no command has.
const (
	movedInterrupted = "interruption"
	movedOther       = "other"
)

// watcher follows pods and nodes by what the API tells of each change.
//
// Concurrency: safe. It is told while the API is locked, so it asks nobody.
type watcher struct {
	mu    sync.Mutex
	pods  map[string]*pod // by namespace/name
	nodes map[string]*node
	// why are the reasons of commands by their IDs, as the controller said them.
	why         map[string]string
	interrupted map[string]bool // instances
	messages    map[string]string
	begun       map[string]int // commands by reason

	waits []float64 // seconds until pods ran
	vain  []float64 // seconds that pods waited that were deleted before they ran
	moved map[moving]int
	lost  int
	// told, if set, hears of each pod that is moved.
	told    func(pod, workload, node, reason string)
	refused map[string]*Refusal
	// disrupted counts nodes that were marked for removal by the controller's own decision.
	disrupted int

	running, pending int
	// weight is that of the pods that run or wait, weighed that times the milliseconds until at.
	weight, weighed int64
	at              time.Time
	// ended are pods of jobs that have succeeded, gone those that are no more and had not.
	ended, gone []string
	// wake holds a token while there are any. It is made inside the bubble: waiting for a channel from outside holds the clock.
	wake chan struct{}
}

type pod struct {
	created  time.Time
	workload string
	node     string
	runs     bool
	deleting bool
	over     bool
	daemon   bool
	counted  bool // as refused
	weight   int64
}

// moving is a workload whose pods are moved for a reason.
type moving struct{ workload, reason string }

type node struct {
	command  string
	instance string
	marked   bool // it takes no pods any more, for it is being removed
}

func newWatcher() *watcher {
	return &watcher{
		pods: map[string]*pod{}, nodes: map[string]*node{}, why: map[string]string{}, interrupted: map[string]bool{}, messages: map[string]string{},
		begun: map[string]int{}, moved: map[moving]int{}, refused: map[string]*Refusal{},
	}
}

// hear is told of every change.
func (w *watcher) hear(path string, before, after map[string]any) {
	switch path {
	case "/v1/pods":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hearPod(before, after)
	case "/v1/nodes":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hearNode(before, after)
	case "/v1/events":
		if after != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.hearEvent(after)
		}
	}
}

func text(o map[string]any, path ...string) string {
	out, _, _ := unstructured.NestedString(o, path...)
	return out
}

func nameOf(o map[string]any) string {
	return text(o, "metadata", "namespace") + "/" + text(o, "metadata", "name")
}

func (w *watcher) hearPod(before, after map[string]any) {
	if after == nil {
		w.dropPod(nameOf(before))
		return
	}
	name := nameOf(after)
	p := w.pods[name]
	if p == nil {
		p = &pod{created: now(), workload: workloadOf(after), daemon: ownerKind(after) == "DaemonSet", weight: weightOf(after)}
		w.pods[name] = p
		w.count(p, 1)
	}
	w.count(p, -1)
	p.node = text(after, "spec", "nodeName")
	phase := corev1.PodPhase(text(after, "status", "phase"))
	if phase == corev1.PodRunning && !p.runs {
		p.runs = true
		if !p.daemon {
			w.waits = append(w.waits, now().Sub(p.created).Seconds())
		}
	}
	if (phase == corev1.PodSucceeded || phase == corev1.PodFailed) && !p.over {
		p.over = true
		if phase == corev1.PodSucceeded && ownerKind(after) == drive.JobKind {
			w.ended = append(w.ended, name)
			w.poke()
		}
	}
	if text(after, "metadata", "deletionTimestamp") != "" && !p.deleting {
		w.inVain(p)
		p.deleting = true
		if n := w.nodes[p.node]; n != nil && n.marked && !p.daemon && !p.over {
			why := w.reason(n)
			w.moved[moving{p.workload, why}]++
			if w.told != nil {
				w.told(name, p.workload, p.node, why)
			}
		}
	}
	w.count(p, 1)
}

func (w *watcher) dropPod(name string) {
	p := w.pods[name]
	if p == nil {
		return
	}
	w.count(p, -1)
	w.inVain(p)
	if p.node != "" && !p.deleting && !p.over && !p.daemon {
		w.lost++
	}
	if !p.over {
		w.gone = append(w.gone, name)
		w.poke()
	}
	delete(w.pods, name)
	delete(w.messages, name)
}

// inVain notes how long a pod waited that ends before it ran.
func (w *watcher) inVain(p *pod) {
	if !p.daemon && !p.runs && !p.over && !p.deleting {
		w.vain = append(w.vain, now().Sub(p.created).Seconds())
	}
}

// waited is how long pods waited: until they ran, until they were deleted, until now.
func (w *watcher) waited() []float64 {
	out := slices.Concat(w.waits, w.vain)
	for _, p := range w.pods {
		if !p.daemon && !p.runs && !p.over && !p.deleting {
			out = append(out, now().Sub(p.created).Seconds())
		}
	}
	slices.Sort(out)
	return out
}

// count puts a pod into the sums of those that run and wait, or takes it out.
func (w *watcher) count(p *pod, by int) {
	switch {
	case p.daemon || p.over || p.deleting:
		return
	case p.runs:
		w.running += by
	default:
		w.pending += by
	}
	w.weigh()
	w.weight += int64(by) * p.weight
}

// weigh adds what was until now.
func (w *watcher) weigh() {
	t := now()
	w.weighed += w.weight * t.Sub(w.at).Milliseconds()
	w.at = t
}

// weighs is the weight of the pods that run or wait.
func (w *watcher) weighs() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.weight
}

// area is that weight over time since the last reset, times milliseconds.
func (w *watcher) area() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.weigh()
	return w.weighed
}

// gibPerCore is how many GiB of memory cost as much as a core, by the usual regression over general types.
const gibPerCore = 8

// weightOf is about in proportion to what a pod costs: its requests in thousandths of a core, and a little for those without.
func weightOf(o map[string]any) int64 {
	out := int64(1)
	containers, _, _ := unstructured.NestedSlice(o, "spec", "containers")
	for _, c := range containers {
		m, _ := c.(map[string]any)
		for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			amount, err := resource.ParseQuantity(text(m, "resources", "requests", string(r)))
			switch {
			case err != nil:
			case r == corev1.ResourceCPU:
				out += amount.MilliValue()
			default:
				out += amount.Value() * 1000 / (gibPerCore << 30)
			}
		}
	}
	return out
}

func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// reason is why a node is being removed.
func (w *watcher) reason(n *node) string {
	if w.interrupted[n.instance] {
		return movedInterrupted
	}
	return cmp.Or(w.why[n.command], movedOther)
}

func (w *watcher) hearNode(before, after map[string]any) {
	if after == nil {
		delete(w.nodes, text(before, "metadata", "name"))
		return
	}
	name := text(after, "metadata", "name")
	n := w.nodes[name]
	if n == nil {
		n = &node{}
		w.nodes[name] = n
	}
	if id := text(after, "spec", "providerID"); id != "" {
		n.instance = id[strings.LastIndexByte(id, '/')+1:]
	}
	annotations, _, _ := unstructured.NestedStringMap(after, "metadata", "annotations")
	n.command = cmp.Or(annotations[index.CommandAnnotation], n.command)
	taints, _, _ := unstructured.NestedSlice(after, "spec", "taints")
	marked := n.marked
	n.marked = slices.ContainsFunc(taints, func(t any) bool {
		m, ok := t.(map[string]any)
		return ok && m["key"] == karpv1.DisruptedTaintKey
	})
	if n.marked && !marked && !w.interrupted[n.instance] {
		w.disrupted++
	}
}

// hearEvent keeps why the controller finds no node for a pod.
func (w *watcher) hearEvent(o map[string]any) {
	if text(o, "reason") != events.FailedScheduling || text(o, "involvedObject", "kind") != "Pod" {
		return
	}
	// What is said of existing nodes is different for each pod; why none is launched is what counts.
	message, _, _ := strings.Cut(text(o, "message"), "; existing nodes")
	message, _, _ = strings.Cut(message, "; no existing node")
	w.messages[text(o, "involvedObject", "namespace")+"/"+text(o, "involvedObject", "name")] = message
}

// look counts the pods that have waited for refusedAfter, and those that have waited for enough and of which the controller says why.
func (w *watcher) look(enough time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name, p := range w.pods {
		if p.runs || p.over || p.deleting || p.daemon || p.counted || p.node != "" {
			continue
		}
		if waited := time.Since(p.created); waited >= refusedAfter || waited >= enough && w.messages[name] != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := w.pods[name]
		p.counted = true
		why := cmp.Or(w.messages[name], "no event of the controller says why (it limits how many it writes)")
		r := w.refused[why]
		if r == nil {
			r = &Refusal{Reason: why, Example: p.workload}
			w.refused[why] = r
		}
		r.Count++
		if p.workload < r.Example {
			r.Example = p.workload
		}
	}
}

// reset forgets what was counted; pods go on, and those that still have no node are counted as refused anew.
func (w *watcher) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.weighed, w.at = 0, now()
	w.waits, w.vain, w.lost, w.disrupted = nil, nil, 0, 0
	clear(w.moved)
	clear(w.begun)
	clear(w.refused)
	for _, p := range w.pods {
		p.counted = false
	}
}

// take returns and forgets the pods that have ended and gone.
func (w *watcher) take() (ended, gone []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended, gone = w.ended, w.gone
	w.ended, w.gone = nil, nil
	slices.Sort(ended)
	slices.Sort(gone)
	return ended, gone
}

// now is the time without the nanoseconds that messages are delivered apart.
func now() time.Time { return time.Now().Round(time.Millisecond) }

// sums is how many pods run and wait.
func (w *watcher) sums() (running, pending int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running, w.pending
}

// command notes why a disruption is begun.
func (w *watcher) command(id, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why[id] = reason
	w.begun[reason]++
}

func (w *watcher) interrupt(instance string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupted[instance] = true
}

func owner(o map[string]any) map[string]any {
	owners, _, _ := unstructured.NestedSlice(o, "metadata", "ownerReferences")
	for _, r := range owners {
		if m, ok := r.(map[string]any); ok && m["controller"] == true {
			return m
		}
	}
	return nil
}

func ownerKind(o map[string]any) string {
	kind, _ := owner(o)["kind"].(string)
	return kind
}

// workloadOf is what people know a pod by: namespace and name of its Deployment or its job.
func workloadOf(o map[string]any) string {
	labels, _, _ := unstructured.NestedStringMap(o, "metadata", "labels")
	namespace := text(o, "metadata", "namespace")
	if name := labels[drive.WorkloadLabel]; name != "" {
		return namespace + "/" + name
	}
	if name, ok := owner(o)["name"].(string); ok {
		return namespace + "/" + name
	}
	return nameOf(o)
}

// edges are the ends of the buckets of waiting, in seconds.
var edges = []float64{1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800, 3600}

// buckets sorts waits into buckets.
func buckets(waits []float64) []Bucket {
	out := make([]Bucket, len(edges)+1)
	for i, e := range edges {
		out[i].UpTo = e
	}
	for _, s := range waits {
		i, _ := slices.BinarySearch(edges, s)
		out[i].Count++
	}
	return out
}

// Quantile of sorted values: the least that so large a part of them does not exceed.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
