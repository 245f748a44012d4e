package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func cluster(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

func deployment(namespace, name, image string, env map[string]string, args ...string) *appsv1.Deployment {
	l := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: l}}}
	c := corev1.Container{Name: "c", Image: image, Args: args}
	for k, v := range env {
		c.Env = append(c.Env, corev1.EnvVar{Name: k, Value: v})
	}
	d.Spec.Template.Labels = l
	d.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{c}}
	d.Status.ReadyReplicas = 1
	return d
}

func daemon(namespace, name, image string, env map[string]string) *appsv1.DaemonSet {
	d := deployment(namespace, name, image, env)
	return &appsv1.DaemonSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.DaemonSetSpec{Template: d.Spec.Template}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3}}
}

func TestControllersAreFoundByTheirSettings(t *testing.T) {
	stopped := deployment("a", "stopped", "karpenter", map[string]string{"CLUSTER_NAME": "x"})
	stopped.Spec.Replicas = new(int32(0))
	referred := deployment("b", "referred", "my/kerf", map[string]string{"CLUSTER_NAME": "y"})
	referred.Spec.Template.Spec.Containers[0].Env = append(referred.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "INTERRUPTION_QUEUE", ValueFrom: &corev1.EnvVarSource{}})
	o, err := ReadObjects(t.Context(), cluster(t,
		deployment("kube-system", "karpenter", "public.ecr.aws/karpenter/controller:1", map[string]string{"CLUSTER_NAME": "demo", "INTERRUPTION_QUEUE": "q", "ENABLE_ZONAL_SHIFT": "true"}),
		deployment("kerf", "kerf", "kerf:1", nil, "--cluster-name=demo", "--enable-zonal-shift", "--interruption-queue", "q2", "--metrics-port=9000"),
		deployment("web", "web", "nginx", map[string]string{"CLUSTER_NAME": "demo"}),
		stopped, referred,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kerf", Name: "kerf", Annotations: map[string]string{"eks.amazonaws.com/role-arn": "arn:r"}}},
	).Build())
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		Name, Cluster, Queue, Role string
		Port                       int
		Unread, Shift              bool
	}
	var got []found
	for _, c := range o.Controllers {
		got = append(got, found{c.String(), c.ClusterName, c.Queue, c.ServiceAccountRole, c.MetricsPort, c.QueueFrom != "", c.ZonalShift})
	}
	want := []found{
		{"deployment b/referred", "y", "", "", 8080, true, false},
		{"deployment kerf/kerf", "demo", "q2", "arn:r", 9000, false, true},
		{"deployment kube-system/karpenter", "demo", "q", "", 8080, false, true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(o.Stopped) != 1 || o.Stopped[0].Name != "stopped" || o.Stopped[0].ClusterName != "x" {
		t.Errorf("of those that are scaled to zero it found %+v", o.Stopped)
	}
}

func TestAControllerThatIsNotReadySaysWhy(t *testing.T) {
	d := deployment("kerf", "kerf", "kerf:1", map[string]string{"CLUSTER_NAME": "demo", "CLUSTER_ENDPOINT": "https://x", "ISOLATED_VPC": "true"})
	d.Spec.Replicas, d.Status.ReadyReplicas = new(int32(4)), 1
	pod := func(name string, status corev1.PodStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kerf", Name: name, Labels: d.Spec.Selector.MatchLabels}, Status: status}
	}
	o, err := ReadObjects(t.Context(), cluster(t, d,
		pod("crashes", corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}},
		}}}),
		pod("nowhere", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}}),
		pod("ready", corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}),
		pod("slow", corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
		}}}),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kerf", Name: "another"}},
	).Build())
	if err != nil || len(o.Controllers) != 1 {
		t.Fatalf("got %+v, %v", o, err)
	}
	c := o.Controllers[0]
	want := []string{"pod crashes waits: CrashLoopBackOff; it ended with code 2 (Error)", "pod nowhere has no node: 0/3 nodes are available", "pod slow is Running and not ready"}
	if d := cmp.Diff(want, c.Troubles); d != "" || !slices.Equal(c.Ending, []string{"crashes"}) || c.Ready != 1 || c.Wanted != 4 || !c.Endpoint || !c.Isolated {
		t.Errorf("got %+v\n%s", c, d)
	}
}

