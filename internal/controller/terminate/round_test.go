package terminate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// ward is a node that is going away, with its claim, and an API that notes what is asked of its pods and does not do it:
// what is not in the cache yet must not be asked for twice.
type ward struct {
	cloud.Provider
	*Nodes
	*testing.T
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder

	mu       sync.Mutex
	calls    []string                    // "evict a", "evict a 30", "delete a 30"
	refuse   map[string]error            // answers to evictions and deletions by pod
	eviction func(context.Context) error // the answer to evictions of pods whose instance ends, where it is set
	deaf     error                       // the cloud's answer to Get
	state    string                      // the instance's, as the cloud says it
	instance []string                    // terminated
	launched *cloud.Instance             // that was launched for the claim, by whoever
	unknown  bool                        // whether it was is not known
}

type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

func (w *ward) Get(context.Context, string) (*cloud.Instance, error) {
	return &cloud.Instance{State: w.state}, w.deaf
}

func (w *ward) Find(ctx context.Context, _ *karpv1.NodeClaim) (*cloud.Instance, error) {
	switch {
	case w.unknown:
		<-ctx.Done()
		return nil, ctx.Err()
	case w.launched != nil:
		return w.launched, nil
	}
	return nil, &cloud.Error{Op: "looking", Class: cloud.NotFound, Err: errors.New("none")}
}

func (w *ward) Terminate(_ context.Context, id string) error {
	w.instance = append(w.instance, id)
	return nil
}

func (w *ward) note(pod, call string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	return w.refuse[pod]
}

// admit puts pods on a node that was deleted at noon, by whose claim it ends in; 0 for never.
func admit(t *testing.T, ends time.Duration, pods ...corev1.Pod) *ward {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme), policyv1.AddToScheme(scheme), karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &ward{T: t, clock: clocktesting.NewFakeClock(noon), events: record.NewFakeRecorder(1000), refuse: map[string]error{}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", DeletionTimestamp: &metav1.Time{Time: noon}, Finalizers: []string{karpv1.TerminationFinalizer}}}
	node.Spec.ProviderID = "aws:///z/i-1"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", DeletionTimestamp: &metav1.Time{Time: noon}, Finalizers: []string{karpv1.TerminationFinalizer}}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ProviderID = node.Spec.ProviderID
	if ends != 0 {
		claim.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: noon.Add(ends).Format(time.RFC3339)}
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(node, claim).WithStatusSubresource(claim).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, _ client.Client, sub string, o, e client.Object, _ ...client.SubResourceCreateOption) error {
			with := e.(*policyv1.Eviction).DeleteOptions
			if sub != "eviction" || *with.Preconditions.UID != o.GetUID() {
				t.Errorf("%s of %s with %+v", sub, o.GetName(), with)
			}
			call := "evict " + o.GetName()
			if with.GracePeriodSeconds != nil {
				call += fmt.Sprint(" ", *with.GracePeriodSeconds)
				if w.eviction != nil {
					return errors.Join(w.note("", call), w.eviction(ctx))
				}
			}
			return w.note(o.GetName(), call)
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			var all client.DeleteOptions
			all.ApplyOptions(opts)
			if all.Preconditions == nil || *all.Preconditions.UID != o.GetUID() {
				t.Errorf("deletion of %s with %+v", o.GetName(), all)
			}
			return w.note(o.GetName(), fmt.Sprint("delete ", o.GetName(), " ", *all.GracePeriodSeconds))
		},
	})
	for i := range pods {
		p := &pods[i]
		p.Spec.NodeName, p.UID, p.Status.Phase = "n", types.UID("uid-"+p.Name), corev1.PodRunning
		if p.DeletionTimestamp != nil {
			p.Finalizers = []string{"x/y"} // the stand-in for the API server wants one
		}
		b = b.WithObjects(p)
	}
	if err := index.Add(t.Context(), indexer{b}); err != nil {
		t.Fatal(err)
	}
	w.Nodes = &Nodes{Client: b.Build(), Cloud: w, Recorder: w.events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: w.clock}
	return w
}

// look reconciles once at a time after noon and returns what was asked of pods, in order, and when it wants to look again.
func (w *ward) look(at time.Duration) (calls []string, after time.Duration) {
	w.Helper()
	w.clock.SetTime(noon.Add(at))
	w.calls = nil
	result, err := w.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	if err != nil {
		w.Error(err)
	}
	slices.Sort(w.calls)
	return w.calls, result.RequeueAfter
}

