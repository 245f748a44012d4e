package boot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Kubelet is what an image's own start-up code makes of user data: the kubelet's cluster, identity on the node object
// and reservations.
type Kubelet struct {
	ClusterName string
	Endpoint    string
	CA          string // base64 PEM
	ServiceCIDR string
	ClusterDNS  []string
	// GuessCIDR says that the image takes the service CIDR from the instance's address.
	GuessCIDR bool

	Labels map[string]string
	Taints []corev1.Taint

	MaxPods        int // 0: none given
	PodsPerCore    int
	KubeReserved   map[string]string // by resource; what the image's own formula gives is filled in later
	SystemReserved map[string]string
	EvictionHard   map[string]string // by signal
	EvictionSoft   map[string]string // by signal
	EvictionGrace  map[string]string // how long a soft threshold may be passed, by signal

	EvictionMaxPodGrace int   // seconds
	ImageGCHigh         *int  // percent of the disk from which unused images are deleted; nil: the kubelet's own
	ImageGCLow          *int  // percent of the disk down to which they are
	CPUCFSQuota         *bool // nil: the kubelet's own, which is true
	// ReservedReplaced and EvictionReplaced say that the settings came as flags, which replace the image's whole map
	// where a configuration file would only replace the keys that it names.
	ReservedReplaced bool
	EvictionReplaced bool

	// NoMaxPodsDefault leaves the kubelet's own limit of pods in force when MaxPods is not given.
	NoMaxPodsDefault bool
	RAID0            bool // instance-store disks are the node's ephemeral storage

	Notes []string // what was read and not used, for the boot log
}

func newKubelet() *Kubelet {
	return &Kubelet{
		Labels: map[string]string{}, KubeReserved: map[string]string{}, SystemReserved: map[string]string{},
		EvictionHard: map[string]string{}, EvictionSoft: map[string]string{}, EvictionGrace: map[string]string{},
	}
}

func (k *Kubelet) notef(format string, args ...any) {
	k.Notes = append(k.Notes, fmt.Sprintf(format, args...))
}

// ownLabels are the labels of the kubernetes.io domain that a kubelet may set on itself; others of that domain stop it
// from starting.
var ownLabels = []string{
	"beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
	"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
	"kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os", "node.kubernetes.io/instance-type",
	"topology.kubernetes.io/region", "topology.kubernetes.io/zone",
}

var ownLabelDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}

// start does the checks that a kubelet does before it registers. The error is why it would not start.
func (k *Kubelet) start() error {
	var refused, invalid []string
	for _, key := range slices.Sorted(maps.Keys(k.Labels)) {
		if inKubernetesDomain(key) && !slices.Contains(ownLabels, key) && !inOwnDomain(key) {
			refused = append(refused, key)
		}
		problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(k.Labels[key])...)
		if len(problems) > 0 {
			invalid = append(invalid, fmt.Sprintf("%q=%q: %s", key, k.Labels[key], strings.Join(problems, "; ")))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("the kubelet does not start: --node-labels has labels of the kubernetes.io or k8s.io domain that a kubelet may not set on itself: %s",
			strings.Join(refused, ", "))
	}
	if len(invalid) > 0 {
		return fmt.Errorf("the kubelet does not start: invalid node labels: %s", strings.Join(invalid, ", "))
	}
	for _, t := range k.Taints {
		if err := checkTaint(t); err != nil {
			return fmt.Errorf("the kubelet does not start: %w", err)
		}
	}
	if k.MaxPods < 0 || k.PodsPerCore < 0 {
		return fmt.Errorf("the kubelet does not start: maxPods %d and podsPerCore %d must not be negative", k.MaxPods, k.PodsPerCore)
	}
	if err := k.checkThresholds(); err != nil {
		return fmt.Errorf("the kubelet does not start: %w", err)
	}
	return nil
}

// checkThresholds makes sure that each soft threshold has its period of grace, and that images are deleted down to less
// than what their deletion starts at.
func (k *Kubelet) checkThresholds() error {
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		text, ok := k.EvictionGrace[signal]
		if !ok {
			return fmt.Errorf("no period of grace is given for the soft eviction threshold of %s", signal)
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return fmt.Errorf("the period of grace for %s is %q, which is no time", signal, text)
		}
	}
	high, low := 85, 80 // the kubelet's own
	if k.ImageGCHigh != nil {
		high = *k.ImageGCHigh
	}
	if k.ImageGCLow != nil {
		low = *k.ImageGCLow
	}
	if low < 0 || high > 100 || low >= high {
		return fmt.Errorf("imageGCLowThresholdPercent %d must be less than imageGCHighThresholdPercent %d, both between 0 and 100", low, high)
	}
	return nil
}

func labelDomain(key string) string {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return ""
	}
	return domain
}

func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

func inKubernetesDomain(key string) bool {
	d := labelDomain(key)
	return within(d, "kubernetes.io") || within(d, "k8s.io")
}

func inOwnDomain(key string) bool {
	d := labelDomain(key)
	return slices.ContainsFunc(ownLabelDomains, func(own string) bool { return within(d, own) })
}

func checkTaint(t corev1.Taint) error {
	if problems := validation.IsQualifiedName(t.Key); len(problems) > 0 {
		return fmt.Errorf("taint %q has an invalid key: %s", t.ToString(), strings.Join(problems, "; "))
	}
	if problems := validation.IsValidLabelValue(t.Value); len(problems) > 0 {
		return fmt.Errorf("taint %q has an invalid value: %s", t.ToString(), strings.Join(problems, "; "))
	}
	switch t.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return nil
	}
	return fmt.Errorf("taint %q has the effect %q, which does not exist", t.ToString(), t.Effect)
}

// parseTaint reads key=value:Effect or key:Effect.
func parseTaint(text string) (corev1.Taint, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return corev1.Taint{}, fmt.Errorf("taint %q has no effect; it must be key=value:Effect", text)
	}
	key, value, _ := strings.Cut(text[:colon], "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(text[colon+1:])}
	return t, checkTaint(t)
}
