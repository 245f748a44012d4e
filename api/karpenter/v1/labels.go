package v1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// LabelRules tells which label keys have a meaning of their own, which users may not name, and
// which keys are other names of a key. A value is not changed after it was made, so it may be
// shared.
type LabelRules struct {
	wellKnown map[string]bool
	domains   []string
	aliases   map[string]string
}

// CoreLabelRules returns the rules that hold whatever the cloud is.
func CoreLabelRules() LabelRules {
	return LabelRules{
		domains: []string{Group},
		wellKnown: map[string]bool{
			NodePoolLabelKey:               true,
			CapacityTypeLabelKey:           true,
			corev1.LabelTopologyZone:       true,
			corev1.LabelTopologyRegion:     true,
			corev1.LabelInstanceTypeStable: true,
			corev1.LabelArchStable:         true,
			corev1.LabelOSStable:           true,
			corev1.LabelWindowsBuild:       true,
		},
		aliases: map[string]string{
			corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
			corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
			corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
			"beta.kubernetes.io/arch":           corev1.LabelArchStable,
			"beta.kubernetes.io/os":             corev1.LabelOSStable,
		},
	}
}

// With returns the rules with those of a cloud added: its well-known keys, the domains of which
// only well-known keys may be named, and further names of keys.
func (r LabelRules) With(wellKnown, domains []string, aliases map[string]string) LabelRules {
	next := LabelRules{
		wellKnown: maps.Clone(r.wellKnown),
		domains:   append(slices.Clone(r.domains), domains...),
		aliases:   maps.Clone(r.aliases),
	}
	for _, key := range wellKnown {
		next.wellKnown[key] = true
	}
	maps.Copy(next.aliases, aliases)
	return next
}

// WellKnown returns the well-known keys in order.
func (r LabelRules) WellKnown() []string { return slices.Sorted(maps.Keys(r.wellKnown)) }

// IsWellKnown reports whether instance types and offerings define the key.
func (r LabelRules) IsWellKnown(key string) bool { return r.wellKnown[key] }

// Aliases returns the keys that are other names, with the key that each stands for.
func (r LabelRules) Aliases() map[string]string { return maps.Clone(r.aliases) }

// Normalize returns the key that the given key stands for.
func (r LabelRules) Normalize(key string) string {
	if stable, found := r.aliases[key]; found {
		return stable
	}
	return key
}

// Restricted returns why users may not name the key, and what to do instead; empty if they may.
func (r LabelRules) Restricted(key string) string {
	if r.wellKnown[key] {
		return ""
	}
	if key == corev1.LabelHostname {
		return "every node has its own host name; remove it"
	}
	domain, _, _ := strings.Cut(key, "/")
	for _, restricted := range r.domains {
		if domain == restricted || strings.HasSuffix(domain, "."+restricted) {
			return fmt.Sprintf("keys of the domain %s are set by the controller; use a domain of your own, or one of: %s",
				restricted, strings.Join(r.inDomain(restricted), ", "))
		}
	}
	return ""
}

func (r LabelRules) inDomain(domain string) []string {
	return slices.DeleteFunc(r.WellKnown(), func(key string) bool {
		return key == NodePoolLabelKey || !strings.HasPrefix(key, domain+"/")
	})
}