func (w *ward) claim() *karpv1.NodeClaim {
	w.Helper()
	c := &karpv1.NodeClaim{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "c"}, c); err != nil {
		w.Fatal(err)
	}
	return c
}

func held(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: value}
		p.Status.StartTime = &metav1.Time{Time: noon.Add(-time.Minute)}
	}
}

func takes(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// ending is a pod that ends by itself at a time after noon.
func ending(at time.Duration, grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: noon.Add(at)}, &grace
	}
}

func TestALookAtADrain(t *testing.T) {
	for name, c := range map[string]struct {
		pods  []corev1.Pod
		ends  time.Duration
		at    time.Duration
		want  []string
		after time.Duration
	}{
		"asks for the eviction of the first group":                 {[]corev1.Pod{pod("a"), pod("b"), pod("d", ownedBy("apps/v1", "DaemonSet"))}, 0, 0, []string{"evict a", "evict b"}, answers},
		"waits for a pod that is ending, and not for long":         {[]corev1.Pod{pod("a", ending(30*time.Second, 30)), pod("d", ownedBy("apps/v1", "DaemonSet"))}, 0, 0, nil, 30*time.Second + stuck},
		"goes on with the next group when that is stuck":           {[]corev1.Pod{pod("a", ending(30*time.Second, 30)), pod("d", ownedBy("apps/v1", "DaemonSet"))}, 0, 30*time.Second + stuck, []string{"evict d"}, answers},
		"leaves alone what must not be disrupted":                  {[]corev1.Pod{pod("a", held("true")), pod("b")}, 0, 0, []string{"evict b"}, answers},
		"comes back when the protection ends":                      {[]corev1.Pod{pod("a", held("3m"))}, 0, 0, nil, 2 * time.Minute},
		"evicts then":                                              {[]corev1.Pod{pod("a", held("3m"))}, 0, 2 * time.Minute, []string{"evict a"}, answers},
		"comes back in time for a pod's own grace period":          {[]corev1.Pod{pod("a", held("true"), takes(90))}, 5 * time.Minute, 0, nil, 210*time.Second + time.Millisecond},
		"evicts it then, so that it ends with the instance":        {[]corev1.Pod{pod("a", held("true"), takes(90))}, 5 * time.Minute, 211 * time.Second, []string{"evict a 89"}, answers},
		"has pods of all groups end":                               {[]corev1.Pod{pod("a", takes(90)), pod("d", ownedBy("apps/v1", "DaemonSet"), takes(600))}, 5 * time.Minute, 0, []string{"evict a", "evict d 300"}, answers},
		"shortens what was to end too late":                        {[]corev1.Pod{pod("a", ending(10*time.Minute, 600))}, 2 * time.Minute, 0, []string{"delete a 120"}, answers},
		"lets be what ends in time":                                {[]corev1.Pod{pod("a", ending(time.Minute, 60))}, 2 * time.Minute, 0, nil, 2 * time.Minute},
		"does not repeat the last second":                          {[]corev1.Pod{pod("a", ending(61*time.Second, 1))}, time.Minute, 61 * time.Second, nil, 10 * time.Second},
		"gives a grace period of nothing one second":               {[]corev1.Pod{pod("a")}, time.Second, time.Second, []string{"evict a 1"}, answers},
		"does not wait long after the end for a kubelet":           {[]corev1.Pod{pod("a", ending(time.Minute, 30)), pod("b")}, time.Minute, time.Minute + overdue, []string{"evict b 1"}, answers},
		"ends a minute after the instance's end whatever is there": {[]corev1.Pod{pod("a")}, time.Minute, time.Minute + stuck, nil, poll},
		"without pods it waits for those that were just bound":     {nil, 0, 2 * time.Second, nil, 3 * time.Second},
		"without pods and time does not":                           {nil, time.Second, 2 * time.Second, nil, poll},
		"does not hold a pod to an annotation that can't be read":  {[]corev1.Pod{pod("a", held("soon"))}, 0, 0, []string{"evict a"}, answers},
		"leaves the critical, whatever the name of their class is": {[]corev1.Pod{pod("a", priority(criticalPriority)), pod("b")}, 0, 0, []string{"evict b"}, answers},
	} {
		t.Run(name, func(t *testing.T) {
			w := admit(t, c.ends, c.pods...)
			w.tainted(noon)
			calls, after := w.look(c.at)
			if diff := cmp.Diff(c.want, calls); diff != "" || after != c.after {
				t.Errorf("looks again after %s, want %s (-want +got):\n%s", after, c.after, diff)
			}
		})
	}
}

