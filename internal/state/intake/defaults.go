package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// SpreadSelector is a Lookup that also knows the selectors of what pods belong to. Default spread constraints need it.
type SpreadSelector interface {
	// SpreadSelector is what selects the pods that belong together with the pod: the selectors of all Services that select
	// it, and that of its ReplicationController, ReplicaSet or StatefulSet. Nil or empty: the pod belongs to nothing.
	SpreadSelector(pod *corev1.Pod) *metav1.LabelSelector
}

// pluginArgs are the arguments of kube-scheduler's topology spread plug-in.
type pluginArgs struct {
	metav1.TypeMeta    `json:",inline"`
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints"`
	DefaultingType     string                            `json:"defaultingType,omitempty"`
}

// ParseDefaultSpreads reads the topology spread constraints of pods that have none of their own, as YAML or JSON: a
// KubeSchedulerConfiguration, of which only the first profile's arguments of PodTopologySpread count, or those arguments
// alone. Empty text is no constraints.
//
// Errors name what is not known, not allowed or missing.
func ParseDefaultSpreads(text string) ([]corev1.TopologySpreadConstraint, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("is neither YAML nor JSON: %w", err)
	}
	var whole struct {
		Profiles []struct {
			PluginConfig []struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"pluginConfig"`
		} `json:"profiles"`
	}
	if json.Unmarshal(raw, &whole) == nil && len(whole.Profiles) > 0 {
		for _, plugin := range whole.Profiles[0].PluginConfig {
			if plugin.Name == "PodTopologySpread" {
				return parseArgs(plugin.Args)
			}
		}
		return nil, errors.New("the first profile has no pluginConfig for PodTopologySpread")
	}
	return parseArgs(raw)
}

func parseArgs(raw []byte) ([]corev1.TopologySpreadConstraint, error) {
	var args pluginArgs
	if err := yaml.UnmarshalStrict(raw, &args); err != nil {
		return nil, fmt.Errorf("default constraints of PodTopologySpread: %w", err)
	}
	switch {
	case args.DefaultingType == "System":
		return nil, nil // those are soft and the scheduler's own
	case args.DefaultingType != "" && args.DefaultingType != "List":
		return nil, fmt.Errorf("defaultingType %q is neither List nor System", args.DefaultingType)
	case len(args.DefaultConstraints) == 0:
		return nil, errors.New("no defaultConstraints are given")
	}
	type identity struct {
		key  string
		what corev1.UnsatisfiableConstraintAction
	}
	seen := map[identity]bool{}
	for i, c := range args.DefaultConstraints {
		at := fmt.Sprintf("defaultConstraints[%d]", i)
		id := identity{c.TopologyKey, c.WhenUnsatisfiable}
		switch {
		case c.MaxSkew <= 0:
			return nil, fmt.Errorf("%s.maxSkew must be above zero", at)
		case c.TopologyKey == "":
			return nil, fmt.Errorf("%s.topologyKey is empty", at)
		case c.WhenUnsatisfiable != corev1.DoNotSchedule && c.WhenUnsatisfiable != corev1.ScheduleAnyway:
			return nil, fmt.Errorf("%s.whenUnsatisfiable is %q, not DoNotSchedule or ScheduleAnyway", at, c.WhenUnsatisfiable)
		case c.LabelSelector != nil || len(c.MatchLabelKeys) > 0:
			return nil, fmt.Errorf("%s must have neither labelSelector nor matchLabelKeys: the selector is that of the pod's Services and controller", at)
		case seen[id]:
			return nil, fmt.Errorf("%s repeats topologyKey %s with %s", at, c.TopologyKey, c.WhenUnsatisfiable)
		}
		seen[id] = true
	}
	return args.DefaultConstraints, nil
}

// withDefaults is the pod with the default constraints if it has none of its own and belongs to something; otherwise the
// pod itself.
func (c *Compiler) withDefaults(pod *corev1.Pod, look Lookup) *corev1.Pod {
	if len(c.DefaultSpreads) == 0 || len(pod.Spec.TopologySpreadConstraints) > 0 {
		return pod
	}
	finder, ok := look.(SpreadSelector)
	if !ok {
		return pod
	}
	selector := finder.SpreadSelector(pod)
	if selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return pod
	}
	with := *pod
	with.Spec.TopologySpreadConstraints = slices.Clone(c.DefaultSpreads)
	for i := range with.Spec.TopologySpreadConstraints {
		with.Spec.TopologySpreadConstraints[i].LabelSelector = selector
	}
	return &with
}

// JoinSelectors is the selector of pods that belong together: the labels that Services select by, later ones
// overwriting, and the selector of the controller beside them. A ReplicationController's labels count like a Service's.
//
// Source: kube-scheduler, default selector of the topology spread plug-in, v1.36.
func JoinSelectors(services []map[string]string, controller *metav1.LabelSelector) *metav1.LabelSelector {
	out := &metav1.LabelSelector{}
	for _, s := range services {
		if out.MatchLabels == nil {
			out.MatchLabels = map[string]string{}
		}
		maps.Copy(out.MatchLabels, s)
	}
	if controller == nil {
		return out
	}
	for _, k := range slices.Sorted(maps.Keys(controller.MatchLabels)) {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: k, Operator: metav1.LabelSelectorOpIn, Values: []string{controller.MatchLabels[k]}})
	}
	out.MatchExpressions = append(out.MatchExpressions, controller.MatchExpressions...)
	return out
}
