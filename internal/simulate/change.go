package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/setup/changeplan"
)

// Change is one thing in which a configuration differs from the one that it is compared with, as both are simulated.
type Change struct {
	// Object is "NodePool default", "EC2NodeClass web" or "setting"; Field is the path in it, or the name of the setting. Without a field
	// one of the two configurations does not have the object at all; the fields of one that is added follow.
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	// Old and New are the values; empty where the field is not set, and of an object that is there in one of them "there".
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// there stands for an object that only one of two configurations has.
const there = "there"

// Text says the change: "NodePool default: disruption.consolidateAfter 30s → 10m".
func (c Change) Text() string {
	switch {
	case c.Field == "" && c.Old == "":
		return c.Object + " is added"
	case c.Field == "":
		return c.Object + " is left out"
	}
	field := strings.TrimPrefix(strings.TrimPrefix(c.Field, "spec."), "template.spec.")
	return fmt.Sprintf("%s: %s %s → %s", c.Object, field, orNotSet(c.Old), orNotSet(c.New))
}

func orNotSet(value string) string { return cmp.Or(value, "not set") }

// Changes are what differs between a configuration and this one: NodePools and EC2NodeClasses by their fields, then settings.
func (c *Configuration) Changes(first *Configuration) []Change {
	was, is := first.objects(), c.objects()
	all := maps.Clone(was)
	maps.Copy(all, is)
	var out []Change
	for _, name := range sortedKeys(all) {
		old, now := was[name], is[name]
		switch {
		case old == nil:
			out = append(out, Change{Object: name, New: there})
			for _, d := range changeplan.Differences(nil, now) {
				out = append(out, Change{Object: name, Field: d.Path, New: d.New})
			}
		case now == nil:
			out = append(out, Change{Object: name, Old: there})
		default:
			for _, d := range changeplan.Differences(old, now) {
				out = append(out, Change{Object: name, Field: d.Path, Old: d.Old, New: d.New})
			}
		}
	}
	settings := maps.Clone(first.Settings)
	maps.Copy(settings, c.Settings)
	for _, name := range sortedKeys(settings) {
		if old, now := first.Settings[name], c.Settings[name]; old != now {
			out = append(out, Change{Object: "setting", Field: name, Old: old, New: now})
		}
	}
	return out
}

// objects are the manifests by kind and name.
func (c *Configuration) objects() map[string]any {
	out := map[string]any{}
	for _, m := range c.Manifests {
		var o map[string]any
		if json.Unmarshal([]byte(m.JSON), &o) != nil {
			continue // it was written by this package
		}
		out[text(o, "kind")+" "+text(o, "metadata", "name")] = o
	}
	return out
}

// Tell adds to a comparison in what its configurations differ.
func (c *Comparison) Tell(configurations []*Configuration) {
	named := func(name string) *Configuration {
		return configurations[slices.IndexFunc(configurations, func(x *Configuration) bool { return x.Name == name })]
	}
	first := named(c.Configurations[0].Name)
	for i := range c.Configurations[1:] {
		of := &c.Configurations[i+1]
		of.Changes = named(of.Name).Changes(first)
	}
}

// changesShown is how many changes a summary has.
const changesShown = 4

// changed says in one line what was compared.
func (c *Configured) changed() string {
	if len(c.Changes) == 0 {
		return "nothing: the two are the same as they are simulated, and every difference is chance"
	}
	var out []string
	for i, x := range c.Changes {
		if i == changesShown && len(c.Changes) > changesShown+1 {
			out = append(out, fmt.Sprintf("and %d more", len(c.Changes)-i))
			break
		}
		out = append(out, x.Text())
	}
	return strings.Join(out, "; ")
}