// tainted gives the node its taint.
func (w *ward) tainted(at time.Time) {
	w.Helper()
	node := &corev1.Node{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
		w.Fatal(err)
	}
	taint := karpv1.DisruptedNoScheduleTaint()
	taint.TimeAdded = &metav1.Time{Time: at}
	node.Spec.Taints, node.Labels = []corev1.Taint{taint}, map[string]string{karpv1.ExcludeBalancersLabelKey: karpv1.ExcludeBalancersLabelValue}
	if err := w.Client.Update(w.Context(), node); err != nil {
		w.Fatal(err)
	}
}

func TestADrainAsksOnlyOnce(t *testing.T) {
	w := admit(t, time.Hour, pod("a"), pod("b", takes(3600)))
	w.refuse["b"] = errors.New("a webhook says no")
	for _, step := range []struct {
		at   time.Duration
		want []string
	}{
		{time.Second, []string{"delete b 3599", "evict a", "evict b 3599"}},
		{time.Second, nil}, // an event of another pod
		{time.Second + repeat, []string{"delete b 3597", "evict b 3597"}},
		{time.Second + answers, []string{"delete b 3589", "evict a", "evict b 3589"}},
	} {
		if calls, _ := w.look(step.at); !slices.Equal(calls, step.want) {
			t.Errorf("after %s it asked for %v, want %v", step.at, calls, step.want)
		}
	}
	// The instance's end comes nearer.
	claim := w.claim()
	if _, err := deadline.Mark(t.Context(), w.Client, claim, noon, noon.Add(2*time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	if calls, _ := w.look(12 * time.Second); !slices.Equal(calls, []string{"delete b 108", "evict b 108"}) {
		t.Errorf("with a sooner end it asked for %v", calls)
	}
}

func TestOnePodHoldsUpNoOther(t *testing.T) {
	pods := []corev1.Pod{pod("held", held("true"))}
	for i := range 30 {
		pods = append(pods, pod(fmt.Sprintf("p%02d", i)))
	}
	w := admit(t, 0, pods...)
	w.refuse["p00"] = apierrors.NewForbidden(corev1.Resource("pods"), "p00", errors.New("a policy says no"))
	calls, after := w.look(0)
	if len(calls) != 30 || after != repeat {
		t.Errorf("%d evictions, then %s", len(calls), after)
	}
	if calls, _ := w.look(repeat); !slices.Equal(calls, []string{"evict p00"}) {
		t.Errorf("then %v", calls)
	}
	var said []string
	for len(w.events.Events) > 0 {
		if e := <-w.events.Events; strings.Contains(e, "FailedDraining") {
			said = append(said, e)
		}
	}
	stalls := w.Stalls()
	if len(stalls) != 1 || !strings.Contains(stalls[0].Text, "pod x/held can't be evicted") || stalls[0].Reason != "" || !stalls[0].Since.Equal(w.Clock.Now().Add(-repeat)) {
		t.Errorf("stalls: %+v", stalls)
	}
	remembered, _ := w.memories.Load("n")
	remembered.(*memory).free(nil)
	if stalls := w.Stalls(); len(stalls) != 0 {
		t.Errorf("the pod is gone, and stalls are %+v", stalls)
	}
	want := "Warning FailedDraining pod x/held can't be evicted: its annotation karpenter.sh/do-not-disrupt forbids it; one more can't either"
	if !slices.Equal(said, []string{want, want, want, want}) { // on the node and its claim, at both looks
		t.Errorf("%q", said)
	}
}

func TestADrainBeginsWithTheTaint(t *testing.T) {
	w := admit(t, 0)
	// The node was deleted a minute ago, while no leader was there.
	_, after := w.look(time.Minute)
	node := &corev1.Node{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
		t.Fatal(err)
	}
	if after != settle || len(w.instance) != 0 || node.Labels[karpv1.ExcludeBalancersLabelKey] != "karpenter" || !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey }) {
		t.Errorf("looks again after %s, ended %v, labels %v, taints %v", after, w.instance, node.Labels, node.Spec.Taints)
	}
	if c := w.claim().StatusConditions().Get(karpv1.ConditionTypeDrained); c == nil || c.Reason != karpv1.ReasonDraining {
		t.Errorf("condition %+v", c)
	}
	w.look(time.Minute + settle)
	for _, cond := range []string{karpv1.ConditionTypeDrained, karpv1.ConditionTypeVolumesDetached, karpv1.ConditionTypeInstanceTerminating} {
		if !w.claim().StatusConditions().IsTrue(cond) {
			t.Errorf("%s is not true", cond)
		}
	}
	if !slices.Equal(w.instance, []string{"aws:///z/i-1"}) {
		t.Errorf("ended %v", w.instance)
	}
}

