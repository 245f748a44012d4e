package intake

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestAffinityMeansWhatTheSchedulerMeans compares, on random pods and nodes, what the converted terms admit with what
// the scheduler's own code admits.
func TestAffinityMeansWhatTheSchedulerMeans(t *testing.T) {
	keys := []string{"a", "b", "example.com/c"}
	values := []string{"1", "2", "30", "x", "y", ""}
	expression := rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		op := rapid.SampledFrom([]corev1.NodeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Bogus"}).Draw(t, "op")
		r := corev1.NodeSelectorRequirement{Key: rapid.SampledFrom(keys).Draw(t, "key"), Operator: op}
		switch op {
		case "In", "NotIn":
			r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 0, 3).Draw(t, "values")
		case "Gt", "Lt":
			r.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"1", "2", "15", "x"}), 1, 1).Draw(t, "bound")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		pod := &corev1.Pod{}
		pod.Spec.NodeSelector = rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 1).Draw(t, "selector")
		if rapid.Bool().Draw(t, "has affinity") {
			terms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.NodeSelectorTerm {
				return corev1.NodeSelectorTerm{MatchExpressions: rapid.SliceOfN(expression, 0, 3).Draw(t, "expressions")}
			}), 0, 3).Draw(t, "terms")
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 3).Draw(t, "labels")}}
		want, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
		if err != nil {
			want = false // the scheduler refuses the pod
			// A term that can't be read does not spoil the others for us, nor for the scheduler when another one matches.
		}
		class := NewCompiler().Class(pod, NoLookup{})
		got := class.Unplaceable == "" && admits(class.Selector, class.Affinity, node.Labels)
		if got != want {
			t.Fatalf("node %v: admitted %v, the scheduler says %v (%v)\nselector %v\naffinity %v\nunplaceable %q", node.Labels, got, want, err, class.Selector, class.Affinity, class.Unplaceable)
		}
	})
}

func admits(selector []requirement.Term, alternatives [][]requirement.Term, labels map[string]string) bool {
	vocab := requirement.NewVocabulary()
	node := vocab.Labels(labels)
	none := func(requirement.Key) bool { return false }
	meets := func(terms []requirement.Term) bool {
		// One at a time: what the engine makes of several together is its own affair.
		for _, term := range terms {
			r, err := vocab.Parse([]requirement.Term{term})
			if err != nil {
				panic(fmt.Sprintf("%v: %v", term, err))
			}
			if !node.Compatible(r, none) {
				return false
			}
		}
		return true
	}
	if !meets(selector) {
		return false
	}
	for _, a := range alternatives {
		if meets(a) {
			return true
		}
	}
	return len(alternatives) == 0
}

func TestRequiredAffinity(t *testing.T) {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	named := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}
	unnamed := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"n1"}}
	for name, tt := range map[string]struct {
		terms       []corev1.NodeSelectorTerm
		want        string
		wantProblem bool
	}{
		"no terms match nothing":                  {terms: nil, want: "[]", wantProblem: true},
		"an empty term matches nothing":           {terms: []corev1.NodeSelectorTerm{{}}, want: "[]", wantProblem: true},
		"old zone keys get their present name":    {terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in("failure-domain.beta.kubernetes.io/zone", "b", "a")}}}, want: "[[topology.kubernetes.io/zone In [a b]]]"},
		"a term on another name keeps it":         {terms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{unnamed}}, {MatchExpressions: []corev1.NodeSelectorRequirement{in("a", "1")}}}, want: "[[field:metadata.name NotIn n1] [a In 1]]"},
		"a term on a node's name keeps it":        {terms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{named}}, {MatchExpressions: []corev1.NodeSelectorRequirement{in("a", "1")}}}, want: "[[field:metadata.name In n1] [a In 1]]"},
		"a node's name may be all":                {terms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{named}}}, want: "[[field:metadata.name In n1]]"},
		"an unreadable term leaves the others":    {terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Gt", Values: []string{"x"}}}}, {MatchExpressions: []corev1.NodeSelectorRequirement{in("a", "1")}}}, want: "[[a In 1]]"},
		"expressions of a term are put in order":  {terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in("b", "1"), in("a", "1"), in("b", "1")}}}, want: "[[a In 1 b In 1]]"},
		"two terms stay two alternatives, in row": {terms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in("b", "1")}}, {MatchExpressions: []corev1.NodeSelectorRequirement{in("a", "1")}}}, want: "[[b In 1] [a In 1]]"},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := requiredAffinity(&corev1.NodeSelector{NodeSelectorTerms: tt.terms})
			if fmt.Sprint(got) != tt.want || (problem != "") != tt.wantProblem {
				t.Errorf("got %v, problem %q; want %s, problem %v", got, problem, tt.want, tt.wantProblem)
			}
		})
	}
}
