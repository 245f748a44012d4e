package changeplan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Effect is what a changed field does to nodes that there are.
type Effect string

// Effects.
const (
	RollsAll Effect = "rolls"      // every node of the pool or class is replaced
	MayRoll  Effect = "may roll"   // nodes are replaced that differ from what it asks for then
	NoDrift  Effect = "no drift"   // no node is replaced for it
	Found    Effect = "selects"    // it is what selectors find
	Created  Effect = "new object" // there was none before
)

// Field is a field that changes.
type Field struct {
	Path   string `json:"path"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Effect Effect `json:"effect"`
	Why    string `json:"why"`
	// Guard says what is no longer held back, where the field was or is a guard.
	Guard string `json:"guard,omitempty"`
}

// Difference is a field in which two objects differ, by its path. The value of a field that is not set is empty.
type Difference struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// Differences are the fields in which the specs of two objects differ, in the order of their names. Either may be nil.
func Differences(old, now any) []Difference {
	spec := func(o any) any {
		if o == nil {
			return nil
		}
		return tree(o)["spec"]
	}
	var out []Difference
	for _, l := range differences("spec", spec(old), spec(now)) {
		out = append(out, Difference{l.path, value(l.old), value(l.now)})
	}
	return out
}

// leaf is a difference of two trees.
type leaf struct {
	path     string
	old, now any // nil: absent
}

// differences are the leaves in which two trees differ, in the order of their names. Lists of plain values are leaves. Lists
// of objects with keys, such as requirements and taints, are compared key by key, other lists of objects item by item.
func differences(path string, old, now any) []leaf {
	if reflect.DeepEqual(old, now) {
		return nil
	}
	oldMap, wasMap := old.(map[string]any)
	nowMap, isMap := now.(map[string]any)
	if (wasMap || old == nil) && (isMap || now == nil) && len(oldMap)+len(nowMap) > 0 {
		var out []leaf
		keys := maps.Clone(oldMap)
		if keys == nil {
			keys = map[string]any{}
		}
		maps.Copy(keys, nowMap)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			out = append(out, differences(below(path, k), oldMap[k], nowMap[k])...)
		}
		return out
	}
	oldList, wasList := old.([]any)
	nowList, isList := now.([]any)
	if (wasList || old == nil) && (isList || now == nil) && (hasObjects(oldList) || hasObjects(nowList)) {
		var out []leaf
		was, keyed := byKey(oldList)
		is, keyedNow := byKey(nowList)
		if keyed && keyedNow {
			all := maps.Clone(was)
			maps.Copy(all, is)
			for _, k := range slices.Sorted(maps.Keys(all)) {
				if !reflect.DeepEqual(was[k], is[k]) {
					out = append(out, leaf{path + "[" + k + "]", asked(was[k]), asked(is[k])})
				}
			}
			return out
		}
		for i := range max(len(oldList), len(nowList)) {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), at(oldList, i), at(nowList, i))...)
		}
		return out
	}
	return []leaf{{path, old, now}}
}

// byKey are the items of a list by their keys; ok is false if one of them has none.
func byKey(list []any) (items map[string][]any, ok bool) {
	items = map[string][]any{}
	for _, v := range list {
		item, _ := v.(map[string]any)
		key, _ := item["key"].(string)
		if key == "" {
			return nil, false
		}
		items[key] = append(items[key], v)
	}
	return items, true
}

// asked is what requirements or taints of one key say, as text; nil for none.
func asked(items []any) any {
	var parts []string
	for _, v := range items {
		item := maps.Clone(v.(map[string]any)) // byKey has looked
		delete(item, "key")
		operator, requires := item["operator"].(string)
		if !requires {
			parts = append(parts, value(any(item)))
			continue
		}
		text := operator
		if values, ok := item["values"].([]any); ok {
			text += " " + fmt.Sprint(values) // [a b]
		}
		if least, ok := item["minValues"]; ok {
			text += fmt.Sprintf(", at least %v values", least)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return nil
	}
	return strings.Join(parts, " and ")
}

func below(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func hasObjects(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return ok })
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// value is a leaf for people: plain text as it is, the rest as JSON, long ones cut.
func value(v any) string {
	const most = 120
	text, plain := v.(string)
	if !plain {
		if v == nil {
			return ""
		}
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		text = string(b)
	}
	if strings.Contains(text, "\n") {
		text = fmt.Sprintf("%d lines beginning with %q", strings.Count(text, "\n")+1, strings.SplitN(text, "\n", 2)[0])
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// tree is an object as the API has it.
func tree(object any) map[string]any {
	b, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("an API type cannot be written as JSON: %v", err))
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(fmt.Sprintf("JSON of an API type cannot be read back: %v", err))
	}
	return out
}

// grouping cuts a path to the field that is judged as a whole.
func grouping(path string) string {
	names := steps(path)
	depth := 2
	if len(names) > 1 && names[1] == "template" {
		depth = 4
	} else if len(names) > 1 && names[1] == "disruption" {
		depth = 3
	}
	return strings.Join(names[:min(depth, len(names))], ".")
}

// graft is the old tree with the new one's value at a path of plain names.
func graft(old, now map[string]any, path string) map[string]any {
	names := strings.Split(path, ".")
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	if len(names) == 1 {
		if v, ok := now[names[0]]; ok {
			out[names[0]] = v
		} else {
			delete(out, names[0])
		}
		return out
	}
	was, _ := old[names[0]].(map[string]any)
	is, _ := now[names[0]].(map[string]any)
	out[names[0]] = graft(was, is, strings.Join(names[1:], "."))
	return out
}
