package cache

import (
	"maps"
	"reflect"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fewTemplates is of how many owners the parts of a pod are remembered before those are forgotten that have no pods any more. They take
// 14 kB each at most, 14 MB together: that is how much less is held of a pod that shares its parts than of one as it comes
// (go test ./internal/state/cache -run - -bench PodsInMemory).
const fewTemplates = 1_000

// templates remembers a pod of each owner, so that the others share its parts: pods of one owner are made of one template,
// and are the most part of what a controller of many pods holds in memory.
//
// Concurrency: safe.
type templates struct {
	mu   sync.Mutex
	pod  map[types.UID]*parts
	most int // when so many are remembered, those without pods are forgotten
}

// parts are those of a pod that are the same in all pods of a template as a rule.
type parts struct {
	// owners are those of pods that are there: nobody else holds them.
	owners weak.Pointer[ownerList]

	labels, annotations, selector map[string]string
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
	if owner == nil || len(p.OwnerReferences) != len(ownerList{}) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.pod[owner.UID]
	if known == nil {
		t.forget()
		known = &parts{}
		t.pod[owner.UID] = known
	}
	same(&p.Labels, &known.labels)
	same(&p.Annotations, &known.annotations)
	if owners := known.owners.Value(); owners != nil && reflect.DeepEqual(p.OwnerReferences, owners[:]) {
		p.OwnerReferences = owners[:]
	} else {
		known.owners = weak.Make((*ownerList)(p.OwnerReferences))
	}
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

// ownerList is the list of the owners of a pod, which is one as a rule; pods with several share nothing.
type ownerList [1]metav1.OwnerReference

// forget makes room for an owner: those without pods go when there are too many.
func (t *templates) forget() {
	if t.pod == nil {
		t.pod, t.most = map[types.UID]*parts{}, fewTemplates
	}
	if len(t.pod) < t.most {
		return
	}
	maps.DeleteFunc(t.pod, func(_ types.UID, p *parts) bool { return p.owners.Value() == nil })
	t.most = max(fewTemplates, 2*len(t.pod))
}

// same puts what is known in the place of what is equal to it; what is not is known from now on.
func same[T any](own, known *T) {
	if reflect.DeepEqual(*own, *known) {
		*own = *known
		return
	}
	*known = *own
}
