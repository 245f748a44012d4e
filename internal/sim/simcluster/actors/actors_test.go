package actors_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/kubesim"
	"github.com/kerf-sh/kerf/internal/sim/memnet"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
)

// place is a cluster with a actors, and nothing else.
type place struct {
	*testing.T
	kubernetes.Interface
}

func inPlace(t *testing.T, story func(p *place)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := kubesim.New(kubesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var n memnet.Network
		l, err := n.Listen("api:80")
		if err != nil {
			t.Fatal(err)
		}
		web := &http.Server{Handler: s}
		go func() { _ = web.Serve(l) }()
		transport := &http.Transport{DialContext: n.Dial}
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", QPS: -1, Transport: transport, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := actors.Start(t.Context(), actors.Options{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		story(&place{t, client})
		c.Stop()
		s.Close()
		_ = web.Close()
		transport.CloseIdleConnections()
	})
}

func (p *place) node(name, zone string, change ...func(*corev1.Node)) {
	p.Helper()
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone}},
		Status:     corev1.NodeStatus{Allocatable: room, Capacity: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, f := range change {
		f(n)
	}
	if _, err := p.CoreV1().Nodes().Create(p.Context(), n, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
}

func (p *place) pod(name, cpu string, change ...func(*corev1.Pod)) {
	p.Helper()
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": strings.TrimRight(name, "0123456789")}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}},
	}
	for _, f := range change {
		f(o)
	}
	if _, err := p.CoreV1().Pods("default").Create(p.Context(), o, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	time.Sleep(2 * time.Second) // pods come one after the other, so that each has its turn
}

// nominate asks the scheduler to try a node first.
func (p *place) nominate(pod, node string) {
	p.Helper()
	patch := fmt.Appendf(nil, `{"status":{"nominatedNodeName":%q}}`, node)
	if _, err := p.CoreV1().Pods("default").Patch(p.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		p.Fatal(err)
	}
	time.Sleep(time.Second)
}

func (p *place) nominated(pod string) string {
	p.Helper()
	o, err := p.CoreV1().Pods("default").Get(p.Context(), pod, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return o.Status.NominatedNodeName
}

// pods tells where each pod is, as "name on node" or "name waits".
func (p *place) pods() []string {
	p.Helper()
	list, err := p.CoreV1().Pods("").List(p.Context(), metav1.ListOptions{})
	if err != nil {
		p.Fatal(err)
	}
	var out []string
	for _, o := range list.Items {
		switch {
		case o.Spec.NodeName != "":
			out = append(out, o.Name+" on "+o.Spec.NodeName)
		case slices.ContainsFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable }):
			out = append(out, o.Name+" waits")
		default:
			out = append(out, o.Name+" is not looked at")
		}
	}
	return out
}

func (p *place) want(pods ...string) {
	p.Helper()
	if d := cmp.Diff(pods, p.pods()); d != "" {
		p.Error(d)
	}
}

