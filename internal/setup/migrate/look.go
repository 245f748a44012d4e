package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
)

// Seen is all that is judged of a cluster.
type Seen struct {
	ClusterName, Region string
	Namespace           string // that was asked for; empty: any
	Kubernetes          string // as the API server says: v1.33.2-eks-1234
	// Deployment is the controller's; nil where none was found. Controllers are all that run, Handlers those of
	// interruptions.
	Deployment  *appsv1.Deployment
	Controllers []doctor.Controller
	Handlers    []doctor.Handler
	// Workloads are the Deployments and DaemonSets of the cluster with the images that they run.
	Workloads []Workload
	// NoStart is what kerf controller says of each argument of the controller's container that it does not take. None: it takes them all, or
	// was not asked.
	NoStart []string
	// ConfigMaps are what those hold, by name, that the controller's variables are from; one that can't be read is a gap.
	ConfigMaps     map[string]map[string]string
	ServiceAccount *corev1.ServiceAccount
	Owner          Owner
	// DefinitionsOwner is the release of a chart of definitions, where the definitions themselves do not name it.
	DefinitionsOwner Owner
	// DefinitionsReleases are all deployed releases of a chart of definitions.
	DefinitionsReleases []string
	Definitions         []apiextensionsv1.CustomResourceDefinition
	Webhooks            []Webhook
	// Objects are those of the API as they are stored, by kind.
	Objects map[string][]unstructured.Unstructured
	Nodes   []corev1.Node
	Lease   *coordinationv1.Lease
	Pods    []Pod // of the Deployment
	Given   *Given
	// Granted and GrantedInNamespace are the rules that are bound to the controller's ServiceAccount. NoRoles says why they
	// are not known.
	Granted, GrantedInNamespace []rbacv1.PolicyRule
	NoRoles                     string
	// Foreign are objects of the chart's names that are there and belong to no release or to another one.
	Foreign []string
	// Refused is what the person who asks may not do, of what a swap does; NoAccess says why that is not known.
	Refused  []Access
	NoAccess string

	// Account is what the doctor found in AWS; NoAWS says why AWS was not examined, empty when it was left out by choice.
	Account *doctor.Report
	NoAWS   string
	// Drift is which nodes Kerf would replace as things are; NoDrift says why that is not known.
	Drift   *changeplan.Report
	NoDrift string

	Gaps []Gap
}

// Gap is what could not be read.
type Gap struct{ What, Why string }

// Workload is what runs in the cluster.
type Workload struct {
	Kind, Namespace, Name string
	Images                []string
	Replicas              int
}

func (w Workload) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// Webhook is a configuration of admission webhooks that looks at objects of the API.
type Webhook struct{ Kind, Name, Service string }

// Options say what to look at. Reader is required.
type Options struct {
	Reader client.Reader
	// API is asked for the version and for what the person may do; nil leaves both out.
	API kubernetes.Interface
	// Arguments has kerf controller read what stands behind it on a command line, and returns an error for each argument that it does not
	// take; nil leaves it out.
	Arguments func([]string) []error
	// Namespace is the controller's; empty means any.
	Namespace           string
	ClusterName, Region string
}

// examined are the definitions that are read: those of the API, older ones, and the class of EKS Auto Mode.
var examined = []string{
	"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "nodeoverlays.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws", "capacitybuffers.autoscaling.x-k8s.io",
	"provisioners.karpenter.sh", "machines.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws", autoModeClass,
}

// autoModeClass is the definition that EKS Auto Mode brings.
const autoModeClass = "nodeclasses.eks.amazonaws.com"

