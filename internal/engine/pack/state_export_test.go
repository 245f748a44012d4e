package pack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Passed over by StateOf, by type and field, each for a reason. All else of a WhatIf and its solver must be after a fork
// what it was before: a field that is added is held to that without being listed anywhere.
var passedOver = map[string]string{
	"solver.memory":       "compiled once and shared",
	"solver.p":            "the problem, which is only read",
	"solver.moving":       "only read",
	"model.schema":        "only read",
	"model.vocab":         "interned, grows",
	"model.reqs":          "interned, grows",
	"model.compileKey":    "compiled once",
	"solver.numbers":      "answers that are kept",
	"podGroup.on":         "answers that are kept",
	"podGroup.kinds":      "answers that are kept",
	"solver.stats":        "a count of work",
	"solver.visited":      "a count of work",
	"WhatIf.scanned":      "a count of work",
	"class.hosting":       "a number that is kept",
	"class.size":          "a number that is kept",
	"launched.draft":      "scratch",
	"launched.room":       "scratch",
	"launched.demanded":   "scratch",
	"launched.bids":       "scratch",
	"launched.tried":      "scratch",
	"WhatIf.nodes":        "scratch",
	"launched.spare":      "made anew for new nodes",
	"movable.floor":       "worked out once",
	"WhatIf.fork":         "dropped",
	"displacedClass.full": "an answer that stays true: room only shrinks",
	"class.root":          "pins, made once",
	"class.items":         "pins, made once; StateOf tells those that hold anything",
	"podGroup.noted":      "the number of a fork",
	"group.noted":         "the number of a fork",
	"node.noted":          "the number of a fork",
	"pool.noted":          "the number of a fork",
	"subnet.noted":        "the number of a fork",
	"reservation.noted":   "the number of a fork",
	"pool.demand":         "summed up for each launch",
	"pool.worth":          "summed up for each launch",
	"launched.crowds":     "assembled for each launch",
	"pool.shapes":         "made once",
	"group.listed":        "made again when asked for",
	"journal.opened":      "a count",
}

// onlyRead are types of which nothing is changed once they are made.
var onlyRead = []string{"cluster.", "catalog.", "requirement.", "plan.", "pack.shape", "pack.keptNode", "pack.nodeBase"}

// StateOf is all that questions of a WhatIf may change, as text.
func StateOf(w *WhatIf) string {
	d := &dumper{seen: map[uintptr]bool{}}
	d.value("w", reflect.ValueOf(w))
	for _, c := range w.s.classes {
		for _, it := range c.items {
			if it.left != 0 || it.total != 0 || it.pool != nil || len(it.pools) > 0 {
				fmt.Fprintf(&d.out, "item %s%s: left %d, total %d, pool %v, %d in order\n", c.src.ID, it.pin, it.left, it.total, it.pool != nil, len(it.pools))
			}
		}
	}
	return d.out.String()
}

type dumper struct {
	out  strings.Builder
	seen map[uintptr]bool
}

func (d *dumper) value(path string, v reflect.Value) {
	t := v.Type()
	if slices.ContainsFunc(onlyRead, func(prefix string) bool { return strings.HasPrefix(t.String(), prefix) }) && t.Kind() == reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			fmt.Fprintf(&d.out, "%s nil\n", path)
			return
		}
		fmt.Fprintf(&d.out, "%s %x\n", path, v.Pointer())
		if !d.seen[v.Pointer()] {
			d.seen[v.Pointer()] = true
			d.value(path, v.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if name := t.Name() + "." + t.Field(i).Name; passedOver[name] == "" {
				d.value(path+"."+t.Field(i).Name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(&d.out, "%s has %d\n", path, v.Len())
		for i := range v.Len() {
			d.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		d.mapping(path, v)
	case reflect.Func, reflect.Interface:
	default:
		fmt.Fprintf(&d.out, "%s %v\n", path, v)
	}
}

func (d *dumper) mapping(path string, v reflect.Value) {
	type pair struct {
		key   string
		value reflect.Value
	}
	var all []pair
	for it := v.MapRange(); it.Next(); {
		key := fmt.Sprint(it.Key())
		if it.Key().Kind() == reflect.Pointer {
			key = fmt.Sprintf("%x", it.Key().Pointer())
		}
		if it.Value().Kind() != reflect.Int || it.Value().Int() != 0 { // counts of nothing count for nothing
			all = append(all, pair{key, it.Value()})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	for _, p := range all {
		d.value(path+"["+p.key+"]", p.value)
	}
}
