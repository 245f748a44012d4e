package alerts

import (
	"fmt"
	"strings"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// group is a group of rules, as Prometheus' files and the PrometheusRule of Prometheus Operator have them.
type group struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels"`
	Annotations annotations       `yaml:"annotations"`
}

type annotations struct {
	Summary     string `yaml:"summary"`
	Description string `yaml:"description"`
	RunbookURL  string `yaml:"runbook_url"`
}

// Anchor is the anchor of an alert's section of the runbook.
func (a Alert) Anchor() string { return strings.ToLower(a.Name) }

// File is the file of rules that Prometheus reads.
func File() ([]byte, error) {
	g := group{Name: "kerf"}
	for _, a := range All() {
		r := rule{
			Alert: a.Name, Expr: a.Expr, Labels: map[string]string{"severity": a.Severity},
			Annotations: annotations{Summary: a.Summary, Description: a.Impact, RunbookURL: Runbook + "#" + a.Anchor()},
		}
		if a.For > 0 {
			r.For = model.Duration(a.For).String()
		}
		g.Rules = append(g.Rules, r)
	}
	text, err := yaml.Marshal(map[string][]group{"groups": {g}})
	if err != nil {
		return nil, fmt.Errorf("writing the rules: %w", err)
	}
	return text, nil
}
