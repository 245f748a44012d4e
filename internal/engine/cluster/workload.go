package cluster

import "strings"

// nameLabels are where people write what a pod is part of, the most telling first.
var nameLabels = []string{"app.kubernetes.io/name", "app", "k8s-app", "app.kubernetes.io/instance", "job-name", "batch.kubernetes.io/job-name"}

// Workload names what a pod is part of, without its namespace: by its labels, or by its own name without what controllers append.
func (p *Pod) Workload() string {
	for _, label := range nameLabels {
		if name := p.Class.Labels[label]; name != "" {
			return name
		}
	}
	parts := strings.Split(p.Name, "-")
	for len(parts) > 1 && appended(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "-")
}

// appended reports whether a part of a name looks like what a controller appends: a number, or a hash of its alphabet.
func appended(part string) bool {
	if part == "" {
		return true
	}
	digits, safe := true, true
	for _, r := range part {
		digits = digits && r >= '0' && r <= '9'
		safe = safe && strings.ContainsRune("bcdfghjklmnpqrstvwxz2456789", r) // the alphabet of Kubernetes' generated names
	}
	return digits || safe && (len(part) == 5 || len(part) >= 8 && len(part) <= 10)
}
