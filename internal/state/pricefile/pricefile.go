// Package pricefile reads the prices that users have agreed on with AWS and that no API tells: savings plans, reserved
// instances, private rates.
//
// The file is YAML or JSON. Its rules are tried from top to bottom, and the first that matches an offering decides:
//
//	prices:
//	  - match: {type: p5.48xlarge, capacityType: on-demand, region: us-east-1}
//	    price: 55.04
//	  - match: {family: [m7i, m7a]}
//	    factor: 0.72
package pricefile

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// familyLabel is the label that a rule's family is compared with.
const familyLabel = "karpenter.k8s.aws/instance-family"

// Rules are the rules of one file, in its order.
type Rules struct{ rules []rule }

type rule struct {
	line    int
	regions []string
	terms   []requirement.Term
	price   catalog.PriceRule
}

// Len is how many rules there are.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.rules)
}

// In are the rules that are for a region, in the form in which instance types take them in. The names say the line.
func (r *Rules) In(region string) []catalog.Overlay {
	if r == nil {
		return nil
	}
	var out []catalog.Overlay
	for i := range r.rules {
		x := &r.rules[i]
		if len(x.regions) == 0 || slices.Contains(x.regions, region) {
			out = append(out, catalog.Overlay{Name: fmt.Sprintf("line %d", x.line), Weight: len(r.rules) - i, Requirements: x.terms, Price: &x.price})
		}
	}
	return out
}

// Parse reads a file; name is for messages.
//
// Errors: all at once, each with the line and what to write.
func Parse(name string, data []byte) (*Rules, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: neither YAML nor JSON: %w", name, err)
	}
	p := parser{name: name}
	out := &Rules{}
	if len(doc.Content) == 0 {
		p.bad(&yaml.Node{Line: 1}, "the file is empty: begin with \"prices:\" and a list of rules")
		return nil, errors.Join(p.errs...)
	}
	p.fields(doc.Content[0], "the file", func(key, value *yaml.Node) bool {
		if key.Value != "prices" {
			return false
		}
		if value.Kind != yaml.SequenceNode {
			p.bad(value, "prices: want a list of rules, each with match and price or factor")
			return true
		}
		for _, n := range value.Content {
			if r, ok := p.rule(n); ok {
				out.rules = append(out.rules, r)
			}
		}
		return true
	}, "prices")
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return out, nil
}

type parser struct {
	name string
	errs []error
}

func (p *parser) bad(at *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %s", p.name, at.Line, fmt.Sprintf(format, args...)))
}

// fields calls use for every field of a mapping; what use does not know is an error that names what is known.
func (p *parser) fields(n *yaml.Node, what string, use func(key, value *yaml.Node) bool, known ...string) {
	if n.Kind != yaml.MappingNode {
		p.bad(n, "%s: want the fields %s", what, strings.Join(known, ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case seen[key.Value]:
			p.bad(key, "%s is given twice", key.Value)
		case !use(key, n.Content[i+1]):
			p.bad(key, "%q is not known in %s: use %s", key.Value, what, strings.Join(known, ", "))
		}
		seen[key.Value] = true
	}
}

func (p *parser) rule(n *yaml.Node) (rule, bool) {
	before := len(p.errs)
	r := rule{line: n.Line}
	ways := 0
	p.fields(n, "a rule", func(key, value *yaml.Node) bool {
		switch key.Value {
		case "match":
			p.match(value, &r)
		case "price":
			ways++
			if micro, ok := p.number(value, "price", "dollars per hour such as 0.096 (yuan in China)", 1_000_000); ok {
				r.price.Price = catalog.MicroUSD(micro)
			}
		case "factor":
			ways++
			if share, ok := p.number(value, "factor", "a number such as 0.72, which takes 28 % off", 100_000_000); ok {
				r.price.Percent = new(share - 100_000_000)
			}
		case "comment":
		default:
			return false
		}
		return true
	}, "match", "price", "factor", "comment")
	if len(p.errs) == before && ways != 1 {
		p.bad(n, "a rule sets either price or factor")
	}
	return r, len(p.errs) == before
}

func (p *parser) match(n *yaml.Node, r *rule) {
	in := func(key string, values []string) {
		r.terms = append(r.terms, requirement.Term{Key: key, Operator: requirement.In, Values: values})
	}
	p.fields(n, "match", func(key, value *yaml.Node) bool {
		values := p.words(key.Value, value)
		switch key.Value {
		case "type":
			in(requirement.InstanceType, values)
			for _, v := range values {
				if !strings.Contains(v, ".") {
					p.bad(value, "type: %q is not an instance type such as m7i.large; for all sizes write family: %s", v, v)
				}
			}
		case "family":
			in(familyLabel, values)
			for _, v := range values {
				if family, _, dot := strings.Cut(v, "."); dot {
					p.bad(value, "family: %q is an instance type; write type: %s, or family: %s for all its sizes", v, v, family)
				}
			}
		case "zone":
			in(requirement.Zone, values)
		case "region":
			r.regions = values
		case "capacityType":
			in(requirement.CapacityType, values)
			for _, v := range values {
				if v != catalog.OnDemand && v != catalog.Spot && v != catalog.Reserved {
					p.bad(value, "capacityType: %q is none of %s, %s, %s", v, catalog.OnDemand, catalog.Spot, catalog.Reserved)
				}
			}
		default:
			return false
		}
		return true
	}, "type", "family", "region", "zone", "capacityType")
}

// words reads one word or a list of them; none where it said what is wrong.
func (p *parser) words(field string, n *yaml.Node) []string {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var out []string
	for _, x := range nodes {
		if x.Kind != yaml.ScalarNode || strings.TrimSpace(x.Value) == "" {
			p.bad(x, "%s: want a name or a list of names", field)
			return nil
		}
		out = append(out, strings.TrimSpace(x.Value))
	}
	if len(out) == 0 {
		p.bad(n, "%s: the list is empty; leave the field out to match all", field)
	}
	return out
}

// number reads a plain decimal number that is not negative, times scale, exactly.
func (p *parser) number(n *yaml.Node, field, want string, scale int64) (int64, bool) {
	r, ok := new(big.Rat), false
	if n.Kind == yaml.ScalarNode && n.Value != "" && strings.Trim(n.Value, ".0123456789") == "" {
		_, ok = r.SetString(n.Value)
	}
	if ok {
		r.Mul(r, big.NewRat(scale, 1))
		if whole := new(big.Int).Quo(r.Num(), r.Denom()); whole.IsInt64() && whole.Int64() < 1e15 {
			return whole.Int64(), true
		}
	}
	p.bad(n, "%s: %q is not %s", field, n.Value, want)
	return 0, false
}
