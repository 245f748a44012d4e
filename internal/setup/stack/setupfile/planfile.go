package setupfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The form of `terraform show -json`, as far as it is read.
// Source: Terraform's documentation, "JSON Output Format", format versions 1.0 to 1.2 (OpenTofu writes the same).
type (
	planFile struct {
		FormatVersion string                  `json:"format_version"`
		Variables     map[string]planVariable `json:"variables"`
		PlannedValues *planValues             `json:"planned_values"`
		Values        *planValues             `json:"values"` // of a state
		PriorState    *struct {
			Values *planValues `json:"values"`
		} `json:"prior_state"`
		ResourceChanges []planChange `json:"resource_changes"`
		Configuration   struct {
			ProviderConfig map[string]struct {
				Name        string                     `json:"name"`
				Expressions map[string]json.RawMessage `json:"expressions"`
			} `json:"provider_config"`
			RootModule confModule `json:"root_module"`
		} `json:"configuration"`
	}
	planVariable struct {
		Value any `json:"value"`
	}
	planValues struct {
		RootModule planModule `json:"root_module"`
	}
	planModule struct {
		Address      string         `json:"address"`
		Resources    []planResource `json:"resources"`
		ChildModules []planModule   `json:"child_modules"`
	}
	planResource struct {
		Address string         `json:"address"`
		Mode    string         `json:"mode"`
		Type    string         `json:"type"`
		Name    string         `json:"name"`
		Index   any            `json:"index"`
		Values  map[string]any `json:"values"`
	}
	planChange struct {
		planResource
		ModuleAddress string `json:"module_address"`
		Change        struct {
			Actions []string       `json:"actions"`
			After   map[string]any `json:"after"`
		} `json:"change"`
	}
	confModule struct {
		Outputs map[string]struct {
			Expression json.RawMessage `json:"expression"`
		} `json:"outputs"`
		Resources   []confResource       `json:"resources"`
		ModuleCalls map[string]*confCall `json:"module_calls"`
		Variables   map[string]struct {
			Default any `json:"default"`
		} `json:"variables"`
	}
	confCall struct {
		Expressions map[string]json.RawMessage `json:"expressions"`
		Module      confModule                 `json:"module"`
	}
	confResource struct {
		Mode        string                     `json:"mode"`
		Type        string                     `json:"type"`
		Name        string                     `json:"name"`
		Expressions map[string]json.RawMessage `json:"expressions"`
	}
)

// scope is one instance of a module: what names in it mean.
type scope struct {
	address   string
	conf      *confModule
	call      *confCall // nil for the root
	parent    *scope
	children  []*scope
	name      string // of the call, without its index
	resources []*planned
}

// planned is one instance of a resource as it will be.
type planned struct {
	planResource
	scope *scope
	conf  *confResource // nil when the plan has no configuration
}

// plan is a plan with its names resolved.
type plan struct {
	file *planFile
	root *scope
	all  []*planned
}

