package terminate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// guards is a budget of all pods with the label app=name.
func guards(name string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// guarded is a ready pod with the label app.
func guarded(name, app string) *corev1.Pod {
	p := pod(name, func(p *corev1.Pod) {
		p.UID, p.Labels, p.Status.Phase = "uid-"+p.UID, map[string]string{"app": app}, corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	return &p
}

func TestPermits(t *testing.T) {
	// Each step says what it does and what comes of it: a right to ask ("yes"), or the nodes that are woken up.
	for name, steps := range map[string]func(p *permits, say func(...any)){
		"a pod that nothing guards may be asked for": func(p *permits, say func(...any)) {
			_, no := p.ask(guarded("a", "other"), "n1", noon)
			say(no.why == "")
		},
		"as many as the status allows": func(p *permits, say func(...any)) {
			for i := range 3 {
				_, no := p.ask(guarded(fmt.Sprint(i), "web"), fmt.Sprint("n", i), noon)
				say(no.why == "")
			}
		},
		"who waits is woken in order, one for each that may go": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			b, _ := p.ask(guarded("b", "web"), "n1", noon)
			p.ask(guarded("c", "web"), "n1", noon)
			p.ask(guarded("d", "web"), "n2", noon)
			p.ask(guarded("e", "web"), "n3", noon)
			say(p.use(a, guarded("a", "web"), "n1", true, false, noon), p.use(b, guarded("b", "web"), "n1", true, false, noon))
			later := noon.Add(counted)
			say(p.see(guards("web", 0), later), p.see(guards("web", 1), later), p.see(guards("web", 5), later))
		},
		"an eviction on its way counts": func(p *permits, say func(...any)) {
			p.ask(guarded("a", "web"), "n1", noon)
			p.see(guards("web", 1), noon) // the other one was granted
			_, no := p.ask(guarded("b", "web"), "n2", noon)
			say(no.why)
		},
		"and no longer once the status counts it": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.ask(guarded("b", "web"), "n1", noon)
			p.ask(guarded("c", "web"), "n2", noon)
			p.use(a, guarded("a", "web"), "n1", true, false, noon)
			counts := guards("web", 2)
			counts.Status.DisruptedPods = map[string]metav1.Time{"a": {}}
			say(p.see(guards("web", 2), noon), p.see(counts, noon))
		},
		"or was granted so long ago that it must": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.ask(guarded("b", "web"), "n1", noon)
			p.ask(guarded("c", "web"), "n2", noon)
			p.use(a, guarded("a", "web"), "n1", true, false, noon)
			say(p.see(guards("web", 2), noon), p.see(guards("web", 2), noon.Add(counted)))
		},
		"and one that the status never shows holds nobody for longer": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.ask(guarded("b", "web"), "n1", noon)
			p.use(a, guarded("a", "web"), "n1", true, false, noon)
			_, no := p.ask(guarded("c", "web"), "n2", noon)
			say(no.again.Sub(noon))
			_, no = p.ask(guarded("c", "web"), "n2", noon.Add(counted-1))
			say(no.why)
			_, no = p.ask(guarded("c", "web"), "n2", noon.Add(counted))
			say(no.why)
		},
		"a budget that allows none is tried again in its time": func(p *permits, say func(...any)) {
			p.see(guards("web", 0), noon)
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.use(a, guarded("a", "web"), "n1", false, true, noon)
			_, no := p.ask(guarded("a", "web"), "n1", noon.Add(askAnyway/3))
			say(no.again.Sub(noon))
		},
		"a refusal shuts the budget until it changes": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			say(p.use(a, guarded("a", "web"), "n1", false, true, noon))
			_, no := p.ask(guarded("b", "web"), "n2", noon)
			say(no.why)
			say(p.see(guards("web", 2), noon))
		},
		"a refusal older than the news does not": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.see(guards("web", 1), noon)
			say(p.use(a, guarded("a", "web"), "n1", false, true, noon))
		},
		"an answer that is none costs nothing": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n1", noon)
			p.use(a, guarded("a", "web"), "n1", false, false, noon)
			for i := range 3 {
				_, no := p.ask(guarded(fmt.Sprint(i), "web"), "n2", noon)
				say(no.why == "")
			}
		},
		"now and then one is asked for in spite of what is known": func(p *permits, say func(...any)) {
			p.see(guards("web", 0), noon)
			a, no := p.ask(guarded("a", "web"), "n1", noon)
			say(no.why == "", p.use(a, guarded("a", "web"), "n1", false, true, noon))
			for _, after := range []time.Duration{time.Second, askAnyway - 1, askAnyway, askAnyway + 1} {
				_, no = p.ask(guarded("a", "web"), "n1", noon.Add(after))
				say(no.why == "")
			}
		},
		"two budgets at once are refused until one goes": func(p *permits, say func(...any)) {
			more := guards("more", 5)
			more.Spec.Selector = guards("web", 0).Spec.Selector
			p.see(more, noon)
			a, no := p.ask(guarded("a", "web"), "n1", noon)
			say(no.why == "", p.use(a, guarded("a", "web"), "n1", false, true, noon))
			_, no = p.ask(guarded("a", "web"), "n1", noon)
			say(no.why, p.forget(more))
			_, no = p.ask(guarded("a", "web"), "n1", noon)
			say(no.why == "")
		},
		"a status of an older spec allows nothing": func(p *permits, say func(...any)) {
			old := guards("web", 3)
			old.Generation = 2
			p.ask(guarded("a", "web"), "n1", noon)
			say(p.see(old, noon))
			_, no := p.ask(guarded("a", "web"), "n1", noon.Add(time.Hour))
			say(no.why, p.see(guards("web", 2), noon))
		},
		"a budget that is deleted holds nobody": func(p *permits, say func(...any)) {
			p.see(guards("web", 0), noon)
			p.ask(guarded("a", "web"), "n1", noon)
			p.ask(guarded("b", "web"), "n2", noon)
			say(p.forget(guards("web", 0)))
			_, no := p.ask(guarded("b", "web"), "n2", noon)
			say(no.why == "")
		},
		"a node that is gone is not woken in place of one that waits": func(p *permits, say func(...any)) {
			p.see(guards("web", 0), noon)
			p.see(guards("api", 0), noon)
			for i, node := range []string{"n0", "n1", "n2"} { // n0 asks in spite of the budgets
				p.ask(guarded(fmt.Sprint(i), "web"), node, noon)
				p.ask(guarded(fmt.Sprint(i), "api"), node, noon)
			}
			p.leave("n1")
			say(p.see(guards("web", 2), noon), p.see(guards("api", 2), noon))
		},
		"nor one that has got what it waited for": func(p *permits, say func(...any)) {
			a, _ := p.ask(guarded("a", "web"), "n0", noon)
			p.use(a, guarded("a", "web"), "n0", false, true, noon)
			p.ask(guarded("b", "web"), "n1", noon)
			p.ask(guarded("c", "web"), "n2", noon)
			_, no := p.ask(guarded("b", "web"), "n1", noon.Add(askAnyway))
			say(no.why, p.see(guards("web", 3), noon.Add(askAnyway)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			const shut = "its PodDisruptionBudget web allows no disruption now"
			none := []string(nil)
			want := map[string][]any{
				"a pod that nothing guards may be asked for":                  {true},
				"as many as the status allows":                                {true, true, false},
				"who waits is woken in order, one for each that may go":       {none, none, none, []string{"n1"}, []string{"n2", "n3"}},
				"an eviction on its way counts":                               {shut},
				"and no longer once the status counts it":                     {none, []string{"n2"}},
				"or was granted so long ago that it must":                     {none, []string{"n2"}},
				"and one that the status never shows holds nobody for longer": {counted, shut, ""},
				"a budget that allows none is tried again in its time":        {askAnyway},
				"a refusal shuts the budget until it changes":                 {none, shut, []string{"n1", "n2"}},
				"a refusal older than the news does not":                      {[]string{"n1"}},
				"an answer that is none costs nothing":                        {true, true, false},
				"now and then one is asked for in spite of what is known":     {true, none, false, false, true, false},
				"two budgets at once are refused until one goes":              {true, none, "more than one PodDisruptionBudget selects it", []string{"n1"}, true},
				"a status of an older spec allows nothing":                    {none, shut, []string{"n1"}},
				"a budget that is deleted holds nobody":                       {[]string{"n2"}, true},
				"a node that is gone is not woken in place of one that waits": {[]string{"n2"}, []string{"n2"}},
				"nor one that has got what it waited for":                     {"", []string{"n0", "n2"}},
			}[name]
			p, said := &permits{}, []any(nil)
			p.see(guards("web", 2), noon)
			steps(p, func(what ...any) {
				for _, v := range what {
					if l, ok := v.([]string); ok && len(l) == 0 {
						v = none
					}
					said = append(said, v)
				}
			})
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
