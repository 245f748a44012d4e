package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/settings"
)

// ReadObjects reads what is judged of a cluster. What may not be read is a gap; only if nothing can be read is it an error.
func ReadObjects(ctx context.Context, c client.Reader) (*Objects, error) {
	r := &kubeReader{c: c, o: &Objects{}}
	var deployments appsv1.DeploymentList
	first := r.list(ctx, "deployments", &deployments)
	if status := apierrors.APIStatus(nil); first != nil && !errors.As(first, &status) {
		return nil, fmt.Errorf("reading the cluster: %w", first) // nobody is there, and the others would each wait as long
	}
	var sets appsv1.StatefulSetList
	_ = r.list(ctx, "statefulsets", &sets)
	var daemons appsv1.DaemonSetList
	_ = r.list(ctx, "daemonsets", &daemons)
	var budgets policyv1.PodDisruptionBudgetList
	_ = r.list(ctx, "poddisruptionbudgets", &budgets)
	var nodes corev1.NodeList
	_ = r.list(ctx, "nodes", &nodes, client.HasLabels{karpv1.NodePoolLabelKey})
	var classes awsv1.EC2NodeClassList
	_ = r.list(ctx, "ec2nodeclasses", &classes)
	var pools karpv1.NodePoolList
	_ = r.list(ctx, "nodepools", &pools)
	var claims karpv1.NodeClaimList
	_ = r.list(ctx, "nodeclaims", &claims)
	if first != nil && r.read == 0 {
		return nil, fmt.Errorf("reading the cluster: %w", first)
	}
	r.o.Classes, r.o.Pools, r.o.Claims = classes.Items, pools.Items, claims.Items
	for i := range deployments.Items {
		r.deployment(ctx, &deployments.Items[i])
	}
	for i := range daemons.Items {
		r.daemonSet(&daemons.Items[i])
	}
	for i := range budgets.Items {
		r.budget(&budgets.Items[i], deployments.Items, sets.Items)
	}
	r.nodes(nodes.Items)
	r.awsAuth(ctx)
	return r.o, nil
}

type kubeReader struct {
	c    client.Reader
	o    *Objects
	read int // lists that could be read
}

func (r *kubeReader) list(ctx context.Context, what string, into client.ObjectList, o ...client.ListOption) error {
	err := r.c.List(ctx, into, o...)
	switch {
	case err == nil:
		r.read++
	case meta.IsNoMatchError(err):
		r.o.Missing = append(r.o.Missing, what)
		r.gap("%s: the cluster does not know them; install the chart kerf-crd", what)
	default:
		r.gap("%s: %v", what, err)
	}
	return err
}

func (r *kubeReader) gap(format string, args ...any) {
	r.o.Gaps = append(r.o.Gaps, fmt.Sprintf(format, args...))
}

func (r *kubeReader) deployment(ctx context.Context, d *appsv1.Deployment) {
	spec := &d.Spec.Template.Spec
	if h, ok := handlerOf("Deployment", &d.ObjectMeta, spec); ok {
		h.Pods = int(d.Status.ReadyReplicas)
		if d.Spec.Replicas == nil || *d.Spec.Replicas > 0 {
			r.o.Handlers = append(r.o.Handlers, h)
		}
		return
	}
	c, _, ok, unread := controllerOf(d, ConfigMapsOf(ctx, r.c))
	if unread != nil {
		r.gap("%s: %v", Controller{Namespace: d.Namespace, Name: d.Name}, unread)
	}
	switch {
	case !ok:
		return
	case c.Wanted == 0:
		r.o.Stopped = append(r.o.Stopped, c)
		return
	case c.Ready < c.Wanted:
		c.Troubles, c.Ending = r.troubles(ctx, c)
	}
	var account corev1.ServiceAccount
	if err := r.c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ServiceAccount}, &account); err == nil {
		c.ServiceAccountRole = account.Annotations["eks.amazonaws.com/role-arn"]
	} else if !apierrors.IsNotFound(err) {
		r.gap("service account %s/%s: %v", c.Namespace, c.ServiceAccount, err)
	}
	r.o.Controllers = append(r.o.Controllers, c)
}