func TestTheSchedulerKeepsToTheRules(t *testing.T) {
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	}
	tolerant := func(o *corev1.Pod) {
		o.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	}
	zonal := func(skew int32) func(*corev1.Pod) {
		return func(o *corev1.Pod) {
			o.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: skew, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: o.Labels},
			}}
		}
	}
	near := func(app, key string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	}
	with := func(app, key string) func(*corev1.Pod) {
		return func(o *corev1.Pod) {
			o.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near(app, key)}}
		}
	}
	apart := func(app, key string) func(*corev1.Pod) {
		return func(o *corev1.Pod) {
			o.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near(app, key)}}
		}
	}
	in := func(zone string) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
	}
	port := func(o *corev1.Pod) {
		o.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	for name, story := range map[string]func(p *place){
		"a pod goes where most room is left": func(p *place) {
			p.node("n1", "a")
			p.node("n2", "a")
			p.pod("x1", "2")
			p.pod("x2", "1")
			p.pod("x3", "1")
			p.pod("x4", "3")
			p.want("x1 on n1", "x2 on n2", "x3 on n2", "x4 waits")
		},
		"a node that is not ready takes nobody": func(p *place) {
			p.node("n1", "a", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
			p.pod("x", "1")
			p.want("x waits")
		},
		"a cordoned node takes nobody": func(p *place) {
			p.node("n1", "a", func(n *corev1.Node) { n.Spec.Unschedulable = true })
			p.pod("x", "1")
			p.want("x waits")
		},
		"a tainted node takes who tolerates it": func(p *place) {
			p.node("n1", "a", tainted)
			p.pod("x", "1")
			p.pod("y", "1", tolerant)
			p.want("x waits", "y on n1")
		},
		"a selector is kept": func(p *place) {
			p.node("n1", "a")
			p.node("n2", "b")
			p.pod("x1", "1", in("b"))
			p.pod("x2", "1", in("b"))
			p.pod("x3", "1", in("c"))
			p.want("x1 on n2", "x2 on n2", "x3 waits")
		},
		"a spread is kept, and full zones hold it up": func(p *place) {
			p.node("n1", "a")
			p.node("n2", "b", func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1") })
			for i := range 4 {
				p.pod(fmt.Sprint("x", i), "1", zonal(1))
			}
			p.want("x0 on n1", "x1 on n2", "x2 on n1", "x3 waits")
		},
		"who must be together is together, the first anywhere": func(p *place) {
			p.node("n1", "a")
			p.node("n2", "b")
			p.pod("x1", "3", with("x", corev1.LabelTopologyZone))
			p.pod("x2", "1", with("x", corev1.LabelTopologyZone))
			p.pod("x3", "1", with("x", corev1.LabelTopologyZone))
			p.pod("y", "1", with("z", corev1.LabelTopologyZone))
			p.want("x1 on n1", "x2 on n1", "x3 waits", "y waits")
		},
		"who must be apart is apart, both ways": func(p *place) {
			p.node("n1", "a")
			p.node("n2", "b")
			p.pod("x1", "1", apart("x", corev1.LabelHostname))
			p.pod("x2", "1", apart("x", corev1.LabelHostname))
			p.pod("x3", "1", apart("x", corev1.LabelHostname))
			p.pod("y1", "1", apart("z", corev1.LabelHostname))
			p.pod("z1", "1")
			p.want("x1 on n1", "x2 on n2", "x3 waits", "y1 on n1", "z1 on n2")
		},
		"a pod goes where it is nominated to, and its room is held until it comes": func(p *place) {
			p.pod("x1", "3")
			p.pod("x2", "2")
			p.want("x1 waits", "x2 waits")
			p.nominate("x2", "n1")
			p.node("n1", "a")
			p.node("n2", "a")
			time.Sleep(time.Second)
			p.want("x1 on n2", "x2 on n1")
		},
		"a pod whose node takes nobody loses it when another comes, not before": func(p *place) {
			p.pod("x", "5")
			p.node("n1", "a", tainted)
			p.nominate("x", "n1")
			if n := p.nominated("x"); n != "n1" {
				p.Errorf("x is nominated to %q, want n1", n)
			}
			p.node("n2", "a")
			time.Sleep(time.Second)
			if n := p.nominated("x"); n != "" {
				p.Errorf("x is nominated to %q, want nothing", n)
			}
		},
		"a port of the node is given once": func(p *place) {
			p.node("n1", "a")
			p.pod("x1", "1", port)
			p.pod("x2", "1", port)
			p.want("x1 on n1", "x2 waits")
		},
		"a gate keeps a pod back": func(p *place) {
			p.node("n1", "a")
			p.pod("x", "1", func(o *corev1.Pod) { o.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })
			p.want("x is not looked at")
		},
		"who waits is looked at again when there is room": func(p *place) {
			p.pod("x", "1")
			p.want("x waits")
			p.node("n1", "a")
			time.Sleep(time.Second)
			p.want("x on n1")
		},
	} {
		t.Run(name, func(t *testing.T) { inPlace(t, story) })
	}
}

func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		},
	}
}