func parsePlan(data []byte) (*plan, error) {
	f := &planFile{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	if f.FormatVersion != "" && !strings.HasPrefix(f.FormatVersion, "1.") && !strings.HasPrefix(f.FormatVersion, "0.") {
		return nil, fmt.Errorf("read plan: its format version is %q; versions 1.x are known", f.FormatVersion)
	}
	if f.PlannedValues == nil {
		f.PlannedValues = f.Values
	}
	if f.PlannedValues == nil {
		return nil, fmt.Errorf("read plan: it has no planned_values; make it with: terraform plan -out plan.bin && terraform show -json plan.bin")
	}
	p := &plan{file: f, root: &scope{conf: &f.Configuration.RootModule}}
	p.add(p.root, &f.PlannedValues.RootModule)
	if f.PriorState != nil && f.PriorState.Values != nil {
		p.addData(p.root, &f.PriorState.Values.RootModule)
	}
	p.addDeferred()
	return p, nil
}

// add takes over the resources of a module and those of the modules that it calls.
func (p *plan) add(s *scope, m *planModule) {
	for _, r := range m.Resources {
		p.put(s, r)
	}
	for i := range m.ChildModules {
		p.add(p.child(s, m.ChildModules[i].Address), &m.ChildModules[i])
	}
}

// addData takes over what data sources have already told; a plan keeps that beside the planned values.
func (p *plan) addData(s *scope, m *planModule) {
	for _, r := range m.Resources {
		if r.Mode == "data" {
			p.put(s, r)
		}
	}
	for i := range m.ChildModules {
		p.addData(p.child(s, m.ChildModules[i].Address), &m.ChildModules[i])
	}
}

// addDeferred takes over data sources that are read only when the plan is applied.
func (p *plan) addDeferred() {
	for _, c := range p.file.ResourceChanges {
		if c.Mode != "data" || c.Change.After == nil {
			continue
		}
		s := p.root
		for _, step := range moduleSteps(c.ModuleAddress) {
			s = p.child(s, step)
		}
		r := c.planResource
		r.Values = c.Change.After
		p.put(s, r)
	}
}

func (p *plan) put(s *scope, r planResource) {
	if slices.ContainsFunc(s.resources, func(o *planned) bool { return o.Address == r.Address }) {
		return
	}
	n := &planned{planResource: r, scope: s}
	for i := range s.conf.Resources {
		c := &s.conf.Resources[i]
		if c.Type == r.Type && c.Name == r.Name && c.Mode == r.Mode {
			n.conf = c
		}
	}
	s.resources = append(s.resources, n)
	p.all = append(p.all, n)
}

// child is the scope of a module instance, made when it is first seen.
func (p *plan) child(s *scope, address string) *scope {
	for _, c := range s.children {
		if c.address == address {
			return c
		}
	}
	steps := splitReference(address)
	c := &scope{address: address, parent: s, conf: &confModule{}}
	if len(steps) > 0 {
		c.name = steps[len(steps)-1].name
	}
	if call := s.conf.ModuleCalls[c.name]; call != nil {
		c.call, c.conf = call, &call.Module
	}
	s.children = append(s.children, c)
	return c
}

// moduleSteps are the addresses of the modules on the way to one: module.a, module.a.module.b.
func moduleSteps(address string) []string {
	var out []string
	var at []string
	for _, s := range splitReference(address) {
		at = append(at, s.String())
		if s.name != "module" || len(at)%2 == 0 {
			out = append(out, strings.Join(at, "."))
		}
	}
	return out
}

// step is one part of a reference: a name, and the index behind it.
type step struct {
	name    string
	index   string
	indexed bool
}

func (s step) String() string {
	if !s.indexed {
		return s.name
	}
	if _, err := strconv.Atoi(s.index); err == nil {
		return s.name + "[" + s.index + "]"
	}
	return s.name + "[" + strconv.Quote(s.index) + "]"
}

// splitReference splits module.a["b.c"].x into its steps. Dots within quotes do not split.
func splitReference(ref string) []step {
	var out []step
	for len(ref) > 0 {
		end := strings.IndexAny(ref, ".[")
		if end < 0 {
			return append(out, step{name: ref})
		}
		s := step{name: ref[:end]}
		ref = ref[end:]
		for strings.HasPrefix(ref, "[") {
			index, rest, ok := cutIndex(ref[1:])
			if !ok {
				return append(out, s)
			}
			if !s.indexed {
				s.index, s.indexed = index, true
			}
			ref = rest
		}
		ref = strings.TrimPrefix(ref, ".")
		if s.name != "" {
			out = append(out, s)
		}
	}
	return out
}

// cutIndex takes an index off, up to its closing bracket.
func cutIndex(s string) (index, rest string, ok bool) {
	if quoted, err := strconv.QuotedPrefix(s); err == nil {
		rest, ok = strings.CutPrefix(s[len(quoted):], "]")
		index, _ = strconv.Unquote(quoted)
		return index, rest, ok
	}
	return strings.Cut(s, "]")
}
