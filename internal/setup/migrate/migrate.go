// Package migrate tells whether a cluster can be handed from Karpenter to Kerf as it is, and writes the commands that hand
// it over and give it back.
//
// Reading (Look) and judging (Examine) are apart: all that is judged is in a Seen, so that a judgement needs no network.
// Nothing is changed by either. What AWS has around the controller is judged by package doctor, and which nodes would be
// replaced by package report.
package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is what a finding means for the swap.
type Severity string

// The severities. Blocks has to be fixed before the swap; Differs is what Kerf does otherwise and the swap can live with;
// Unknown is what could not be judged; Fine is in order.
const (
	Blocks  Severity = "blocks"
	Differs Severity = "differs"
	Unknown Severity = "unknown"
	Fine    Severity = "fine"
)

// Areas are what is examined.
var Areas = []string{"versions", "objects", "settings", "permissions", "identity", "others", "drift", "progress", "reading"}

// Finding is one thing that was found.
type Finding struct {
	// Area is one of Areas.
	Area     string   `json:"area"`
	Severity Severity `json:"severity"`
	// Object is where it was found, such as "NodePool web".
	Object string `json:"object"`
	// Text says what is so, Why what follows from it.
	Text     string   `json:"text"`
	Why      string   `json:"why,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Fix is the way out: commands that can be pasted, with comments of the shell where there is something to decide.
	Fix []string `json:"fix,omitempty"`
}

// Report is what was found.
type Report struct {
	Cluster    string `json:"cluster,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// Controller is the Deployment, Karpenter its version, Release the Helm release it belongs to.
	Controller string `json:"controller,omitempty"`
	Karpenter  string `json:"karpenter,omitempty"`
	Release    string `json:"release,omitempty"`
	// Kerf says that the controller is Kerf already.
	Kerf bool `json:"kerf,omitempty"`
	// KarpenterLeads says that no pod of Kerf is ready yet, and one of Karpenter is: the swap has begun and did not finish.
	KarpenterLeads bool `json:"karpenterLeads,omitempty"`
	// Ready says that nothing blocks the swap, as far as was seen.
	Ready    bool      `json:"ready"`
	Findings []Finding `json:"findings"`
	// Unseen are the halves that could not be examined though nobody left them out.
	Unseen []string `json:"unseen,omitempty"`
}

// Count is the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}

// examination is an examination in its course.
type examination struct {
	*Seen
	area     string
	findings []Finding
}

// Examine judges what was seen. Findings come with those that block first.
func Examine(s *Seen) *Report {
	e := &examination{Seen: s}
	for _, part := range []struct {
		area    string
		examine func()
	}{
		{"versions", e.versions},
		{"versions", e.definitions},
		{"objects", e.objects},
		{"settings", e.settings},
		{"settings", e.given},
		{"permissions", e.clusterRights},
		{"permissions", e.ownRights},
		{"permissions", e.account},
		{"identity", e.identity},
		{"identity", e.rollout},
		{"others", e.others},
		{"drift", e.drift},
		{"progress", e.progress},
	} {
		e.area = part.area
		part.examine()
	}
	e.area = "reading"
	for _, g := range s.Gaps {
		f := e.unknown(g.What, "could not be read: %s", g.Why).why("what hangs on it was not judged")
		if strings.Contains(g.Why, "is forbidden: User ") && !strings.HasPrefix(g.What, "secret") { // which no role of ours lets anybody read
			f.fix("kerf manifests --reader-only   # a ClusterRole that may, for somebody to bind who may do so")
		}
	}
	order := []Severity{Blocks, Unknown, Differs, Fine}
	slices.SortStableFunc(e.findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	r := &Report{Cluster: s.ClusterName, Kubernetes: s.Kubernetes, Findings: e.findings}
	if d := s.Deployment; d != nil {
		r.Controller, r.Karpenter, r.Release = d.Namespace+"/"+d.Name, s.runs(), s.Owner.Release
		r.Kerf, r.KarpenterLeads = s.isKerf(), s.karpenterLeads()
	}
	r.Ready = r.Count(Blocks) == 0
	if s.NoAWS != "" {
		r.Unseen = append(r.Unseen, "the AWS side was not checked: "+s.NoAWS)
	}
	return r
}

// note adds a finding, whose other parts the methods below fill in.
func (e *examination) note(s Severity, object, format string, args ...any) *Finding {
	e.findings = append(e.findings, Finding{Area: e.area, Severity: s, Object: object, Text: fmt.Sprintf(format, args...)})
	return &e.findings[len(e.findings)-1]
}

func (e *examination) blocks(object, format string, args ...any) *Finding {
	return e.note(Blocks, object, format, args...)
}

func (e *examination) differs(object, format string, args ...any) *Finding {
	return e.note(Differs, object, format, args...)
}

func (e *examination) unknown(object, format string, args ...any) *Finding {
	return e.note(Unknown, object, format, args...)
}

func (e *examination) fine(object, format string, args ...any) *Finding {
	return e.note(Fine, object, format, args...)
}

func (f *Finding) why(format string, args ...any) *Finding {
	f.Why = fmt.Sprintf(format, args...)
	return f
}

func (f *Finding) fix(commands ...string) *Finding {
	f.Fix = append(f.Fix, commands...)
	return f
}

func (f *Finding) with(evidence ...string) *Finding {
	f.Evidence = append(f.Evidence, evidence...)
	return f
}

// few are the first names of a list, with how many more there are.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
