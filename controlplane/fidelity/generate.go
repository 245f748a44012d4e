package fidelity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names that all cases share.
const (
	caseLabel   = "fidelity.test/case" // on every object that is not in a namespace of ours
	daemonLabel = "fidelity.test/daemon"
	spaceA      = "fidelity-a"
	spaceB      = "fidelity-b"
	spaceD      = "fidelity-daemons"

	runtimeClass = "fidelity" // takes something of its own from the node

	teamKey = "example.com/team" // a label that pools give their instances
	tierKey = "example.com/tier" // a label that pools leave open between values
	rankKey = "example.com/rank" // a number that pools bound
	anyKey  = "example.com/any"  // a label that a pool allows with any value
)

// features are what a seed can make frequent. Everything else is there too, but seldom.
var features = []string{
	"selectors", "affinity", "preferences", "tolerations", "spread-zone", "spread-host", "spread-other", "spread-soft",
	"pod-affinity", "anti-affinity", "host-ports", "volumes", "attach-limits", "init-containers", "existing", "daemons",
	"taints", "leaving", "limits", "min-values", "reserved", "custom-labels", "priorities", "too-much", "gpus", "weights",
	"in-flight", "hosts-by-name", "host-network", "foreign-nodes", "terminating",
}

// namespaces are those in which pods of cases live.
func namespaces() []*corev1.Namespace {
	var out []*corev1.Namespace
	for name, side := range map[string]string{spaceA: "left", spaceB: "right"} {
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"side": side, "kind": "fidelity", corev1.LabelMetadataName: name}}})
	}
	return append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: spaceD, Labels: map[string]string{corev1.LabelMetadataName: spaceD}}})
}

// generator draws the parts of one case.
type generator struct {
	rng    *rand.Rand
	often  map[string]bool
	c      *Case
	serial map[string]int
}

// Generate makes the case of a seed, in which those features are frequent that the seed chooses, and the given ones.
//
// Errors: a feature that does not exist; the embedded facts lack the types that cases draw from.
func Generate(seed uint64, frequent ...string) (*Case, error) {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0xf1de)), often: map[string]bool{}, c: &Case{Seed: seed}, serial: map[string]int{}}
	for range 3 + g.rng.IntN(5) {
		f := features[g.rng.IntN(len(features))]
		if !g.often[f] {
			g.c.Features = append(g.c.Features, f)
		}
		g.often[f] = true
	}
	for _, f := range frequent {
		if !slices.Contains(features, f) {
			return nil, fmt.Errorf("generate case %d: there is no feature %q; there are %s", seed, f, strings.Join(features, ", "))
		}
		g.often[f] = true
	}
	var err error
	if g.c.Types, err = drawTypes(g.rng, g.maybe("reserved"), g.maybe("attach-limits")); err != nil {
		return nil, fmt.Errorf("generate case %d: %w", seed, err)
	}
	g.c.AnyOffering = g.one(2)
	g.c.BestEffort = g.one(3)
	g.c.IgnorePreferences = g.one(4)
	g.c.PreferenceShare = pick(g, 0, 0, 0.5, -1)
	g.pools()
	g.daemons()
	g.storage()
	groups := g.groups()
	g.nodes(groups)
	g.inFlight()
	for _, grp := range groups {
		for range grp.count {
			if len(g.c.Pending) < maxPods {
				g.c.Pending = append(g.c.Pending, g.podOf(grp))
				g.leave(g.c.Pending[len(g.c.Pending)-1])
			}
		}
	}
	return g.c, nil
}

// maxPods keeps cases small enough that a person can understand one.
const maxPods = 28

// maybe is seldom true, and mostly for the features that the seed made frequent.
func (g *generator) maybe(feature string) bool {
	if g.often[feature] {
		return g.rng.IntN(100) < 60
	}
	return g.rng.IntN(100) < 4
}

// one is true once in n times.
func (g *generator) one(n int) bool { return g.rng.IntN(n) == 0 }

// name numbers the objects of a kind.
func (g *generator) name(kind string) string {
	g.serial[kind]++
	return fmt.Sprintf("%s-%d", kind, g.serial[kind])
}

func pick[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

// some is a non-empty part of the values, in their order.
func some[T any](g *generator, from ...T) []T {
	var out []T
	for _, v := range from {
		if g.one(2) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, pick(g, from...))
	}
	return out
}
