// Package kubeletfields judges those fields of an EC2NodeClass's spec.kubelet that its schema does not list: whether the kubelet
// has them, and whether the nodes of the class's family get them. A field that no node would get is refused, not left out.
package kubeletfields

import (
	_ "embed" // the list of fields
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// Reasons of the condition ValidationSucceeded, as Karpenter 1.15 words them.
const (
	// Unsupported fields are those that the bootstrap of a family has no way for.
	Unsupported = "UnsupportedKubeletConfiguration"
	// ExpressionsDisabled is for expressions while the feature gate NodeClassCEL is off.
	ExpressionsDisabled = "KubeletExpressionsDisabled"
)

// maxPods is the one listed field whose value may be a text: an expression.
const maxPods = "maxPods"

// Refusal is why a class can't be used.
type Refusal struct{ Reason, Message string }

// Check returns what stands against a class's spec.kubelet, nil for nothing.
func Check(class *awsv1.EC2NodeClass) *Refusal {
	k := class.Spec.Kubelet
	if k == nil {
		return nil
	}
	if found := expressions(k); len(found) > 0 {
		return &Refusal{ExpressionsDisabled, fmt.Sprintf("spec.kubelet: %s: an expression; Kerf does not evaluate expressions yet (feature gate NodeClassCEL): write a number or a quantity", strings.Join(found, ", "))}
	}
	if class.ResolvedAMIFamily() == awsv1.AMIFamilyBottlerocket && class.Spec.LaunchTemplate == nil {
		if why := bottlerocket(k); why != "" {
			return &Refusal{Unsupported, why}
		}
	}
	names := slices.Sorted(maps.Keys(k.Others))
	if len(names) == 0 {
		return nil
	}
	if _, ok := k.Others["registerWithTaints"]; ok {
		return &Refusal{awsv1.ReasonSpecInvalid, "spec.kubelet.registerWithTaints: taints of nodes are those of their NodePool: set spec.template.spec.taints or startupTaints there"}
	}
	switch family := class.ResolvedAMIFamily(); family {
	case awsv1.AMIFamilyAL2023, awsv1.AMIFamilyCustom:
	default:
		return &Refusal{Unsupported, fmt.Sprintf("spec.kubelet: nodes of the family %s have no way to get %s: remove it, set it in spec.userData, or use AL2023", family, strings.Join(names, ", "))}
	}
	for _, name := range names {
		if err := judge(name, k.Others[name]); err != nil {
			return &Refusal{awsv1.ReasonSpecInvalid, fmt.Sprintf("spec.kubelet.%s: %v", name, err)}
		}
	}
	return nil
}

// bottlerocket returns what Bottlerocket has no setting for, empty for nothing. The image refuses all its settings for one such.
// Source: bottlerocket-os/bottlerocket-settings-sdk, KubernetesReservedResourceKey and KubernetesThresholdValue.
func bottlerocket(k *awsv1.KubeletConfiguration) string {
	for _, reserved := range []struct {
		name string
		m    map[string]string
	}{{"kubeReserved", k.KubeReserved}, {"systemReserved", k.SystemReserved}} {
		for _, key := range slices.Sorted(maps.Keys(reserved.m)) {
			if key != "cpu" && key != "memory" && key != "ephemeral-storage" {
				return fmt.Sprintf("spec.kubelet.%s[%s]: Bottlerocket reserves cpu, memory and ephemeral-storage only, and refuses all settings for another: remove it, or use AL2023", reserved.name, key)
			}
		}
	}
	for _, eviction := range []struct {
		name string
		m    map[string]string
	}{{"evictionHard", k.EvictionHard}, {"evictionSoft", k.EvictionSoft}} {
		for _, signal := range slices.Sorted(maps.Keys(eviction.m)) {
			share, ok := strings.CutSuffix(eviction.m[signal], "%")
			if p, err := strconv.ParseFloat(share, 32); ok && err == nil && p >= 100 {
				return fmt.Sprintf("spec.kubelet.%s[%s]: Bottlerocket takes percentages below 100%%, and refuses all settings for another: write 0%%, which switches the threshold off too", eviction.name, signal)
			}
		}
	}
	return ""
}

//go:embed fields.txt
var fields string

// kinds are the fields of the kubelet's configuration with the kind of their value.
var kinds = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(fields) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			out[name] = kind
		}
	}
	return out
})

// judge checks that the kubelet has a field, and that its value is of the field's kind. What is inside lists and objects is the
// kubelet's to judge.
func judge(name string, value json.RawMessage) error {
	kind, ok := kinds()[name]
	if !ok {
		return errors.New("the kubelet's configuration (kubelet.config.k8s.io/v1beta1) has no such field; a newer kubelet's goes into spec.userData")
	}
	var into any
	switch kind {
	case "string", "duration":
		into = new(string)
	case "bool":
		into = new(bool)
	case "integer":
		into = new(int64)
	case "number":
		into = new(float64)
	case "list":
		into = new([]any)
	case "object":
		into = new(map[string]any)
	}
	if json.Unmarshal(value, into) != nil {
		return fmt.Errorf("%s: want a value of the kind %s", value, kind)
	}
	if text, ok := into.(*string); ok && kind == "duration" {
		if _, err := time.ParseDuration(*text); err != nil {
			return fmt.Errorf("%s: want a duration such as 1m30s", value)
		}
	}
	return nil
}

// expressions are the settings whose value is an expression, by path.
func expressions(k *awsv1.KubeletConfiguration) (found []string) {
	var text string
	if json.Unmarshal(k.Others[maxPods], &text) == nil && text != "" {
		found = append(found, fmt.Sprintf("%s %q", maxPods, text))
	}
	for _, reserved := range []struct {
		name string
		m    map[string]string
	}{{"kubeReserved", k.KubeReserved}, {"systemReserved", k.SystemReserved}} {
		for _, key := range slices.Sorted(maps.Keys(reserved.m)) {
			if value := reserved.m[key]; strings.ContainsAny(value, " (*/") {
				if _, err := resource.ParseQuantity(value); err != nil {
					found = append(found, fmt.Sprintf("%s[%s] %q", reserved.name, key, value))
				}
			}
		}
	}
	return found
}
