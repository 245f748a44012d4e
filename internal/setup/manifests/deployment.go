package manifests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// User is whom the container runs as.
const User = 65532

// Binary is the one program of Kerf's image.
const Binary = "/kerf"

// EntryPoint is the command of Kerf's image. The Deployment has no command and no arguments, so that in one of Karpenter's
// only the name of the image has to change.
func EntryPoint() []string { return []string{Binary, "controller"} }

// ImageEnv is the environment that Kerf's image sets, as NAME=VALUE. Without a HOME, libraries look for the user's entry in a
// file that is not there.
func ImageEnv() []string { return []string{"PATH=/", "HOME=/"} }

// Names of the container's ports.
const (
	MetricsPort = "http-metrics"
	HealthPort  = "http"
)

func (i *installation) deployment() *appsv1.Deployment {
	v := i.v
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: i.namespaced(i.fullname),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(v.Replicas), RevisionHistoryLimit: new(v.RevisionHistoryLimit), Selector: &metav1.LabelSelector{MatchLabels: i.selector()},
			Strategy: strategy(v.Strategy),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: copied(v.PodLabels, i.selector()), Annotations: copied(v.PodAnnotations)},
				Spec: corev1.PodSpec{
					ImagePullSecrets: v.ImagePullSecrets, ServiceAccountName: i.serviceAccountName(), SecurityContext: v.PodSecurityContext,
					PriorityClassName: v.PriorityClassName, TerminationGracePeriodSeconds: v.TerminationGracePeriodSeconds, HostNetwork: v.HostNetwork,
					SchedulerName: v.SchedulerName, DNSPolicy: v.DNSPolicy, DNSConfig: dns(v.DNSConfig), InitContainers: v.InitContainers,
					Containers: []corev1.Container{i.container()}, NodeSelector: v.NodeSelector, Affinity: i.affinity(), Tolerations: v.Tolerations, Volumes: v.ExtraVolumes,
				},
			},
		},
	}
	for _, c := range v.Controller.SidecarContainer {
		c.VolumeMounts = append(append(append([]corev1.VolumeMount{}, c.VolumeMounts...), v.Controller.ExtraVolumeMounts...), v.Controller.SidecarVolumeMounts...)
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, c)
	}
	for _, s := range v.TopologySpreadConstraints {
		if s.LabelSelector == nil {
			s.LabelSelector = &metav1.LabelSelector{MatchLabels: i.selector()}
		}
		d.Spec.Template.Spec.TopologySpreadConstraints = append(d.Spec.Template.Spec.TopologySpreadConstraints, s)
	}
	return d
}

// strategy is given as the API has it; what it has no field for is left out, and so is the default's rollingUpdate where pods are
// recreated.
func strategy(tree map[string]any) (s appsv1.DeploymentStrategy) {
	if text, err := json.Marshal(tree); err == nil {
		_ = json.Unmarshal(text, &s)
	}
	if s.Type == appsv1.RecreateDeploymentStrategyType {
		s.RollingUpdate = nil
	}
	return s
}

// dns is nil for a configuration in which there is nothing.
func dns(c *corev1.PodDNSConfig) *corev1.PodDNSConfig {
	if c == nil || len(c.Nameservers)+len(c.Searches)+len(c.Options) == 0 {
		return nil
	}
	return c
}

// affinity keeps the replicas apart: a rule without a selector is about the controller's own pods.
func (i *installation) affinity() *corev1.Affinity {
	if i.v.Affinity == nil {
		return nil
	}
	a := i.v.Affinity.DeepCopy()
	own := func(terms []corev1.PodAffinityTerm) {
		for n := range terms {
			if terms[n].LabelSelector == nil {
				terms[n].LabelSelector = &metav1.LabelSelector{MatchLabels: i.selector()}
			}
		}
	}
	if a.PodAffinity != nil {
		own(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a.PodAntiAffinity != nil {
		own(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return a
}

func (i *installation) container() corev1.Container {
	c := &i.v.Controller
	probe := func(path string, delay int32) *corev1.Probe {
		return &corev1.Probe{
			InitialDelaySeconds: delay, TimeoutSeconds: 30,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(HealthPort)}},
		}
	}
	return corev1.Container{
		Name: c.ContainerName, Image: i.image(), ImagePullPolicy: i.v.ImagePullPolicy,
		SecurityContext: &corev1.SecurityContext{
			Privileged: new(false), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
			RunAsUser: new(int64(User)), RunAsGroup: new(int64(User)), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: seccomp(c.SecurityContext.SeccompProfile), SELinuxOptions: selinux(c.SecurityContext.SELinuxOptions), AppArmorProfile: appArmor(c.SecurityContext.AppArmorProfile),
		},
		Env: i.env(), EnvFrom: c.EnvFrom, Resources: c.Resources, VolumeMounts: c.ExtraVolumeMounts,
		Ports: []corev1.ContainerPort{
			{Name: MetricsPort, ContainerPort: c.Metrics.Port, Protocol: corev1.ProtocolTCP},
			{Name: HealthPort, ContainerPort: c.HealthProbe.Port, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe: probe("/healthz", 30), ReadinessProbe: probe("/readyz", 5),
	}
}

// Of what a chart's values have as an empty object, nothing is said.

func seccomp(p *corev1.SeccompProfile) *corev1.SeccompProfile {
	if p == nil || p.Type == "" {
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return p
}

func selinux(o *corev1.SELinuxOptions) *corev1.SELinuxOptions {
	if o == nil || *o == (corev1.SELinuxOptions{}) {
		return nil
	}
	return o
}

func appArmor(p *corev1.AppArmorProfile) *corev1.AppArmorProfile {
	if p == nil || p.Type == "" {
		return nil
	}
	return p
}

// karpenterImages begin the names of the images that Karpenter's chart runs.
const karpenterImages = "public.ecr.aws/karpenter/"

// Own tells whether values name an image in a registry of one's own. Kerf's is in none that everybody may pull from yet.
func (image ImageValues) Own() bool {
	return image.Repository != "" && image.Repository != Image && !strings.HasPrefix(image.Repository, karpenterImages)
}

// The parts of imageName, which is a repository with a tag, a digest or both.
//
// Source: OCI Distribution Specification 1.1, "Pulling manifests".
const (
	repositoryPattern = `[a-z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*`
	tagPattern        = `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
	digestPattern     = `[a-z0-9+._-]+:[0-9a-f]+`
)

var imageName = regexp.MustCompile("^" + repositoryPattern + "(:" + tagPattern + ")?(@" + digestPattern + ")?$")

// checkImage refuses a name that no registry can have.
func (i *installation) checkImage() error {
	if image := i.image(); !imageName.MatchString(image) {
		return fmt.Errorf("controller.image: %q is not the name of an image: want one such as 111122223333.dkr.ecr.eu-west-1.amazonaws.com/kerf:v0.1.0", image)
	}
	return nil
}

// image is the image of the values, but for one of Karpenter's own: that is left of the values of its chart.
func (i *installation) image() string {
	image := i.v.Controller.Image
	if image.Repository == "" || strings.HasPrefix(image.Repository, karpenterImages) {
		image = ImageValues{Repository: Image}
	}
	out := image.Repository
	if image.Tag == "" {
		image.Tag = i.Version
	}
	if image.Tag != "" {
		out += ":" + image.Tag
	}
	if image.Digest != "" {
		out += "@" + image.Digest
	}
	return out
}
