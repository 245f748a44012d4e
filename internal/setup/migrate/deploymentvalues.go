package migrate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// chartSets are variables that the chart sets by itself, and those that Karpenter's chart sets and Kerf has no use for. The
// settings of the chart come besides.
var chartSets = append([]string{
	"LEADER_ELECTION_NAMESPACE", "LOG_LEVEL", "LOG_OUTPUT_PATHS", "LOG_ERROR_OUTPUT_PATHS", "METRICS_PORT", "HEALTH_PROBE_PORT", "MEMORY_LIMIT", "CPU_REQUESTS",
	"FEATURE_GATES", "KUBERNETES_MIN_VERSION", "SYSTEM_NAMESPACE",
}, formerly...)

// chartValues are values with which Kerf's chart makes the Deployment that is there: what differs from the chart's defaults. Names
// and the image are left out, as the steps give them.
func (s *Seen) chartValues() map[string]any {
	d := s.Deployment
	if d == nil {
		return nil
	}
	v := manifests.Defaults()
	plain := deploymentOfDefaults(s.release())
	pod, c, theirs, ours := &d.Spec.Template.Spec, container(d), &plain.Spec.Template.Spec, &plain.Spec.Template.Spec.Containers[0]
	if d.Spec.Replicas != nil {
		v.Replicas = *d.Spec.Replicas
	}
	if d.Spec.RevisionHistoryLimit != nil {
		v.RevisionHistoryLimit = *d.Spec.RevisionHistoryLimit
	}
	v.PodLabels = d.Spec.Template.Labels
	if d.Spec.Selector != nil {
		v.PodLabels = without(d.Spec.Template.Labels, d.Spec.Selector.MatchLabels)
	}
	v.PodAnnotations = without(d.Spec.Template.Annotations, map[string]string{"kubectl.kubernetes.io/restartedAt": d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]})
	v.ImagePullSecrets, v.PriorityClassName, v.HostNetwork = pod.ImagePullSecrets, pod.PriorityClassName, pod.HostNetwork
	v.TerminationGracePeriodSeconds = pod.TerminationGracePeriodSeconds
	if g := pod.TerminationGracePeriodSeconds; g != nil && *g == corev1.DefaultTerminationGracePeriodSeconds {
		v.TerminationGracePeriodSeconds = nil
	}
	if pod.SchedulerName != "" {
		v.SchedulerName = pod.SchedulerName
	}
	if pod.DNSPolicy != "" {
		v.DNSPolicy = pod.DNSPolicy
	}
	v.DNSConfig, v.InitContainers, v.NodeSelector, v.Tolerations, v.ExtraVolumes = pod.DNSConfig, pod.InitContainers, pod.NodeSelector, pod.Tolerations, pod.Volumes
	if pod.SecurityContext != nil && !equality.Semantic.DeepEqual(pod.SecurityContext, &corev1.PodSecurityContext{}) {
		v.PodSecurityContext = pod.SecurityContext
	}
	if !equality.Semantic.DeepEqual(pod.Affinity, theirs.Affinity) {
		v.Affinity = pod.Affinity
	}
	if !equality.Semantic.DeepEqual(pod.TopologySpreadConstraints, theirs.TopologySpreadConstraints) {
		v.TopologySpreadConstraints = pod.TopologySpreadConstraints
	}
	if c.ImagePullPolicy != "" {
		v.ImagePullPolicy = c.ImagePullPolicy
	}
	if c.Name != "" {
		v.Controller.ContainerName = c.Name
	}
	v.Controller.EnvFrom, v.Controller.Resources, v.Controller.ExtraVolumeMounts = c.EnvFrom, c.Resources, c.VolumeMounts
	if x := c.SecurityContext; x != nil {
		if !equality.Semantic.DeepEqual(x.SeccompProfile, ours.SecurityContext.SeccompProfile) && x.SeccompProfile != nil {
			v.Controller.SecurityContext.SeccompProfile = x.SeccompProfile
		}
		if x.AppArmorProfile != nil {
			v.Controller.SecurityContext.AppArmorProfile = x.AppArmorProfile
		}
		if x.SELinuxOptions != nil {
			v.Controller.SecurityContext.SELinuxOptions = x.SELinuxOptions
		}
	}
	for i := range pod.Containers {
		if pod.Containers[i].Name != c.Name {
			side := pod.Containers[i]
			// The chart gives these mounts to every container beside the controller.
			side.VolumeMounts = slices.DeleteFunc(slices.Clone(side.VolumeMounts), func(m corev1.VolumeMount) bool { return slices.Contains(c.VolumeMounts, m) })
			v.Controller.SidecarContainer = append(v.Controller.SidecarContainer, side)
		}
	}
	for _, p := range c.Ports {
		switch p.Name {
		case manifests.MetricsPort:
			v.Controller.Metrics.Port = p.ContainerPort
		case manifests.HealthPort:
			v.Controller.HealthProbe.Port = p.ContainerPort
		}
	}
	s.environmentValues(v)
	out := differing(treeOf(manifests.Defaults()), treeOf(v))
	for path, value := range s.chosen() {
		var plain any = value
		if name := path[strings.LastIndexByte(path, '.')+1:]; !textSettings[name] {
			_ = yaml.Unmarshal([]byte(value), &plain)
		}
		put(out, path, plain)
	}
	return out
}