// controllerOf tells whether a Deployment runs a node autoscaler of this API, by its settings. One that runs in shadow is none: it reads
// no queue and changes nothing. The error says which of its settings could not be read.
func controllerOf(d *appsv1.Deployment, read ConfigMaps) (Controller, controllerContainer, bool, error) {
	t, ok, unread := toldController(d, read)
	if !ok || t.on("KERF_SHADOW") {
		return Controller{}, controllerContainer{}, false, unread
	}
	wanted := 1
	if d.Spec.Replicas != nil {
		wanted = int(*d.Spec.Replicas)
	}
	out := Controller{
		Namespace: d.Namespace, Name: d.Name, Image: t.container.Image,
		ServiceAccount: cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"), Ready: int(d.Status.ReadyReplicas), Wanted: wanted, MetricsPort: 8080,
	}
	out.ClusterName, _, _ = t.setting("CLUSTER_NAME")
	out.Queue, out.QueueFrom, _ = t.setting("INTERRUPTION_QUEUE")
	_, _, out.Endpoint = t.setting("CLUSTER_ENDPOINT")
	out.Isolated, out.ZonalShift = t.on("ISOLATED_VPC"), t.on("ENABLE_ZONAL_SHIFT")
	if d.Spec.Selector != nil {
		out.Labels = d.Spec.Selector.MatchLabels
	}
	if text, _, ok := t.setting("METRICS_PORT"); ok {
		if n, err := strconv.Atoi(text); err == nil {
			out.MetricsPort = n
		}
	}
	return out, t, true, unread
}

// ControllerContainer is the container of a Deployment that runs a node autoscaler of this API: its image is named after one, and it is told
// a cluster's name or a queue, or all that a ConfigMap or Secret has. nil where there is none.
func ControllerContainer(d *appsv1.Deployment) *corev1.Container {
	t, ok, _ := toldController(d, nil)
	for i := 0; !ok && i < len(d.Spec.Template.Spec.Containers); i++ {
		if c := &d.Spec.Template.Spec.Containers[i]; ofAutoscaler(c) && len(c.EnvFrom) > 0 {
			return c
		}
	}
	return t.container
}

// ofAutoscaler reports whether the container's image is named after a node autoscaler of this API.
func ofAutoscaler(c *corev1.Container) bool {
	return strings.Contains(c.Image, "karpenter") || strings.Contains(c.Image, "kerf")
}

func toldController(d *appsv1.Deployment, read ConfigMaps) (t controllerContainer, ok bool, unread error) {
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		if !ofAutoscaler(c) {
			continue
		}
		values, elsewhere, err := Variables(c, d.Namespace, read)
		unread = errors.Join(unread, err)
		t := controllerContainer{c, settings.Arguments(slices.Concat(c.Command, c.Args)), values, elsewhere}
		_, _, hasCluster := t.setting("CLUSTER_NAME")
		_, _, hasQueue := t.setting("INTERRUPTION_QUEUE")
		if hasCluster || hasQueue {
			return t, true, unread
		}
	}
	return controllerContainer{}, false, unread
}

// controllerContainer is a container of the controller, and what it is told by flags and by variables.
type controllerContainer struct {
	container         *corev1.Container
	flags             map[string]string // by the settings' variables
	values, elsewhere map[string]string // as Variables has them
}

// setting is one of them by the name of its variable: by its flag, which beats the variable, or by the variable. from is what the variable
// is taken from where that was not read; the value is empty then.
func (t controllerContainer) setting(env string) (value, from string, ok bool) {
	if value, ok := t.flags[env]; ok {
		return value, "", true
	}
	if from, ok := t.elsewhere[env]; ok {
		return "", from, true
	}
	value = t.values[env]
	return value, "", value != ""
}

// on tells whether a boolean setting is on.
func (t controllerContainer) on(env string) bool {
	value, _, _ := t.setting(env)
	on, _ := strconv.ParseBool(value)
	return on
}

// setting reads a setting of a container that is not the controller's, as its flag or its environment variable. from is the object
// that an environment variable is taken from; the value is empty then.
func setting(c *corev1.Container, env, flag string) (value, from string, ok bool) {
	args := append(slices.Clone(c.Command), c.Args...)
	for i, a := range args {
		if v, found := strings.CutPrefix(a, "--"+flag+"="); found {
			return v, "", true
		}
		if a == "--"+flag && i+1 < len(args) {
			return args[i+1], "", true
		}
	}
	return variable(c, env)
}

// variable reads an environment variable of a container, as setting does. Of one that is there twice the last counts, as it does to the kubelet.
func variable(c *corev1.Container, env string) (value, from string, ok bool) {
	for _, e := range slices.Backward(c.Env) {
		if e.Name != env {
			continue
		}
		if e.ValueFrom != nil {
			return "", "an object that the variable " + env + " refers to", true
		}
		return e.Value, "", e.Value != ""
	}
	return "", "", false
}

