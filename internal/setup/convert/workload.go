package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// renamed are keys that workloads and nodes may carry, with their names now.
var renamed = map[string]string{
	"karpenter.sh/do-not-evict":       "karpenter.sh/do-not-disrupt",
	"karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
	oldPoolLabel:                      "karpenter.sh/nodepool",
	"karpenter.sh/disruption":         "karpenter.sh/disrupted", // taint
}

// workload renames the keys of older releases in any other object: annotations of pods and nodes, and what selects or
// tolerates nodes. Objects without any are left out of the output.
func (c *converter) workload(d *document) {
	if !mentions(d.root) {
		c.report.Notes = append(c.report.Notes, d.where()+": left out, for it has nothing of older releases in it")
		return
	}
	f := &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	f.rename("", "", d.root)
	if len(f.report.Fields) == 0 {
		c.report.Objects = slices.DeleteFunc(c.report.Objects, func(o *ObjectReport) bool { return o == f.report })
		c.report.Notes = append(c.report.Notes, d.where()+": left out; it names keys of older releases where they mean nothing to the controller")
		return
	}
	f.report.Becomes = []string{d.kind() + " " + d.name()}
	c.items = append(c.items, item{value: d.root, doc: d})
}

// mentions tells whether an old key is anywhere in a value.
func mentions(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if renamed[k] != "" || mentions(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, mentions)
	case string:
		return renamed[v] != ""
	}
	return false
}

// rename walks an object; name is that of the member that holds v.
func (f *fields) rename(path, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if name == "annotations" || name == "nodeSelector" || name == "labels" && f.doc.kind() == "Node" {
			f.renameKeys(path, v)
			return
		}
		f.renameValue(path, name, v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.rename(member(path, k), k, v[k])
			if below, ok := v[k].(map[string]any); ok && k == "annotations" && len(below) == 0 {
				delete(v, k)
			}
		}
	case []any:
		for i, item := range v {
			f.rename(fmt.Sprintf("%s[%d]", path, i), name, item)
		}
	}
}

// renameKeys renames the keys of a map.
func (f *fields) renameKeys(path string, m map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		now := renamed[k]
		if now == "" || strings.HasPrefix(k, "karpenter.sh/do-not") != strings.HasSuffix(path, "annotations") {
			continue
		}
		v := m[k]
		delete(m, k)
		_, already := m[now]
		switch {
		case already:
			f.lost(member(path, k), now+" is there already", "")
		case strings.HasSuffix(now, "do-not-disrupt") && v != "true":
			f.lost(member(path, k), fmt.Sprintf("only \"true\" had a meaning, not %s", describe(v)), "")
		default:
			m[now] = v
			f.translated(member(path, k), member(path, now), "it was renamed")
		}
	}
}

// renameValue renames what holds a key as a value: expressions of node affinity, topology keys, tolerations.
func (f *fields) renameValue(path, name string, m map[string]any) {
	field := ""
	switch name {
	case "matchExpressions":
		if strings.Contains(path, "nodeAffinity") || strings.Contains(path, "nodeSelectorTerms") {
			field = "key"
		}
	case "tolerations":
		field = "key"
	case "topologySpreadConstraints", "requiredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm":
		field = "topologyKey"
	}
	old, _ := m[field].(string)
	now := renamed[old]
	if field == "" || now == "" {
		return
	}
	m[field] = now
	f.translated(member(path, field)+": "+old, now, "it was renamed")
	if name == "tolerations" && m["value"] == "disrupting" {
		delete(m, "value")
		f.translated(member(path, "value"), "no value", "the taint has none any more")
	}
}