// A command puts the taint on a node some seconds before it deletes it: the scheduler has seen it by then.
func TestADrainCountsFromTheTaintOfTheCommand(t *testing.T) {
	for sentence, tt := range map[string]struct {
		tainted *metav1.Time
		ended   bool
	}{
		"five seconds ago":                  {&metav1.Time{Time: noon}, true},
		"a moment ago":                      {&metav1.Time{Time: noon.Add(4 * time.Second)}, false},
		"by a clock that is ahead":          {&metav1.Time{Time: noon.Add(time.Hour)}, false},
		"nobody knows when, so it does now": {nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := admit(t, 0)
			node := &corev1.Node{}
			if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
				t.Fatal(err)
			}
			taint := karpv1.DisruptedNoScheduleTaint()
			taint.TimeAdded = tt.tainted
			node.Spec.Taints = []corev1.Taint{taint}
			if err := w.Client.Update(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			if w.look(settle); len(w.instance) > 0 != tt.ended {
				t.Errorf("ended %v", w.instance)
			}
			if w.look(2 * settle); len(w.instance) == 0 {
				t.Error("the instance is not ended after the taint has stood for long enough")
			}
		})
	}
}

func TestAPodThatComesDuringTheDrainLeavesToo(t *testing.T) {
	w := admit(t, 0)
	w.look(0)
	late := pod("late")
	late.Spec.NodeName, late.UID = "n", "late"
	if err := w.Client.Create(t.Context(), &late); err != nil {
		t.Fatal(err)
	}
	if calls, _ := w.look(4 * time.Second); !slices.Equal(calls, []string{"evict late"}) {
		t.Errorf("asked for %v", calls)
	}
	if w.look(settle); len(w.instance) != 0 {
		t.Error("the instance was ended under it")
	}
}

func TestADeafCloudHoldsUpNoDrain(t *testing.T) {
	w := admit(t, 0, pod("a"))
	node := &corev1.Node{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	if err := w.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	w.deaf = errors.New("throttled")
	if calls, _ := w.look(0); !slices.Equal(calls, []string{"evict a"}) {
		t.Errorf("asked for %v", calls)
	}
	w.deaf = &cloud.Error{Class: cloud.NotFound, Err: errors.New("it does not exist")}
	w.asks.of = map[string]*ask{node.Spec.ProviderID: {done: make(chan struct{})}} // its end was asked for before
	w.look(time.Second)
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "n"}, node); !apierrors.IsNotFound(err) {
		t.Errorf("the node of an instance that is gone stays: %v", err)
	}
	if n := len(w.asks.of); n != 0 {
		t.Errorf("%d asks are kept of an instance that is gone", n)
	}
}

func TestTiedPodsGoFirstAndThenTheLargest(t *testing.T) {
	asks := func(name, cpu, memory string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}}}
		return p
	}
	pods := []*corev1.Pod{asks("small", "100m", "64Mi"), asks("memory", "250m", "16Gi"), asks("cores", "3", "1Gi"), asks("other-small", "100m", "64Mi")}
	for name, tie := range map[string]func(*corev1.PodSpec){
		"selector": func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": "a"} },
		"spread": func(s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
		},
		"apart": func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, 1)}}
		},
		"volume": func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		},
	} {
		p := asks(name, "50m", "64Mi")
		tie(&p.Spec)
		if all := append(slices.Clone(pods), p); inOrder(all) != 1 || all[0] != p {
			t.Errorf("%s: %s goes first", name, all[0].Name)
		}
		// The engine, which goes by classes, counts on the same order. A volume that is not there has no class that could be placed.
		if class := intake.NewCompiler().Class(p, intake.NoLookup{}); !class.Tied() && class.Unplaceable == "" {
			t.Errorf("%s: the engine counts on others to go first", name)
		}
	}
	soft := asks("soft", "50m", "64Mi")
	soft.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.ScheduleAnyway}}
	pods = append(pods, soft)
	if tied := inOrder(pods); tied != 0 {
		t.Errorf("%d pods are tied", tied)
	}
	for _, p := range pods {
		if intake.NewCompiler().Class(p, intake.NoLookup{}).Tied() {
			t.Errorf("%s: the engine counts on it to go first", p.Name)
		}
	}
	var got []string
	for _, p := range pods {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"memory", "cores", "small", "other-small", "soft"}, got); diff != "" {
		t.Error(diff)
	}
}

