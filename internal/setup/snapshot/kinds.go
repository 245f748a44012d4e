package snapshot

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
)

// kind is a kind of object that a snapshot has.
type kind struct {
	gvk      schema.GroupVersionKind
	resource string
	// optional kinds come with something that a cluster need not have.
	optional bool
	all      func(*Objects) []client.Object
	add      func(*Objects, []byte) error
	take     func(*Objects, runtime.Object) // an object of a typed list
	sort     func(*Objects)                 // and leaves one of each name
}

// object is a pointer to a type of the API.
type object[T any] interface {
	*T
	client.Object
}

func kindFor[T any, P object[T]](gv schema.GroupVersion, name, resource string, field func(*Objects) *[]P) kind {
	return kind{
		gvk: gv.WithKind(name), resource: resource,
		all: func(o *Objects) []client.Object {
			list := *field(o)
			out := make([]client.Object, len(list))
			for i := range list {
				out[i] = list[i]
			}
			return out
		},
		add: func(o *Objects, raw []byte) error {
			x := P(new(T))
			if err := json.Unmarshal(raw, x); err != nil {
				return err
			}
			*field(o) = append(*field(o), x)
			return nil
		},
		take: func(o *Objects, x runtime.Object) {
			if p, ok := x.(P); ok {
				*field(o) = append(*field(o), p)
			}
		},
		sort: func(o *Objects) {
			byName := func(a, b P) int {
				return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
			}
			slices.SortStableFunc(*field(o), byName)
			*field(o) = slices.CompactFunc(*field(o), func(a, b P) bool { return byName(a, b) == 0 }) // it may be in several Lists
		},
	}
}

func (k kind) orNot() kind { k.optional = true; return k }

var metricsGroup = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}

// kinds are all that a snapshot may have, in the order in which a file has them.
var kinds = []kind{
	kindFor(corev1.SchemeGroupVersion, "Node", "nodes", func(o *Objects) *[]*corev1.Node { return &o.Nodes }),
	kindFor(karpv1.GroupVersion, "NodePool", "nodepools", func(o *Objects) *[]*karpv1.NodePool { return &o.NodePools }).orNot(),
	kindFor(awsv1.GroupVersion, "EC2NodeClass", "ec2nodeclasses", func(o *Objects) *[]*awsv1.EC2NodeClass { return &o.NodeClasses }).orNot(),
	kindFor(karpv1.GroupVersion, "NodeClaim", "nodeclaims", func(o *Objects) *[]*karpv1.NodeClaim { return &o.NodeClaims }).orNot(),
	kindFor(v1alpha1.GroupVersion, "NodeOverlay", "nodeoverlays", func(o *Objects) *[]*v1alpha1.NodeOverlay { return &o.NodeOverlays }).orNot(),
	kindFor(corev1.SchemeGroupVersion, "Namespace", "namespaces", func(o *Objects) *[]*corev1.Namespace { return &o.Namespaces }),
	kindFor(policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets", func(o *Objects) *[]*policyv1.PodDisruptionBudget { return &o.Budgets }),
	kindFor(appsv1.SchemeGroupVersion, "Deployment", "deployments", func(o *Objects) *[]*appsv1.Deployment { return &o.Deployments }),
	kindFor(appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", func(o *Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
	kindFor(appsv1.SchemeGroupVersion, "StatefulSet", "statefulsets", func(o *Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
	kindFor(appsv1.SchemeGroupVersion, "DaemonSet", "daemonsets", func(o *Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
	kindFor(batchv1.SchemeGroupVersion, "Job", "jobs", func(o *Objects) *[]*batchv1.Job { return &o.Jobs }),
	kindFor(batchv1.SchemeGroupVersion, "CronJob", "cronjobs", func(o *Objects) *[]*batchv1.CronJob { return &o.CronJobs }),
	kindFor(corev1.SchemeGroupVersion, "PersistentVolumeClaim", "persistentvolumeclaims", func(o *Objects) *[]*corev1.PersistentVolumeClaim { return &o.VolumeClaims }),
	kindFor(corev1.SchemeGroupVersion, "PersistentVolume", "persistentvolumes", func(o *Objects) *[]*corev1.PersistentVolume { return &o.Volumes }),
	kindFor(storagev1.SchemeGroupVersion, "StorageClass", "storageclasses", func(o *Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
	kindFor(storagev1.SchemeGroupVersion, "CSINode", "csinodes", func(o *Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
	kindFor(schedulingv1.SchemeGroupVersion, "PriorityClass", "priorityclasses", func(o *Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
	kindFor(corev1.SchemeGroupVersion, "Pod", "pods", func(o *Objects) *[]*corev1.Pod { return &o.Pods }),
	kindFor(metricsGroup, "PodMetrics", "pods.metrics.k8s.io", func(o *Objects) *[]*PodMetrics { return &o.Usage }).orNot(),
}

func kindOf(apiVersion, name string) *kind {
	for i := range kinds {
		if k := &kinds[i]; k.gvk.Kind == name && k.gvk.GroupVersion().String() == apiVersion {
			return k
		}
	}
	return nil
}

// Kinds lists the resources that a snapshot reads, as group and resource, for the rights that it takes.
func Kinds() []schema.GroupResource {
	var out []schema.GroupResource
	for _, k := range kinds {
		resource, _, _ := strings.Cut(k.resource, ".")
		out = append(out, schema.GroupResource{Group: k.gvk.Group, Resource: resource})
	}
	return out
}

// PodMetrics is what a pod uses, as metrics-server tells it.
//
// Source: the Kubernetes API metrics.k8s.io/v1beta1.
type PodMetrics struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Timestamp         metav1.Time        `json:"timestamp,omitempty"`
	Window            metav1.Duration    `json:"window,omitempty"`
	Containers        []ContainerMetrics `json:"containers,omitempty"`
}

// ContainerMetrics is what one container uses.
type ContainerMetrics struct {
	Name  string              `json:"name"`
	Usage corev1.ResourceList `json:"usage"`
}

// DeepCopyObject is part of runtime.Object.
func (m *PodMetrics) DeepCopyObject() runtime.Object {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Containers = slices.Clone(m.Containers)
	for i := range out.Containers {
		out.Containers[i].Usage = out.Containers[i].Usage.DeepCopy()
	}
	return &out
}

// settle sorts the objects, takes from them what nobody needs, and finds the region where it is not known.
func (s *Snapshot) settle() {
	for _, k := range kinds {
		k.sort(&s.Objects)
		for _, o := range k.all(&s.Objects) {
			trim(o)
		}
	}
	if s.Region == "" {
		s.Region = regionOf(s.Nodes)
	}
}

// regionOf is the region of most nodes.
func regionOf(nodes []*corev1.Node) string {
	count, best := map[string]int{}, ""
	for _, n := range nodes {
		region := n.Labels[corev1.LabelTopologyRegion]
		if zone := n.Labels[corev1.LabelTopologyZone]; region == "" && len(zone) > 1 && strings.HasPrefix(n.Spec.ProviderID, "aws:///") {
			region = zone[:len(zone)-1]
		}
		if region == "" {
			continue
		}
		count[region]++
		if count[region] > count[best] || count[region] == count[best] && region < best {
			best = region
		}
	}
	return best
}