func TestTheControllerThatRunsTellsTheServiceAccount(t *testing.T) {
	in := &Input{ClusterName: "demo", Kube: &Objects{Controllers: []Controller{
		{Namespace: "old", ClusterName: "demo"}, {Namespace: "other", ClusterName: "blue", Ready: 1}, {Namespace: "new", ClusterName: "demo", Ready: 1},
	}}}
	for namespace, want := range map[string]string{"": "new", "old": "old", "nowhere": ""} {
		if c, ok := in.controller(namespace); c.Namespace != want || ok != (want != "") {
			t.Errorf("in namespace %q it is that of %q", namespace, c.Namespace)
		}
	}
}

func TestTerminationHandlersAndWhatTheyDo(t *testing.T) {
	nth := "public.ecr.aws/aws-ec2/aws-node-termination-handler:v1"
	o, err := ReadObjects(t.Context(), cluster(t,
		daemon("kube-system", "quiet", nth, map[string]string{"ENABLE_SPOT_INTERRUPTION_DRAINING": "false", "ENABLE_SCHEDULED_EVENT_DRAINING": "false"}),
		daemon("kube-system", "usual", nth, nil),
		daemon("kube-system", "eager", nth, map[string]string{"ENABLE_REBALANCE_DRAINING": "true"}),
		deployment("kube-system", "central", nth, map[string]string{"ENABLE_SQS_TERMINATION_DRAINING": "true", "QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/1/demo"}),
	).Build())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range o.Handlers {
		text := h.String()
		for _, part := range []struct {
			on   bool
			name string
		}{{h.Spot, "spot"}, {h.Rebalance, "rebalance"}, {h.Maintenance, "maintenance"}, {h.Queue != "", "queue"}} {
			if part.on {
				text += " " + part.name
			}
		}
		got = append(got, text)
	}
	want := []string{"deployment kube-system/central spot rebalance maintenance queue", "daemonset kube-system/eager spot rebalance maintenance", "daemonset kube-system/quiet", "daemonset kube-system/usual spot maintenance"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBudgetsNodesAndNetwork(t *testing.T) {
	single := deployment("a", "single", "nginx", nil)
	budget := func(name, app string, allowed, healthy, wanted, pods int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: wanted, ExpectedPods: pods},
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{karpv1.NodePoolLabelKey: "p"}}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("29")}}}
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("250")}}}
	o, err := ReadObjects(t.Context(), cluster(t, single, node, foreign,
		budget("fine", "x", 1, 2, 1, 2), budget("empty", "y", 0, 0, 1, 0), budget("single", "single", 0, 1, 1, 1), budget("all", "z", 0, 3, 3, 3), budget("sick", "z", 0, 1, 2, 3),
		daemon("kube-system", "aws-node", "cni", map[string]string{"ENABLE_PREFIX_DELEGATION": "true"}),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "aws-auth"}, Data: map[string]string{"mapRoles": "- rolearn: arn:aws:iam::1:role/n\n  username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]\n"}},
	).Build())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range o.Budgets {
		names = append(names, b.Name+" always="+strings.Join(b.Workloads, ",")+"/"+map[bool]string{true: "yes", false: "no"}[b.Always != ""])
	}
	if d := cmp.Diff([]string{"all always=/yes", "sick always=/no", "single always=deployment single/yes"}, names); d != "" {
		t.Error(d)
	}
	if o.Nodes != 1 || o.MaxPods != 29 || o.CNI == nil || !o.CNI.PrefixDelegation || o.CNI.IPv6 {
		t.Errorf("nodes %d, pods %d, network %+v", o.Nodes, o.MaxPods, o.CNI)
	}
	if d := cmp.Diff([]MappedRole{{"arn:aws:iam::1:role/n", []string{"system:bootstrappers", "system:nodes"}}}, o.AWSAuth); d != "" {
		t.Error(d)
	}
}