// handlerOf tells whether a workload is the AWS Node Termination Handler, and for what it drains.
//
// Source: aws-node-termination-handler, its README: environment variables of both modes.
func handlerOf(kind string, m *metav1.ObjectMeta, spec *corev1.PodSpec) (Handler, bool) {
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if !strings.Contains(c.Image, "node-termination-handler") && !strings.Contains(m.Name, "node-termination-handler") {
			continue
		}
		on := func(env string, otherwise bool) bool {
			v, _, ok := setting(c, env, strings.ReplaceAll(strings.ToLower(env), "_", "-"))
			if b, err := strconv.ParseBool(v); ok && err == nil {
				return b
			}
			return otherwise
		}
		h := Handler{Kind: kind, Namespace: m.Namespace, Name: m.Name, Selector: spec.NodeSelector}
		if on("ENABLE_SQS_TERMINATION_DRAINING", false) {
			h.Queue, _, _ = setting(c, "QUEUE_URL", "queue-url")
			h.Spot, h.Rebalance, h.Maintenance = true, true, true
		} else {
			h.Spot = on("ENABLE_SPOT_INTERRUPTION_DRAINING", true)
			h.Rebalance = on("ENABLE_REBALANCE_DRAINING", false)
			h.Maintenance = on("ENABLE_SCHEDULED_EVENT_DRAINING", true)
		}
		return h, true
	}
	return Handler{}, false
}

func (r *kubeReader) daemonSet(d *appsv1.DaemonSet) {
	if h, ok := handlerOf("DaemonSet", &d.ObjectMeta, &d.Spec.Template.Spec); ok {
		h.Pods = int(d.Status.DesiredNumberScheduled)
		r.o.Handlers = append(r.o.Handlers, h)
		return
	}
	if d.Name != "aws-node" || d.Namespace != "kube-system" {
		return
	}
	r.o.CNI = &CNI{}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		is := func(env string) bool { v, _, _ := setting(c, env, ""); return v == "true" }
		r.o.CNI.PrefixDelegation = r.o.CNI.PrefixDelegation || is("ENABLE_PREFIX_DELEGATION")
		r.o.CNI.CustomNetworking = r.o.CNI.CustomNetworking || is("AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG")
		r.o.CNI.IPv6 = r.o.CNI.IPv6 || is("ENABLE_IPv6")
	}
}

// budget notes a PodDisruptionBudget that allows nothing though it has pods.
func (r *kubeReader) budget(b *policyv1.PodDisruptionBudget, deployments []appsv1.Deployment, sets []appsv1.StatefulSet) {
	if b.Status.DisruptionsAllowed > 0 || b.Status.ExpectedPods == 0 {
		return
	}
	out := Budget{Namespace: b.Namespace, Name: b.Name, Healthy: int(b.Status.CurrentHealthy), Wanted: int(b.Status.DesiredHealthy), Current: int(b.Status.ExpectedPods)}
	if b.Status.DesiredHealthy >= b.Status.ExpectedPods {
		out.Always = "wants all its pods healthy, so that none may ever go"
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil {
			covers := func(namespace string, replicas *int32, l map[string]string) bool {
				return namespace == b.Namespace && (replicas == nil || *replicas == 1) && !selector.Empty() && selector.Matches(labels.Set(l))
			}
			for i := range deployments {
				if d := &deployments[i]; covers(d.Namespace, d.Spec.Replicas, d.Spec.Template.Labels) {
					out.Workloads = append(out.Workloads, "deployment "+d.Name)
				}
			}
			for i := range sets {
				if s := &sets[i]; covers(s.Namespace, s.Spec.Replicas, s.Spec.Template.Labels) {
					out.Workloads = append(out.Workloads, "statefulset "+s.Name)
				}
			}
		}
	}
	r.o.Budgets = append(r.o.Budgets, out)
}

func (r *kubeReader) nodes(list []corev1.Node) {
	r.o.Nodes = len(list)
	for i := range list {
		r.o.MaxPods = max(r.o.MaxPods, int(list[i].Status.Allocatable.Pods().Value()))
	}
}

func (r *kubeReader) awsAuth(ctx context.Context) {
	var m corev1.ConfigMap
	err := r.c.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "aws-auth"}, &m)
	switch {
	case apierrors.IsNotFound(err):
		return
	case err == nil:
		err = yaml.Unmarshal([]byte(m.Data["mapRoles"]), &r.o.AWSAuth)
	}
	if err != nil {
		r.o.NoAWSAuth = err.Error()
		r.gap("configmap kube-system/aws-auth: %v", err)
	}
}
