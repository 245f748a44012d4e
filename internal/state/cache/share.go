package cache

import (
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mostTemplates bounds of how many owners the parts of a pod are remembered, some kilobytes each, also when its pods have
// gone. All are forgotten when there are more: the next pods of an owner then share among themselves.
const mostTemplates = 1_000

// templates remembers a pod of each owner, so that the others share its parts: pods of one owner are made of one template,
// and are the most part of what a controller of many pods holds in memory.
//
// Concurrency: safe.
type templates struct {
	mu  sync.Mutex
	pod map[types.UID]*parts
}

// parts are those of a pod that are the same in all pods of a template as a rule.
type parts struct {
	labels, annotations, selector map[string]string
	owners                        []metav1.OwnerReference
	inits, containers             []corev1.Container
	statuses                      []corev1.ContainerStatus
	tolerations                   []corev1.Toleration
	affinity                      *corev1.Affinity
	spreads                       []corev1.TopologySpreadConstraint
	security                      *corev1.PodSecurityContext
	secrets                       []corev1.LocalObjectReference
}

// share gives the pod the parts of another one of its owner where they are equal to its own.
func (t *templates) share(p *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.pod[owner.UID]
	if known == nil {
		if t.pod == nil || len(t.pod) >= mostTemplates {
			t.pod = map[types.UID]*parts{}
		}
		known = &parts{}
		t.pod[owner.UID] = known
	}
	same(&p.Labels, &known.labels)
	same(&p.Annotations, &known.annotations)
	same(&p.OwnerReferences, &known.owners)
	same(&p.Spec.NodeSelector, &known.selector)
	same(&p.Spec.InitContainers, &known.inits)
	same(&p.Spec.Containers, &known.containers)
	same(&p.Status.ContainerStatuses, &known.statuses)
	same(&p.Spec.Tolerations, &known.tolerations)
	same(&p.Spec.Affinity, &known.affinity)
	same(&p.Spec.TopologySpreadConstraints, &known.spreads)
	same(&p.Spec.SecurityContext, &known.security)
	same(&p.Spec.ImagePullSecrets, &known.secrets)
}

// same puts what is known in the place of what is equal to it; what is not is known from now on.
func same[T any](own, known *T) {
	if reflect.DeepEqual(*own, *known) {
		*own = *known
		return
	}
	*known = *own
}