// textSettings are the settings that are texts, whatever they look like.
var textSettings = func() map[string]bool {
	out := map[string]bool{"reservedENIs": true}
	t := reflect.TypeFor[manifests.Settings]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = out[name] || t.Field(i).Type.Kind() == reflect.String
	}
	return out
}()

// environmentValues puts the container's variables into values: those that the chart has no value for become controller.env.
func (s *Seen) environmentValues(v *manifests.Values) {
	env := s.environment()
	if level := env["LOG_LEVEL"]; level != "" {
		v.LogLevel = level
	}
	for name, into := range map[string]*[]string{"LOG_OUTPUT_PATHS": &v.LogOutputPaths, "LOG_ERROR_OUTPUT_PATHS": &v.LogErrorOutputPaths} {
		if env[name] != "" {
			*into = strings.Split(env[name], ",")
		}
	}
	said := map[string]bool{"KERF_COMPAT": true}
	for _, name := range chartSets {
		said[name] = true
	}
	t := reflect.TypeFor[manifests.Settings]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		said[strings.ToLower(name)] = true
	}
	add := func(e corev1.EnvVar) {
		if !said[e.Name] && !said[strings.ToLower(strings.ReplaceAll(e.Name, "_", ""))] {
			v.Controller.Env = append(v.Controller.Env, e)
		}
	}
	c := container(s.Deployment)
	flags := s.flags()
	for i, e := range c.Env {
		_, beaten := flags[e.Name]
		if !beaten && !slices.ContainsFunc(c.Env[i+1:], func(later corev1.EnvVar) bool { return later.Name == e.Name }) {
			add(e)
		}
	}
	for _, name := range sortedKeys(flags) {
		add(corev1.EnvVar{Name: name, Value: flags[name]})
	}
}

func deploymentOfDefaults(r manifests.Release) *appsv1.Deployment {
	v := manifests.Defaults()
	v.Settings.ClusterName = "cluster"
	objects, err := manifests.Objects(r, v)
	if err != nil { // a name that Kubernetes refuses, which no Deployment that is there can have
		objects, err = manifests.Objects(manifests.Release{}, v)
	}
	if err != nil {
		panic(fmt.Sprintf("the chart's defaults can't be rendered: %v", err))
	}
	return deploymentOf(objects)
}

func without(labels, but map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		if b, ok := but[k]; !ok || b != v {
			out[k] = v
		}
	}
	return out
}

func treeOf(v *manifests.Values) map[string]any {
	out := map[string]any{}
	text, err := yaml.Marshal(v)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("values can't be written: %v", err))
	}
	return out
}

// differing are the values of a tree that differ from another one's, so that one over the other gives the first; what is gone
// is null.
func differing(base, want map[string]any) map[string]any {
	out := map[string]any{}
	for k, b := range base {
		if _, ok := want[k]; !ok && !isEmpty(b) {
			out[k] = nil
		}
	}
	for k, w := range want {
		b, ok := base[k]
		bt, isTree := b.(map[string]any)
		wt, alsoTree := w.(map[string]any)
		switch {
		case ok && (isEmpty(b) && isEmpty(w) || reflect.DeepEqual(b, w)):
		case isTree && alsoTree:
			if d := differing(bt, wt); len(d) > 0 {
				out[k] = d
			}
		case isEmpty(w) && isTree:
			out[k] = nil
		default:
			out[k] = w
		}
	}
	return out
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}
