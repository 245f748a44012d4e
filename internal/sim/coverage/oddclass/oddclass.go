// Package oddclass makes EC2NodeClasses that people might write: good ones, ones that the CRD admits although they make no
// sense, and ones that it refuses. Equal seeds give equal classes. Tests hold them against two CRDs, and against the
// provider, which none of them may bring down.
package oddclass

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Spec is the spec of a class as it would come out of JSON.
//
// The cluster's discovery tag is among the values of selectors, so that a good share of the specs select something.
func Spec(seed uint64, cluster string) map[string]any {
	g := maker{Rand: rand.New(rand.NewPCG(seed, 0x6b657266)), cluster: cluster}
	spec := map[string]any{
		"subnetSelectorTerms":        g.terms(4, "subnet-"),
		"securityGroupSelectorTerms": g.terms(4, "sg-"),
		"amiSelectorTerms":           g.images(),
	}
	if g.chance(8) {
		spec["instanceProfile"] = g.text()
	} else {
		spec["role"] = pick(g, "KarpenterNodeRole-"+cluster, "KarpenterNodeRole-"+cluster, "team/KarpenterNodeRole-"+cluster, "absent", g.text())
	}
	for _, f := range fields {
		if g.chance(9) {
			spec[f.name] = f.value(g)
		}
	}
	// Slips: a required part that is missing, a list that is empty or too long, a field of another kind.
	switch g.IntN(40) {
	case 0:
		delete(spec, pick(g, "subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms", "role", "instanceProfile"))
	case 1:
		spec[pick(g, "subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms")] = []any{}
	case 2:
		spec["subnetSelectorTerms"] = g.terms(40, "subnet-")
	case 3:
		spec["role"], spec["instanceProfile"] = "one", "two"
	case 4:
		spec["userData"] = 7
	case 5:
		spec["unknownField"] = "x"
	}
	return spec
}

// maker draws the parts of one spec.
type maker struct {
	*rand.Rand
	cluster string
}

// chance is true once in n.
func (g maker) chance(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g maker, values ...T) T { return values[g.IntN(len(values))] }

// text is a word, now and then one that nobody expects.
func (g maker) text() string {
	return pick(g, "x", "name-1", "", " ", "a b", "ä€🦀", "../..", "${CLUSTER}", "*", strings.Repeat("l", 300), "two\nlines", "\x00", "-1", "arn:aws:iam::1:role/x", "%s%d", `"`, "null")
}

// number is a number around the borders of most rules.
func (g maker) number() int64 {
	return pick[int64](g, -1, 0, 1, 2, 29, 30, 59, 60, 61, 64, 65, 100, 101, 180, 181, 300, 301, 110, 432000, 432001, 1<<31-1, 1<<31, 1<<53)
}

func (g maker) tags() map[string]any {
	out := map[string]any{}
	for range g.IntN(3) {
		key := pick(g, "karpenter.sh/discovery", "team", "Name", "", "aws:x", "karpenter.sh/other", "eks:eks-cluster-name", "kubernetes.io/cluster/x",
			"kubernetes.io/clusterfoo", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", g.text())
		out[key] = pick(g, "*", "blue", "", g.cluster, g.text())
	}
	return out
}

// terms are selector terms of subnets or security groups.
func (g maker) terms(most int, prefix string) []any {
	good := map[string]any{"tags": map[string]any{"karpenter.sh/discovery": g.cluster}}
	if g.chance(2) {
		return []any{good}
	}
	var out []any
	for range 1 + g.IntN(most) {
		t := map[string]any{}
		switch g.IntN(4) {
		case 0:
			t = good
		case 1:
			t["id"] = prefix + pick(g, "0", "0a1b", "", "!", "ABC")
		case 2:
			t["tags"] = g.tags()
		default:
			t["tags"], t["id"] = g.tags(), prefix+"0a1b"
		}
		if prefix == "sg-" && g.chance(4) {
			t["name"] = g.text()
		}
		out = append(out, t)
	}
	return out
}

// images are selector terms of images.
func (g maker) images() []any {
	alias := func() string {
		return pick(g, "al2", "al2023", "bottlerocket", "windows2019", "windows2022", "windows2025", "Al2023", "ubuntu") +
			"@" + pick(g, "latest", "latest", "latest", "v20240807", "v1.20.3", "1.20", "foo bar", "", "@", "v", strings.Repeat("9", 30))
	}
	if g.chance(2) {
		return []any{map[string]any{"alias": pick(g, "al2023@latest", "bottlerocket@latest", "al2@latest", alias())}}
	}
	var out []any
	for range 1 + g.IntN(3) {
		t := map[string]any{}
		switch g.IntN(6) {
		case 0:
			t["id"] = pick(g, "ami-0", "ami-0123456789abcdef0", "ami-", "x")
		case 1:
			t["name"] = pick(g, "amazon-eks-node-*", "*", g.text())
		case 2:
			t["tags"] = g.tags()
		case 3:
			t["ssmParameter"] = pick(g, "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id", "/absent", g.text())
		case 4:
			t["alias"] = alias()
		default:
			t["id"], t["name"] = "ami-0", "x"
		}
		if g.chance(4) {
			t["owner"] = pick(g, "self", "amazon", "123456789012", g.text())
		}
		if g.chance(8) {
			t["tags"] = g.tags()
		}
		if g.chance(12) {
			t["ssmParameter"] = "/absent"
		}
		out = append(out, t)
	}
	return out
}

// Name is the name for the class of a seed.
func Name(seed uint64) string { return fmt.Sprintf("odd-%d", seed) }
