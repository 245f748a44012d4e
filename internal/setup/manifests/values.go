package manifests

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// Values are what an installation can be given. They are those of charts/kerf, by the same names, and those names are the
// ones that users of the Karpenter chart have in their files already; what Kerf adds is under settings.kerf, networkPolicy,
// viewers, prometheusRule, grafanaDashboards and compat.
type Values struct {
	NameOverride     string `json:"nameOverride"`
	FullnameOverride string `json:"fullnameOverride"`

	AdditionalLabels      map[string]string `json:"additionalLabels"`
	AdditionalAnnotations map[string]string `json:"additionalAnnotations"`

	ImagePullPolicy  corev1.PullPolicy             `json:"imagePullPolicy"`
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets"`

	Service                    ServiceValues        `json:"service"`
	ServiceAccount             ServiceAccountValues `json:"serviceAccount"`
	AdditionalClusterRoleRules []Rule               `json:"additionalClusterRoleRules"`
	Viewers                    ViewerValues         `json:"viewers"`
	ServiceMonitor             MonitorValues        `json:"serviceMonitor"`
	PrometheusRule             RuleValues           `json:"prometheusRule"`
	GrafanaDashboards          DashboardValues      `json:"grafanaDashboards"`
	NetworkPolicy              NetworkPolicyValues  `json:"networkPolicy"`

	Replicas             int32          `json:"replicas"`
	RevisionHistoryLimit int32          `json:"revisionHistoryLimit"`
	Strategy             map[string]any `json:"strategy"`

	PodLabels                     map[string]string                 `json:"podLabels"`
	PodAnnotations                map[string]string                 `json:"podAnnotations"`
	PodDisruptionBudget           BudgetValues                      `json:"podDisruptionBudget"`
	PodSecurityContext            *corev1.PodSecurityContext        `json:"podSecurityContext"`
	PriorityClassName             string                            `json:"priorityClassName"`
	TerminationGracePeriodSeconds *int64                            `json:"terminationGracePeriodSeconds"`
	HostNetwork                   bool                              `json:"hostNetwork"`
	SchedulerName                 string                            `json:"schedulerName"`
	DNSPolicy                     corev1.DNSPolicy                  `json:"dnsPolicy"`
	DNSConfig                     *corev1.PodDNSConfig              `json:"dnsConfig"`
	InitContainers                []corev1.Container                `json:"initContainers"`
	NodeSelector                  map[string]string                 `json:"nodeSelector"`
	Affinity                      *corev1.Affinity                  `json:"affinity"`
	TopologySpreadConstraints     []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	Tolerations                   []corev1.Toleration               `json:"tolerations"`
	ExtraVolumes                  []corev1.Volume                   `json:"extraVolumes"`

	Controller ControllerValues `json:"controller"`

	LogLevel            string   `json:"logLevel"`
	LogOutputPaths      []string `json:"logOutputPaths"`
	LogErrorOutputPaths []string `json:"logErrorOutputPaths"`

	Settings Settings `json:"settings"`

	// Variables are set in place of those that follow from the values. A file of values can't have them; they are for the local
	// cluster, which gives the controller what its user asked for.
	Variables map[string]string `json:"-"`
}

// ServiceValues are of the Service in front of the metrics.
type ServiceValues struct {
	Annotations map[string]string `json:"annotations"`
}

// ServiceAccountValues are of the controller's ServiceAccount.
type ServiceAccountValues struct {
	Create      bool              `json:"create"`
	Name        string            `json:"name"` // empty: as everything else is named
	Annotations map[string]string `json:"annotations"`
}

// ViewerValues are of those who may read decisions.
type ViewerValues struct {
	Create bool     `json:"create"`
	Users  []string `json:"users"`
	Groups []string `json:"groups"`
}

// MonitorValues are of the ServiceMonitor, for clusters with Prometheus Operator.
type MonitorValues struct {
	Enabled           bool              `json:"enabled"`
	AdditionalLabels  map[string]string `json:"additionalLabels"`
	Relabelings       []map[string]any  `json:"relabelings"`
	MetricRelabelings []map[string]any  `json:"metricRelabelings"`
	EndpointConfig    map[string]any    `json:"endpointConfig"`
	SampleLimit       *int64            `json:"sampleLimit"`
}

