package cache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Strip returns a transform for the manager's informers: it drops what nobody reads and what makes up most of an object's
// size in memory, and has pods of one owner share what is the same in all of them.
//
// What informers hold is not to be written to, and least of all here: a part may be that of other pods as well.
func Strip() func(any) (any, error) {
	var templates templates
	return func(o any) (any, error) {
		obj, ok := o.(client.Object)
		if !ok {
			return o, nil
		}
		if obj.GetManagedFields() != nil {
			obj.SetManagedFields(nil)
		}
		switch x := o.(type) {
		case *corev1.Pod:
			stripPod(x)
			templates.share(x)
		case *corev1.Node:
			x.Status.Images = nil
		}
		return o, nil
	}
}

// stripPod drops how the containers run, and keeps what they take and where they may go. Should a pod come again that was
// stripped before, nothing is written to what it may share with others.
func stripPod(p *corev1.Pod) {
	if _, ok := p.Annotations[corev1.LastAppliedConfigAnnotation]; ok { //nolint:staticcheck // deleting writes, even what is not there
		delete(p.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := &list[i]
			kept := corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
			if !equality.Semantic.DeepEqual(*c, kept) {
				*c = kept
			}
		}
	}
	p.Status.ContainerStatuses = stripStatuses(p.Status.ContainerStatuses)
	p.Status.InitContainerStatuses = stripStatuses(p.Status.InitContainerStatuses)
	p.Status.EphemeralContainerStatuses = nil
	p.Spec.EphemeralContainers = nil
	p.Spec.Volumes = keep(p.Spec.Volumes, func(v *corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
	p.Status.Conditions = keep(p.Status.Conditions, func(c *corev1.PodCondition) bool {
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodResizePending, corev1.PodResizeInProgress, corev1.DisruptionTarget:
			return true
		}
		return false
	})
}

// stripStatuses keeps what a resize has given to containers.
func stripStatuses(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	list = keep(list, func(s *corev1.ContainerStatus) bool { return s.Resources != nil || s.AllocatedResources != nil })
	for i := range list {
		s := &list[i]
		kept := corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources}
		if !equality.Semantic.DeepEqual(*s, kept) {
			*s = kept
		}
	}
	return list
}

// keep is the list without the others; a new one if there are any, so that their memory is free.
func keep[T any](list []T, wanted func(*T) bool) []T {
	n := 0
	for i := range list {
		if wanted(&list[i]) {
			n++
		}
	}
	switch n {
	case len(list):
		return list
	case 0:
		return nil
	}
	out := make([]T, 0, n)
	for i := range list {
		if wanted(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}