// Look reads what is judged of the cluster. AWS and drift are the caller's to fill in.
//
// Errors: the cluster does not answer. What may not be read is a gap.
func Look(ctx context.Context, o Options) (*Seen, error) {
	objects, err := doctor.ReadObjects(ctx, o.Reader)
	if err != nil {
		return nil, err
	}
	l := &look{o: o, Seen: &Seen{
		ClusterName: o.ClusterName, Region: o.Region, Namespace: o.Namespace, Controllers: objects.Controllers, Handlers: objects.Handlers,
		Objects: map[string][]unstructured.Unstructured{}, ConfigMaps: map[string]map[string]string{},
	}}
	if o.API != nil {
		v, err := o.API.Discovery().ServerVersion()
		if err != nil {
			l.gap("the API server's version", err)
		} else {
			l.Kubernetes = v.GitVersion
		}
	}
	l.workloads(ctx)
	l.controller(ctx, slices.Concat(objects.Controllers, objects.Stopped))
	l.definitions(ctx)
	var nodes corev1.NodeList
	if l.list(ctx, "nodes", &nodes, client.HasLabels{karpv1.NodePoolLabelKey}) {
		l.Nodes = nodes.Items
	}
	if l.Deployment != nil {
		if o.Arguments != nil {
			for _, err := range o.Arguments(arguments(container(l.Deployment))) {
				l.NoStart = append(l.NoStart, err.Error())
			}
		}
		l.configMaps(ctx)
		l.account(ctx)
		l.lease(ctx)
		l.roles(ctx)
		l.owner(ctx)
		l.given(ctx)
		l.definitionsOwner(ctx)
	}
	l.webhooks(ctx)
	l.foreign(ctx)
	l.access(ctx)
	if l.ClusterName == "" {
		l.ClusterName = l.environment()["CLUSTER_NAME"]
	}
	return l.Seen, nil
}

type look struct {
	o Options
	*Seen
}

func (l *look) gap(what string, err error) {
	l.Gaps = append(l.Gaps, Gap{what, err.Error()})
}

// list reads a kind; what can't be read is a gap.
func (l *look) list(ctx context.Context, what string, into client.ObjectList, o ...client.ListOption) bool {
	err := l.o.Reader.List(ctx, into, o...)
	if err != nil && !meta.IsNoMatchError(err) {
		l.gap(what, err)
	}
	return err == nil
}

// get reads an object; one that is not there is no gap.
func (l *look) get(ctx context.Context, what, namespace, name string, into client.Object) bool {
	err := l.o.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		l.gap(what+" "+name, err)
	}
	return err == nil
}

func (l *look) workloads(ctx context.Context) {
	images := func(p *corev1.PodSpec) (out []string) {
		for i := range p.Containers {
			out = append(out, p.Containers[i].Image)
		}
		return out
	}
	var deployments appsv1.DeploymentList
	l.list(ctx, "deployments", &deployments)
	for i := range deployments.Items {
		d := &deployments.Items[i]
		l.Workloads = append(l.Workloads, Workload{"Deployment", d.Namespace, d.Name, images(&d.Spec.Template.Spec), wanted(d)})
	}
	var daemons appsv1.DaemonSetList
	l.list(ctx, "daemonsets", &daemons)
	for i := range daemons.Items {
		d := &daemons.Items[i]
		l.Workloads = append(l.Workloads, Workload{"DaemonSet", d.Namespace, d.Name, images(&d.Spec.Template.Spec), int(d.Status.DesiredNumberScheduled)})
	}
}

func wanted(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

// controller finds the Deployment: of the asked namespace or of any, one that runs before one that is scaled to zero. An image
// whose name tells nothing is found by the label of the chart.
func (l *look) controller(ctx context.Context, known []doctor.Controller) {
	for _, c := range known {
		d := &appsv1.Deployment{}
		if (l.o.Namespace == "" || l.o.Namespace == c.Namespace) && l.get(ctx, "Deployment "+c.Namespace, c.Namespace, c.Name, d) {
			l.Deployment = d
			return
		}
	}
	var list appsv1.DeploymentList
	if err := l.o.Reader.List(ctx, &list, client.InNamespace(l.o.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "karpenter"}); err == nil && len(list.Items) > 0 {
		l.Deployment = &list.Items[0]
	}
}

// definitions reads the definitions of the API, and the objects of each that has any.
func (l *look) definitions(ctx context.Context) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if !l.list(ctx, "customresourcedefinitions", list) {
		return
	}
	for i := range list.Items {
		if !slices.Contains(examined, list.Items[i].GetName()) {
			continue
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := convert(list.Items[i].Object, &crd); err != nil {
			l.gap("CustomResourceDefinition "+list.Items[i].GetName(), err)
			continue
		}
		l.Definitions = append(l.Definitions, crd)
	}
	slices.SortFunc(l.Definitions, func(a, b apiextensionsv1.CustomResourceDefinition) int { return cmp.Compare(a.Name, b.Name) })
	for i := range l.Definitions {
		l.stored(ctx, &l.Definitions[i])
	}
}

// stored reads the objects of a definition in the newest version that is served.
func (l *look) stored(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) {
	version := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (version == "" || v.Name == "v1" || version != "v1" && v.Storage) {
			version = v.Name
		}
	}
	if version == "" {
		return
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind + "List"})
	if l.list(ctx, crd.Name, list) {
		l.Objects[crd.Spec.Names.Kind] = list.Items
	}
}