func TestEvictedPodsComeBackAsFastAsTheirBudgetLetsThemGo(t *testing.T) {
	inPlace(t, func(p *place) {
		p.node("n1", "a")
		if _, err := p.AppsV1().Deployments("default").Create(p.Context(), deployment(4), metav1.CreateOptions{}); err != nil {
			p.Fatal(err)
		}
		one := intstr.FromInt32(1)
		if _, err := p.PolicyV1().PodDisruptionBudgets("default").Create(p.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}, metav1.CreateOptions{}); err != nil {
			p.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		first := p.names()
		if len(first) != 4 {
			p.Fatalf("pods: %v", first)
		}
		refused := 0
		for _, name := range first {
			for {
				err := p.CoreV1().Pods("default").EvictV1(p.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}})
				if err == nil {
					break
				}
				if !apierrors.IsTooManyRequests(err) {
					p.Fatal(err)
				}
				refused++
				time.Sleep(500 * time.Millisecond)
			}
		}
		if refused < 3 {
			p.Errorf("four evictions under a budget of one were refused %d times", refused)
		}
		time.Sleep(5 * time.Second)
		now := p.names()
		if len(now) != 4 || slices.ContainsFunc(now, func(n string) bool { return slices.Contains(first, n) }) {
			p.Errorf("pods %v after the eviction of %v", now, first)
		}
	})
}

func (p *place) names() []string {
	var out []string
	for _, text := range p.pods() {
		name, _, _ := strings.Cut(text, " ")
		out = append(out, name)
	}
	return out
}

func TestPodsOfADeletedDeploymentGo(t *testing.T) {
	inPlace(t, func(p *place) {
		p.node("n1", "a")
		if _, err := p.AppsV1().Deployments("default").Create(p.Context(), deployment(3), metav1.CreateOptions{}); err != nil {
			p.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := p.AppsV1().Deployments("default").Delete(p.Context(), "web", metav1.DeleteOptions{}); err != nil {
			p.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if left := p.pods(); len(left) > 0 {
			p.Errorf("left: %v", left)
		}
	})
}

func TestANodeThatIsNotReadyLosesItsPodsAfterFiveMinutes(t *testing.T) {
	inPlace(t, func(p *place) {
		p.node("n1", "a")
		p.pod("x", "1")
		patch := `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`
		if _, err := p.CoreV1().Nodes().Patch(p.Context(), "n1", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			p.Fatal(err)
		}
		going := func() bool {
			o, err := p.CoreV1().Pods("default").Get(context.WithoutCancel(p.Context()), "x", metav1.GetOptions{})
			return err == nil && o.DeletionTimestamp != nil
		}
		time.Sleep(290 * time.Second)
		if going() {
			p.Error("it goes early")
		}
		time.Sleep(15 * time.Second)
		if !going() {
			p.Error("it stays")
		}
	})
}

// As at the real ones, whose queues keep that order: who loses a pod first has the next one first, and it is scheduled first.
func TestWhatIsEvictedFirstComesBackFirst(t *testing.T) {
	inPlace(t, func(p *place) {
		p.node("n1", "a")
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			d := deployment(1)
			d.Name, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = name, map[string]string{"app": name}, map[string]string{"app": name}
			d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
			if _, err := p.AppsV1().Deployments("default").Create(p.Context(), d, metav1.CreateOptions{}); err != nil {
				p.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		if _, err := p.CoreV1().Nodes().Patch(p.Context(), "n1", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
			p.Fatal(err)
		}
		pods := p.names()
		slices.SortFunc(pods, func(a, b string) int { return strings.Index("dbeac", a[:1]) - strings.Index("dbeac", b[:1]) })
		for _, name := range pods {
			if err := p.CoreV1().Pods("default").EvictV1(p.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				p.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		p.node("n2", "a", func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1") })
		time.Sleep(2 * time.Second)
		var placed []string
		for _, text := range p.pods() {
			if strings.HasSuffix(text, " on n2") {
				placed = append(placed, text[:1])
			}
		}
		if d := cmp.Diff([]string{"b", "d"}, placed); d != "" {
			p.Errorf("evicted were d, b, e, a, c, and there is room for two: %s", d)
		}
	})
}
