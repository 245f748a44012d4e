package snapshot

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// neededAnnotations begin the annotations that say something about disruption, scaling or cost.
var neededAnnotations = []string{
	"karpenter.sh/", "karpenter.k8s.aws/", "kerf.sh/", "cluster-autoscaler.kubernetes.io/", "controller.kubernetes.io/pod-deletion-cost",
	corev1.MirrorPodAnnotationKey, "scheduler.alpha.kubernetes.io/", "storageclass.kubernetes.io/is-default-class",
}

// trim takes from an object what no audit and no simulation reads: much of its size, and most of what is nobody's business.
func trim(o client.Object) {
	o.SetManagedFields(nil)
	o.SetSelfLink("")
	for key := range o.GetAnnotations() {
		needed := false
		for _, p := range neededAnnotations {
			needed = needed || strings.HasPrefix(key, p)
		}
		if !needed {
			delete(o.GetAnnotations(), key)
		}
	}
	switch x := o.(type) {
	case *corev1.Node:
		x.Status.Images, x.Status.VolumesAttached, x.Status.VolumesInUse, x.Status.Config = nil, nil, nil, nil
	case *corev1.Pod:
		trimPodSpec(&x.Spec)
		trimStatuses(x.Status.ContainerStatuses)
		trimStatuses(x.Status.InitContainerStatuses)
		x.Status.EphemeralContainerStatuses = nil
	case *appsv1.Deployment:
		trimTemplate(&x.Spec.Template)
	case *appsv1.StatefulSet:
		trimTemplate(&x.Spec.Template)
		x.Spec.VolumeClaimTemplates = nil
	case *appsv1.DaemonSet:
		trimTemplate(&x.Spec.Template)
	case *appsv1.ReplicaSet:
		// A Deployment keeps ten of them, and its own template says it all.
		x.Spec.Template = corev1.PodTemplateSpec{}
	case *batchv1.Job:
		x.Spec.Template = corev1.PodTemplateSpec{}
	case *batchv1.CronJob:
		x.Spec.JobTemplate.ObjectMeta = metav1.ObjectMeta{}
		trimTemplate(&x.Spec.JobTemplate.Spec.Template)
	case *awsv1.EC2NodeClass:
		x.Spec.UserData = nil
	}
}

func trimTemplate(t *corev1.PodTemplateSpec) {
	t.ObjectMeta = metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}
	for key := range t.Annotations {
		if !strings.HasPrefix(key, "karpenter.sh/") && !strings.HasPrefix(key, "cluster-autoscaler.kubernetes.io/") {
			delete(t.Annotations, key)
		}
	}
	trimPodSpec(&t.Spec)
}

func trimPodSpec(s *corev1.PodSpec) {
	s.Containers, s.InitContainers, s.EphemeralContainers = trimContainers(s.Containers), trimContainers(s.InitContainers), nil
	var volumes []corev1.Volume
	for _, v := range s.Volumes {
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			v.Ephemeral.VolumeClaimTemplate.ObjectMeta = metav1.ObjectMeta{Labels: v.Ephemeral.VolumeClaimTemplate.Labels}
		}
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.EmptyDir != nil {
			volumes = append(volumes, v)
		}
	}
	s.Volumes, s.ImagePullSecrets, s.HostAliases, s.DNSConfig, s.SecurityContext = volumes, nil, nil, nil, nil
}

// trimContainers keeps what containers take and in which order they run.
func trimContainers(in []corev1.Container) []corev1.Container {
	for i := range in {
		c := &in[i]
		*c = corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
	}
	return in
}

// trimStatuses keeps what a resize has given to containers, and when they ended.
func trimStatuses(in []corev1.ContainerStatus) {
	for i := range in {
		s := &in[i]
		kept := corev1.ContainerStatus{Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount, Resources: s.Resources, AllocatedResources: s.AllocatedResources}
		if t := s.State.Terminated; t != nil {
			kept.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
		}
		*s = kept
	}
}
