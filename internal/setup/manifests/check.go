package manifests

import (
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
)

// Choices are the texts that a value takes which Kubernetes judges; empty where any text is taken, or the controller judges it.
func Choices(value string) []string {
	if value == "podDisruptionBudget.unhealthyPodEvictionPolicy" {
		return []string{string(policyv1.AlwaysAllow), string(policyv1.IfHealthyBudget)}
	}
	return nil
}

// checkObjects refuses values that Kubernetes would refuse.
func (i *installation) checkObjects() error {
	const policy = "podDisruptionBudget.unhealthyPodEvictionPolicy"
	if got := string(i.v.PodDisruptionBudget.UnhealthyPodEvictionPolicy); got != "" && !slices.Contains(Choices(policy), got) {
		return fmt.Errorf("value %s: %q, want %s", policy, got, strings.Join(Choices(policy), " or "))
	}
	return nil
}