// RuleValues are of the PrometheusRule, for clusters with Prometheus Operator.
type RuleValues struct {
	Enabled          bool              `json:"enabled"`
	AdditionalLabels map[string]string `json:"additionalLabels"`
	Disabled         []string          `json:"disabled"` // names of alerts
}

// DashboardValues are of the ConfigMap with dashboards, for Grafana with a sidecar that looks for such.
type DashboardValues struct {
	Enabled     bool              `json:"enabled"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Namespace   string            `json:"namespace"` // empty: the release's
}

// NetworkPolicyValues are of the NetworkPolicy that lets in metrics and probes only.
type NetworkPolicyValues struct {
	Enabled bool `json:"enabled"`
}

// BudgetValues are of the PodDisruptionBudget.
type BudgetValues struct {
	Name           string              `json:"name"` // empty: as everything else is named
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
	// UnhealthyPodEvictionPolicy is AlwaysAllow where it is empty.
	UnhealthyPodEvictionPolicy policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy"`
}

// ControllerValues are of the controller's container.
type ControllerValues struct {
	ContainerName       string                      `json:"containerName"`
	Image               ImageValues                 `json:"image"`
	Env                 []corev1.EnvVar             `json:"env"`
	EnvFrom             []corev1.EnvFromSource      `json:"envFrom"`
	SecurityContext     SecurityValues              `json:"securityContext"`
	Resources           corev1.ResourceRequirements `json:"resources"`
	ExtraVolumeMounts   []corev1.VolumeMount        `json:"extraVolumeMounts"`
	SidecarContainer    []corev1.Container          `json:"sidecarContainer"`
	SidecarVolumeMounts []corev1.VolumeMount        `json:"sidecarVolumeMounts"`
	Metrics             PortValues                  `json:"metrics"`
	HealthProbe         PortValues                  `json:"healthProbe"`
}

// ImageValues name an image. An image of Karpenter's own is taken for what an upgrade with the values of its chart has left
// there, and Kerf's is used.
type ImageValues struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag"` // empty: the version
	Digest     string `json:"digest"`
}

// SecurityValues are the parts of the container's security context that differ from cluster to cluster.
type SecurityValues struct {
	AppArmorProfile *corev1.AppArmorProfile `json:"appArmorProfile"`
	SELinuxOptions  *corev1.SELinuxOptions  `json:"seLinuxOptions"`
	SeccompProfile  *corev1.SeccompProfile  `json:"seccompProfile"`
}

// PortValues are a port of the container.
type PortValues struct {
	Port int32 `json:"port"`
}

// Rule is a further rule of the ClusterRole.
type Rule struct {
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	Verbs           []string `json:"verbs"`
}

// With is a copy of the values with others over them, as Helm puts them: lists are replaced, objects are merged, null takes a
// value away. An empty object changes nothing, also where the value is a list: the Karpenter chart has such values.
//
// Values without effect (UnusedValues) are left out.
//
// Errors: a name that no value has, or a value of the wrong type, with its path.
func (v *Values) With(over map[string]any) (*Values, error) {
	base := map[string]any{}
	text, err := yaml.Marshal(v)
	if err == nil {
		err = yaml.Unmarshal(text, &base)
	}
	if err != nil {
		return nil, fmt.Errorf("merging values: %w", err)
	}
	base = merge(base, over, false)
	withoutUnused(base)
	return readValues(base)
}

// merge puts values over others. Helm leaves a null where the chart has no such value: with strict, merge does so as well.
func merge(base, over map[string]any, strict bool) map[string]any {
	for k, v := range over {
		b, isObject := base[k].(map[string]any)
		o, alsoObject := v.(map[string]any)
		_, known := base[k]
		switch {
		case v == nil && (known || !strict):
			delete(base, k)
		case known && alsoObject && len(o) == 0:
		case isObject && alsoObject:
			base[k] = merge(b, o, strict)
		default:
			base[k] = v
		}
	}
	return base
}
