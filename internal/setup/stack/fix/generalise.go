package fix

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// generaliser puts references in the place of what a template gives to its resources, or what differs from place to
// place, so that what fixes a template fits wherever that template does.
type generaliser struct {
	inside []replacement // within texts
	whole  []replacement // only where they are all of a text
	tags   []replacement // endings
}

type replacement struct{ text, reference string }

var escaped = regexp.MustCompile(`\$\{`)

// text returns the text with references as ${…}, and whether it has any.
func (g *generaliser) text(s string) (string, bool) {
	for _, r := range g.whole {
		if s == r.text {
			return r.reference, true
		}
	}
	out := escaped.ReplaceAllString(s, "$${!")
	before := out
	for _, r := range g.inside {
		out = replaceToken(out, r.text, r.reference)
	}
	for _, r := range g.tags {
		out = replaceToken(out, r.text, r.reference)
	}
	if out == before {
		return s, false
	}
	return out, true
}

// replaceToken replaces a text where it is not part of a longer name.
func replaceToken(s, text, by string) string {
	if text == "" {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, text)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(text)
		b.WriteString(s[:i])
		if end < len(s) && isNameByte(s[end]) && isNameByte(text[len(text)-1]) {
			b.WriteString(s[i:end])
		} else {
			b.WriteString(by)
		}
		s = s[end:]
	}
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// generaliser knows the resources of the fixed set-up; clusterParameter is the parameter that holds the cluster's name,
// empty if there is none.
func (m *fixer) generaliser(clusterParameter string) *generaliser {
	g := &generaliser{}
	add := func(id, text, reference string) {
		if id != "" && text != "" {
			g.inside = append(g.inside, replacement{text, "${" + reference + "}"})
		}
	}
	for _, x := range m.s.Roles {
		add(x.LogicalID, x.ARN, x.LogicalID+".Arn")
	}
	for _, x := range m.s.Policies {
		add(x.LogicalID, x.ARN, x.LogicalID)
	}
	for _, x := range m.s.Queues {
		add(x.LogicalID, x.ARN, x.LogicalID+".Arn")
		add(x.LogicalID, x.URL, x.LogicalID)
	}
	for _, x := range m.s.Keys {
		add(x.LogicalID, x.ARN, x.LogicalID+".Arn")
	}
	for _, x := range m.s.Rules {
		add(x.LogicalID, x.ARN, x.LogicalID+".Arn")
		if x.LogicalID != "" {
			g.whole = append(g.whole, replacement{x.Name, "${" + x.LogicalID + "}"})
		}
	}
	slices.SortStableFunc(g.inside, func(a, b replacement) int { return cmp.Compare(len(b.text), len(a.text)) })
	cluster := m.c.Report.Cluster
	if clusterParameter != "" {
		by := "${" + clusterParameter + "}"
		g.whole = append(g.whole, replacement{cluster, by}, replacement{cluster + "-dlq", by + "-dlq"})
		g.tags = append(g.tags, replacement{"kubernetes.io/cluster/" + cluster, "kubernetes.io/cluster/" + by}, replacement{":cluster/" + cluster, ":cluster/" + by},
			replacement{"Policy-" + cluster, "Policy-" + by}, replacement{"Karpenter-" + cluster, "Karpenter-" + by})
	}
	g.whole = append(g.whole, replacement{m.s.Region, "${AWS::Region}"}, replacement{m.s.AccountID, "${AWS::AccountId}"})
	g.inside = append(g.inside,
		replacement{"arn:" + m.s.Partition + ":", "arn:${AWS::Partition}:"}, replacement{":" + m.s.Region + ":", ":${AWS::Region}:"},
		replacement{":" + m.s.AccountID + ":", ":${AWS::AccountId}:"}, replacement{"." + m.s.Region + ".amazonaws", ".${AWS::Region}.amazonaws"})
	return g
}
