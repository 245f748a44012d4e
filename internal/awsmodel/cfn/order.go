package cfn

import (
	"fmt"
	"slices"
	"strings"
)

// Order returns the resources that are there under their conditions in an order in which each comes after all that it
// needs: those it names with Ref, GetAtt or Sub, and those in its DependsOn. Where that leaves a choice, the order is the
// file's. Resources that need each other in a circle are an error that names them.
func (e *Evaluation) Order() ([]*Resource, error) {
	needs := map[string][]string{}
	var ids []string
	for _, r := range e.t.Resources {
		if e.Active(r) == false {
			continue
		}
		ids = append(ids, r.ID)
		needs[r.ID] = e.Needs(r)
	}
	var out []*Resource
	done := map[string]bool{}
	for len(out) < len(ids) {
		before := len(out)
		for _, id := range ids {
			waiting := slices.ContainsFunc(needs[id], func(n string) bool { _, there := needs[n]; return there && !done[n] })
			if !done[id] && !waiting {
				done[id] = true
				out = append(out, e.t.resources[id])
			}
		}
		if len(out) == before {
			return nil, circle(ids, needs, done)
		}
	}
	return out, nil
}

// circle words the error for resources that wait for each other.
func circle(ids []string, needs map[string][]string, done map[string]bool) error {
	var start string
	for _, id := range ids {
		if !done[id] {
			start = id
			break
		}
	}
	// From any resource that waits, following what it waits for leads into a circle.
	var way []string
	for !slices.Contains(way, start) {
		way = append(way, start)
		for _, n := range needs[start] {
			if _, there := needs[n]; there && !done[n] {
				start = n
				break
			}
		}
	}
	way = way[slices.Index(way, start):]
	slices.Sort(way)
	return &Error{Message: fmt.Sprintf("circular dependency between resources: [%s]", strings.Join(way, ", "))}
}

// Needs returns the ids of the resources that a resource needs, as its conditions have it now, in order.
func (e *Evaluation) Needs(r *Resource) []string {
	out := slices.Clone(r.DependsOn)
	for _, ref := range references(e.chosen(r.Properties), "") {
		if e.t.resources[ref.name] != nil && !slices.Contains(out, ref.name) {
			out = append(out, ref.name)
		}
	}
	return slices.DeleteFunc(out, func(id string) bool { return id == "" })
}

// chosen returns the node with every Fn::If replaced by the branch that its condition chooses.
func (e *Evaluation) chosen(n *Node) *Node {
	if n == nil || len(n.Items) == 0 {
		return n
	}
	if n.Kind == Call && n.Name == fnIf {
		name, _ := n.Items[0].text()
		switch e.conditions[name] {
		case true:
			return e.chosen(n.Items[1])
		case false:
			return e.chosen(n.Items[2])
		}
	}
	c := *n
	c.Items = make([]*Node, len(n.Items))
	for i, item := range n.Items {
		c.Items[i] = e.chosen(item)
	}
	return &c
}
