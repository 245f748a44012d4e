package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
)

// Choices are the texts that a value takes which Kubernetes judges; empty where any text is taken, or the controller judges it.
func Choices(value string) []string {
	if value == unhealthyPods {
		return []string{string(policyv1.AlwaysAllow), string(policyv1.IfHealthyBudget)}
	}
	return nil
}

// Pattern is a regular expression for a value that is part of the image's name, the same in Go and in JavaScript; empty where any text
// is taken, or the controller judges it.
func Pattern(value string) string {
	switch value {
	case "controller.image.repository":
		return "^(|" + repositoryPattern + ")$"
	case "controller.image.tag":
		return "^(|" + tagPattern + ")$"
	case "controller.image.digest":
		return "^(|" + digestPattern + ")$"
	}
	return ""
}

// IsPort tells whether a value is a port of the container. The controller takes 0 for no port at all; Kubernetes refuses it, and
// probes need one.
func IsPort(value string) bool { return value == metricsPort || value == healthPort }

const (
	unhealthyPods = "podDisruptionBudget.unhealthyPodEvictionPolicy"
	metricsPort   = "controller.metrics.port"
	healthPort    = "controller.healthProbe.port"
)

// checkObjects refuses values that Kubernetes would refuse.
func (i *installation) checkObjects() error {
	var errs []error
	if got := string(i.v.PodDisruptionBudget.UnhealthyPodEvictionPolicy); got != "" && !slices.Contains(Choices(unhealthyPods), got) {
		errs = append(errs, fmt.Errorf("value %s: %q, want %s", unhealthyPods, got, strings.Join(Choices(unhealthyPods), " or ")))
	}
	c := &i.v.Controller
	for _, p := range []struct {
		value string
		port  int32
	}{{metricsPort, c.Metrics.Port}, {healthPort, c.HealthProbe.Port}} {
		if p.port == 0 {
			errs = append(errs, fmt.Errorf("value %s: 0, want a port from 1 to 65535", p.value))
		}
	}
	return errors.Join(errs...)
}