func TestAClusterOfWhichPartsMayNotBeRead(t *testing.T) {
	refuse := func(only func(client.ObjectList) bool) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
			if only(l) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not you"))
			}
			return c.List(ctx, l, o...)
		}}
	}
	o, err := ReadObjects(t.Context(), cluster(t).WithInterceptorFuncs(refuse(func(l client.ObjectList) bool { _, is := l.(*policyv1.PodDisruptionBudgetList); return is })).Build())
	if err != nil || len(o.Gaps) != 1 || !strings.Contains(o.Gaps[0], "poddisruptionbudgets: things is forbidden: not you") {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := ReadObjects(t.Context(), cluster(t).WithInterceptorFuncs(refuse(func(client.ObjectList) bool { return true })).Build()); err == nil {
		t.Error("a cluster of which nothing may be read is no error")
	}
}

func TestAClusterThatDoesNotAnswerIsAskedOnce(t *testing.T) {
	asked := 0
	silent := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		asked++
		return errors.New("dial tcp: i/o timeout")
	}}
	if _, err := ReadObjects(t.Context(), cluster(t).WithInterceptorFuncs(silent).Build()); err == nil || !strings.Contains(err.Error(), "i/o timeout") || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestProbesAreCountedThroughForwardedPorts(t *testing.T) {
	page := "# HELP x\nkarpenter_interruption_received_messages_total{message_type=\"doctor_probe\"} 2\nkarpenter_interruption_received_messages_total{message_type=\"no_op\"} 40\n"
	if got := countProbes(page + "karpenter_interruption_received_messages_total{a=\"b\",message_type=\"doctor_probe\"} 3e+00\n"); got != 5 {
		t.Errorf("counted %d, want 5", got)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/kerf/pods":
			if r.URL.Query().Get("labelSelector") != "app=kerf" {
				t.Errorf("pods are asked for with %s", r.URL.RawQuery)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"one"},"status":{"phase":"Running"}},{"metadata":{"name":"two"},"status":{"phase":"Pending"}}]}`))
		case "/metrics":
			_, _ = w.Write([]byte(page))
		default:
			t.Errorf("asked for %s", r.URL.Path)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	api, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	stopped := 0
	forward := func(_ context.Context, pod *corev1.Pod) (string, func(), error) {
		if pod.Name != "one" {
			t.Errorf("the port of pod %s is forwarded", pod.Name)
		}
		return srv.URL, func() { stopped++ }, nil
	}
	n, err := probesCounted(t.Context(), api, forward, Controller{Namespace: "kerf", Name: "kerf", Labels: map[string]string{"app": "kerf"}, MetricsPort: 8080})
	if err != nil || n != 2 || stopped != 1 {
		t.Errorf("counted %d, %v; %d ports were given back", n, err, stopped)
	}
}

func TestNodeClaimsAreRead(t *testing.T) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-x"}}
	o, err := ReadObjects(t.Context(), cluster(t, claim).Build())
	if err != nil || len(o.Claims) != 1 || o.Claims[0].Name != "default-x" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestNamesComeFromTheCluster(t *testing.T) {
	in, err := Look(t.Context(), Options{NoAWS: errors.New("no region"), Kube: cluster(t, deployment("kube-system", "karpenter", "karpenter:1", map[string]string{"CLUSTER_NAME": "blue", "INTERRUPTION_QUEUE": "q"})).Build()})
	if err != nil || in.ClusterName != "blue" || in.Queue != "q" || in.QueueFrom != "deployment kube-system/karpenter" || in.NoAWS != "no region" {
		t.Errorf("got %+v, %v", in, err)
	}
	if _, err := Look(t.Context(), Options{NoAWS: errors.New("no region"), Kube: cluster(t).Build()}); err == nil || !strings.Contains(err.Error(), "--cluster-name") {
		t.Errorf("without any name: %v", err)
	}
	if _, err := Look(t.Context(), Options{ClusterName: "x", NoAWS: errors.New("no region"), NoKube: errors.New("no kubeconfig")}); err == nil || !strings.Contains(err.Error(), "no region") || !strings.Contains(err.Error(), "no kubeconfig") {
		t.Errorf("without either half: %v", err)
	}
}
