package userdata

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Where settings of the kubelet went.
const (
	toLabels = "NodePool spec.template.metadata.labels"
	toTaints = "NodePool spec.template.spec.taints"
)

var (
	reservable      = []string{"cpu", "memory", "ephemeral-storage", "pid"}
	evictionSignals = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
)

// kubeletFlags reads a command line of the kubelet. It returns why it can't be read.
func (f *Found) kubeletFlags(line string) (why string) {
	words, ok := flagWords(line)
	if !ok {
		return "the kubelet's flags " + strconv.Quote(line) + " are not understood"
	}
	for i := 0; i < len(words); i++ {
		name, value, inOne := strings.Cut(words[i].text, "=")
		computed := words[i].computed
		if !strings.HasPrefix(name, "-") {
			return "the kubelet's flags " + strconv.Quote(line) + " are not understood"
		}
		if !inOne && i+1 < len(words) && !strings.HasPrefix(words[i+1].text, "-") {
			i++
			value, computed = words[i].text, words[i].computed
		}
		if computed {
			return "the value of the kubelet's flag " + name + " is worked out at boot"
		}
		if err := f.kubeletFlag("--"+strings.TrimLeft(name, "-"), value); err != nil {
			return err.Error()
		}
	}
	return ""
}

// flagWords splits a line at blanks outside of quotes. Nothing else means anything here: the line goes into a unit file, not
// through a shell.
func flagWords(line string) (words []shellWord, ok bool) {
	var w shellWord
	var quote rune
	in := false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				words = append(words, w)
			}
			w, in = shellWord{}, false
		default:
			w.text += string(c)
			w.computed = w.computed || c == '$' || c == '`'
			in = true
		}
	}
	if in {
		words = append(words, w)
	}
	return words, quote == 0
}

// kubeletFlag reads one flag of the kubelet.
func (f *Found) kubeletFlag(name, value string) error {
	k := &f.Kubelet
	switch name {
	case "--node-labels":
		f.labels(name, value)
	case "--register-with-taints":
		return f.taints(name, value)
	case "--max-pods":
		return f.number(name, value, &k.MaxPods, "maxPods")
	case "--pods-per-core":
		return f.number(name, value, &k.PodsPerCore, "podsPerCore")
	case "--eviction-max-pod-grace-period":
		return f.number(name, value, &k.EvictionMaxPodGracePeriod, "evictionMaxPodGracePeriod")
	case "--image-gc-high-threshold":
		return f.number(name, value, &k.ImageGCHighThresholdPercent, "imageGCHighThresholdPercent")
	case "--image-gc-low-threshold":
		return f.number(name, value, &k.ImageGCLowThresholdPercent, "imageGCLowThresholdPercent")
	case "--system-reserved":
		f.pairs(name, splitPairs(value, "="), &k.SystemReserved, "systemReserved", reservable)
	case "--kube-reserved":
		f.pairs(name, splitPairs(value, "="), &k.KubeReserved, "kubeReserved", reservable)
	case "--eviction-hard":
		f.pairs(name, splitPairs(value, "<"), &k.EvictionHard, "evictionHard", evictionSignals)
	case "--eviction-soft":
		f.pairs(name, splitPairs(value, "<"), &k.EvictionSoft, "evictionSoft", evictionSignals)
	case "--eviction-soft-grace-period":
		f.pairs(name, splitPairs(value, "="), &k.EvictionSoftGracePeriod, "evictionSoftGracePeriod", evictionSignals)
	case "--cluster-dns":
		k.ClusterDNS = strings.Split(value, ",")
		f.moved(name, "spec.kubelet.clusterDNS")
	case "--cpu-cfs-quota":
		on, err := strconv.ParseBool(value)
		if err != nil && value != "" {
			return fmt.Errorf("the kubelet's flag %s=%s is neither true nor false", name, value)
		}
		k.CPUCFSQuota = new(on || value == "")
		f.moved(name, "spec.kubelet.cpuCFSQuota")
	default:
		f.dropped(strings.TrimSuffix(name+"="+value, "="), "this flag of the kubelet has no field in the API",
			"set it in the kubelet's configuration file, by commands in spec.userData, if it is still needed")
	}
	return nil
}

func (f *Found) labels(name, value string) {
	for _, pair := range strings.Split(value, ",") {
		key, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case key == "":
		case key == karpv1.DoNotSyncTaintsLabelKey:
			f.generated(name+" "+key, "the controller sets it where it needs it")
		default:
			f.label(key, v)
			f.moved(name+" "+key, toLabels)
		}
	}
}

func (f *Found) taints(name, value string) error {
	for _, text := range strings.Split(value, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		left, effect, ok := cutLast(text, ":")
		if !ok {
			return fmt.Errorf("the taint %q has no effect", text)
		}
		key, v, _ := strings.Cut(left, "=")
		f.taint(name, corev1.Taint{Key: key, Value: v, Effect: corev1.TaintEffect(effect)})
	}
	return nil
}

func (f *Found) taint(name string, t corev1.Taint) {
	if t.Key == karpv1.UnregisteredTaintKey {
		f.generated(name+" "+t.Key, "the user data that is written for the family has it")
		return
	}
	f.Taints = append(f.Taints, t)
	f.moved(name+" "+t.Key, toTaints)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (f *Found) number(name, value string, to **int32, field string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%s: %q is not a number", name, value)
	}
	*to = new(int32(n))
	f.moved(name, "spec.kubelet."+field)
	return nil
}

// pairs moves those pairs whose key the API knows.
func (f *Found) pairs(name string, in [][2]string, to *map[string]string, field string, known []string) {
	for _, p := range in {
		if !slices.Contains(known, p[0]) {
			f.dropped(name+" "+p[0], "the field "+field+" knows "+strings.Join(known, ", ")+" only", "see whether it is still needed")
			continue
		}
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[p[0]] = p[1]
	}
	if len(*to) > 0 {
		f.moved(name, "spec.kubelet."+field)
	}
}

func splitPairs(text, sep string) (out [][2]string) {
	for _, pair := range strings.Split(text, ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(pair), sep); ok {
			out = append(out, [2]string{key, value})
		}
	}
	return out
}

// empty reports whether nothing is set.
func empty(k *awsv1.KubeletConfiguration) bool {
	return k.MaxPods == nil && k.PodsPerCore == nil && len(k.ClusterDNS) == 0 && len(k.SystemReserved) == 0 && len(k.KubeReserved) == 0 &&
		len(k.EvictionHard) == 0 && len(k.EvictionSoft) == 0 && len(k.EvictionSoftGracePeriod) == 0 && k.EvictionMaxPodGracePeriod == nil &&
		k.ImageGCHighThresholdPercent == nil && k.ImageGCLowThresholdPercent == nil && k.CPUCFSQuota == nil
}

// KubeletOrNil is what the kubelet is told, nil when that is nothing.
func (f *Found) KubeletOrNil() *awsv1.KubeletConfiguration {
	if empty(&f.Kubelet) {
		return nil
	}
	return f.Kubelet.DeepCopy()
}
