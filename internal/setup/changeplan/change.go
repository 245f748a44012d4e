package changeplan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Change is an object that is changed, with every field of its spec that is.
type Change struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// From is where the change comes from: file and line, or a flag.
	From   string  `json:"from,omitempty"`
	Fields []Field `json:"fields,omitempty"`
	// Unchecked says why the API server did not judge the object; then only its form was checked.
	Unchecked string `json:"unchecked,omitempty"`
	// Problems are why the object could not be used after the change.
	Problems []string `json:"problems,omitempty"`
}

// hashedTemplate and hashedClass are why a field rolls everything: asked of the hashes themselves, field by field.
const (
	hashedTemplate = "it is part of the template that nodes are made from: every node of the pool is replaced"
	hashedClass    = "it decides how a node is made: every node of the class is replaced"
	otherOrder     = "only its order or its spelling is another one"
)

// poolNotes are what fields do that no node is replaced for.
var poolNotes = map[string]string{
	"spec.limits":                         "it bounds what may be launched",
	"spec.weight":                         "it decides which pool is launched from first",
	"spec.replicas":                       "the pool gets more or fewer nodes, and keeps those it has",
	"spec.disruption.budgets":             "it decides how many nodes go at a time",
	"spec.disruption.consolidateAfter":    "it decides when nodes are consolidated",
	"spec.disruption.consolidationPolicy": "it decides which nodes are consolidated",
	"spec.template.spec.requirements":     "nodes are replaced whose labels do not meet the requirements then",
}

// classSelectors are what a class finds its things by: nodes are replaced where something else is found.
var classSelectors = map[string]string{
	"spec.amiSelectorTerms":                 "nodes are replaced whose image is another one then",
	"spec.subnetSelectorTerms":              "nodes are replaced whose subnet is not selected any more",
	"spec.securityGroupSelectorTerms":       "nodes are replaced that are in other security groups then",
	"spec.capacityReservationSelectorTerms": "nodes are replaced whose capacity reservation is not selected any more",
	"spec.launchTemplate":                   "nodes are replaced that were launched from another template or version",
}

// poolFields are the changed fields of a pool; old is nil for a new one.
func poolFields(old, now *karpv1.NodePool) []Field {
	if old == nil {
		return []Field{{Path: "spec", Effect: Created, Why: "the pool has no nodes yet"}}
	}
	was, is := tree(old), tree(now)
	return judged(was, is, func(group string) (Effect, string) {
		var one karpv1.NodePool
		if !load(graft(was, is, group), &one) || one.Hash() != old.Hash() {
			return RollsAll, hashedTemplate
		}
		switch note := poolNotes[group]; {
		case group == "spec.template.spec.requirements":
			return MayRoll, note
		case note != "":
			return NoDrift, note
		case strings.HasPrefix(group, "spec.template."):
			return NoDrift, otherOrder
		}
		return NoDrift, "no node is replaced for it"
	})
}

// classFields are the changed fields of a class; old is nil for a new one.
func classFields(old, now *awsv1.EC2NodeClass) []Field {
	if old == nil {
		return []Field{{Path: "spec", Effect: Created, Why: "no node was made by it yet"}}
	}
	was, is := tree(old), tree(now)
	return judged(was, is, func(group string) (Effect, string) {
		if note := classSelectors[group]; note != "" {
			return MayRoll, note
		}
		var one awsv1.EC2NodeClass
		if !load(graft(was, is, group), &one) || one.Hash("") != old.Hash("") {
			return RollsAll, hashedClass
		}
		return NoDrift, otherOrder
	})
}

// judged are the differences of two specs, each judged by the group that it belongs to.
func judged(was, is map[string]any, judge func(group string) (Effect, string)) []Field {
	var out []Field
	verdicts := map[string]Field{}
	for _, l := range differences("spec", was["spec"], is["spec"]) {
		group := grouping(l.path)
		v, known := verdicts[group]
		if !known {
			v.Effect, v.Why = judge(group)
			verdicts[group] = v
		}
		f := Field{Path: l.path, Old: value(l.old), New: value(l.now), Effect: v.Effect, Why: v.Why}
		f.Guard = guard(&f)
		out = append(out, f)
	}
	return out
}

// guard says what the change of a field lets happen that was held back before; empty for nothing.
func guard(f *Field) string {
	switch {
	case strings.HasPrefix(f.Path, "spec.limits") && f.New == "":
		return "no limit is left for it"
	case strings.HasPrefix(f.Path, "spec.disruption.budgets[") && strings.HasSuffix(f.Path, "].nodes") && f.Old != "":
		if f.New == "" {
			return "a disruption budget is removed"
		}
		if looser(f.Old, f.New) {
			return "more nodes may be disrupted at a time"
		}
	case f.Path == "spec.template.spec.terminationGracePeriod" && f.Old == "":
		return "when it is over, pods are deleted past PodDisruptionBudgets and karpenter.sh/do-not-disrupt"
	}
	return ""
}

// looser reports whether a budget of now nodes, a number or a percentage, allows more than one of old. Of a number beside a
// percentage it can't be told, unless nothing was allowed.
func looser(old, now string) bool {
	was, wasShare := strings.CutSuffix(old, "%")
	is, isShare := strings.CutSuffix(now, "%")
	a, errA := strconv.Atoi(was)
	b, errB := strconv.Atoi(is)
	return errA == nil && errB == nil && b > a && (wasShare == isShare || a == 0)
}

func load(tree map[string]any, into any) bool {
	text, err := json.Marshal(tree)
	return err == nil && json.Unmarshal(text, into) == nil
}

// found are the differences in what a class selects. Old has the status as it was when its nodes were made, as far as it is
// known.
func found(old, now *awsv1.EC2NodeClass) []Field {
	var out []Field
	add := func(path string, was, is []string) {
		gone, come := beyond(was, is), beyond(is, was)
		if len(gone)+len(come) > 0 {
			out = append(out, Field{Path: path, Old: strings.Join(gone, ", "), New: strings.Join(come, ", "), Effect: Found, Why: "what does not change is left out"})
		}
	}
	if old == nil {
		old = &awsv1.EC2NodeClass{}
	}
	add("status.amis", names(old.Status.AMIs, func(a awsv1.AMI) string { return named(a.ID, a.Name) }), names(now.Status.AMIs, func(a awsv1.AMI) string { return named(a.ID, a.Name) }))
	add("status.subnets", names(old.Status.Subnets, func(s awsv1.Subnet) string { return named(s.ID, s.Zone) }), names(now.Status.Subnets, func(s awsv1.Subnet) string { return named(s.ID, s.Zone) }))
	add("status.securityGroups", names(old.Status.SecurityGroups, func(g awsv1.SecurityGroup) string { return named(g.ID, g.Name) }), names(now.Status.SecurityGroups, func(g awsv1.SecurityGroup) string { return named(g.ID, g.Name) }))
	add("status.capacityReservations", names(old.Status.CapacityReservations, func(r awsv1.CapacityReservation) string { return r.ID }), names(now.Status.CapacityReservations, func(r awsv1.CapacityReservation) string { return r.ID }))
	add("status.launchTemplate", refs(old), refs(now))
	return out
}

func refs(c *awsv1.EC2NodeClass) []string {
	if c.Status.LaunchTemplate == nil {
		return nil
	}
	return []string{named(c.Status.LaunchTemplate.Ref(), c.Status.LaunchTemplate.Name)}
}

func named(id, name string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", id, name)
}

func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, name(x))
	}
	return out
}

// beyond is what is in the first list and not in the second, sorted, each once.
func beyond(a, b []string) []string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