// The nodes of one command evict what few nodes suit before anything else, and no longer than it takes.
func TestDrainsOfACommandWaitForEachOthersTiedPods(t *testing.T) {
	w := admit(t, 0, pod("free"), pod("free-too"))
	mark := func(name, command, cause string) {
		n := &corev1.Node{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, n); err != nil {
			n = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
			if err := w.Client.Create(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		n.Annotations = map[string]string{"kerf.sh/disruption-command": command}
		if cause != "" {
			n.Annotations["kerf.sh/disrupting"] = cause
		}
		if err := w.Client.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	mark("n", "one", "Underutilized")
	mark("another", "two", "Underutilized")
	mark("replacement", "one", "") // it stays
	mark("other", "one", "Underutilized")
	if calls, after := w.look(0); len(calls) != 0 || after != othersAgain {
		t.Errorf("before the other drain was looked at: %v, again in %s", calls, after)
	}
	other := &memory{uid: "other"}
	other.tied.Store(2)
	w.memories.Store("other", other)
	if calls, after := w.look(othersAgain); len(calls) != 0 || after != othersAgain {
		t.Errorf("while the other has pods to evict first: %v, again in %s", calls, after)
	}
	other.tied.Store(0)
	if calls, _ := w.look(2 * othersAgain); len(calls) != 2 {
		t.Errorf("when they have been asked for: %v", calls)
	}
}

func TestADrainWaitsForOthersForAMomentOnly(t *testing.T) {
	w := admit(t, 0, pod("free"))
	for _, name := range []string{"n", "other"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		if name == "n" {
			if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, n); err != nil {
				t.Fatal(err)
			}
		} else if err := w.Client.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		n.Annotations = map[string]string{"kerf.sh/disruption-command": "one", "kerf.sh/disrupting": "Underutilized"}
		if err := w.Client.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if calls, _ := w.look(0); len(calls) != 0 {
		t.Errorf("at first: %v", calls)
	}
	if calls, _ := w.look(together); len(calls) != 1 {
		t.Errorf("after %s: %v", together, calls)
	}
}

// The successors of evicted pods are scheduled in the order of the evictions, so that this has to be the one that was chosen.
func TestEvictionsAreAskedForInTurn(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 3 * atOnce {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%02d", i)}})
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var begun []string
		first := time.Now()
		err := each(pods, func() <-chan time.Time { return time.After(lag) }, func(p *corev1.Pod) error {
			mu.Lock()
			begun = append(begun, p.Name)
			mu.Unlock()
			if p.Name == "p01" {
				time.Sleep(unanswered)
				return errors.New("no answer")
			}
			return nil
		})
		if err == nil || len(begun) != len(pods) || !slices.IsSorted(begun) {
			t.Errorf("in the order %v: %v", begun, err)
		}
		if took := time.Since(first); took != unanswered {
			t.Errorf("one that is not answered held the others up: %s", took)
		}
	})
}

// TestWhyANodeIsRemoved: what Kerf chose, and else that its pods are forced to leave.
func TestWhyANodeIsRemoved(t *testing.T) {
	chosen := &karpv1.NodeClaim{}
	chosen.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Underutilized", "cheaper")
	for want, claim := range map[string]*karpv1.NodeClaim{"Underutilized": chosen, "": {}} {
		if got := disrupted(claim); got != want {
			t.Errorf("it is removed for %q, want %q", got, want)
		}
	}
	if disrupted(nil) != "" || reason(chosen) != "Underutilized" || reason(nil) != "Forceful Termination" {
		t.Errorf("reasons are %q and %q", reason(chosen), reason(nil))
	}
}