// configMaps reads those that the controller's variables are from. Secrets are not read.
func (l *look) configMaps(ctx context.Context) {
	_, _, _ = doctor.Variables(container(l.Deployment), l.Deployment.Namespace, func(namespace, name string) (map[string]string, error) {
		m := &corev1.ConfigMap{}
		if l.get(ctx, "ConfigMap", namespace, name, m) {
			l.ConfigMaps[name] = m.Data
		}
		return nil, nil // the gap is noted
	})
}

// container is the controller's among those of its pod.
func container(d *appsv1.Deployment) *corev1.Container {
	if c := doctor.ControllerContainer(d); c != nil {
		return c
	}
	list := d.Spec.Template.Spec.Containers
	if i := slices.IndexFunc(list, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "CLUSTER_NAME" })
	}); i >= 0 {
		return &list[i]
	}
	if i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == "controller" }); i >= 0 {
		return &list[i]
	}
	if len(list) == 0 {
		return &corev1.Container{}
	}
	return &list[0]
}

func (s *Seen) serviceAccountName() string {
	return cmp.Or(s.Deployment.Spec.Template.Spec.ServiceAccountName, "default")
}

func (l *look) account(ctx context.Context) {
	a := &corev1.ServiceAccount{}
	if l.get(ctx, "ServiceAccount", l.Deployment.Namespace, l.serviceAccountName(), a) {
		l.ServiceAccount = a
	}
}

func (l *look) lease(ctx context.Context) {
	env := l.environment()
	name, namespace := cmp.Or(env["LEADER_ELECTION_NAME"], settings.LeaseName), cmp.Or(env["LEADER_ELECTION_NAMESPACE"], l.Deployment.Namespace)
	lease := &coordinationv1.Lease{}
	if l.get(ctx, "Lease "+namespace, namespace, name, lease) {
		l.Lease = lease
	}
	selector, err := metav1.LabelSelectorAsSelector(l.Deployment.Spec.Selector)
	if err != nil {
		return
	}
	var pods corev1.PodList
	l.list(ctx, "pods of the Deployment", &pods, client.InNamespace(l.Deployment.Namespace), client.MatchingLabelsSelector{Selector: selector})
	for i := range pods.Items {
		l.Pods = append(l.Pods, podOf(&pods.Items[i], container(l.Deployment).Name))
	}
}

func (l *look) webhooks(ctx context.Context) {
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind + "List"})
		if err := l.o.Reader.List(ctx, list); err != nil {
			if status := apierrors.APIStatus(nil); errors.As(err, &status) && !apierrors.IsNotFound(err) {
				l.gap(kind, err)
			}
			continue
		}
		for i := range list.Items {
			if service, ok := watchesAPI(&list.Items[i]); ok {
				l.Webhooks = append(l.Webhooks, Webhook{kind, list.Items[i].GetName(), service})
			}
		}
	}
}

// watchesAPI tells whether a configuration of webhooks names the API's groups, and which Service it calls.
func watchesAPI(u *unstructured.Unstructured) (service string, ok bool) {
	hooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(hook, "rules")
		for _, r := range rules {
			rule, _ := r.(map[string]any)
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			if !slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(g, "karpenter.") }) {
				continue
			}
			namespace, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "namespace")
			name, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "name")
			return strings.Trim(namespace+"/"+name, "/"), true
		}
	}
	return "", false
}

// convert reads a tree into a typed object.
func convert(tree map[string]any, into any) error {
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	return nil
}
