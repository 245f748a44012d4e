package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// remedies says what helps against every reason; a reason that is missing here fails the generation.
func remedies() map[plan.Code]string {
	return map[plan.Code]string{
		plan.PoolNotReady:       "Look at the conditions of the NodePool and of its EC2NodeClass.",
		plan.TaintNotTolerated:  "Give the pod a toleration, or serve it from a NodePool without the taint.",
		plan.LabelMismatch:      "Widen the NodePool's requirements or labels, or the pod's node selector and affinity.",
		plan.LabelUnknown:       "Correct the label's name in the pod, or give the label to a NodePool.",
		plan.NoTypeMatches:      "Correct the value, or widen the requirements of the NodePool or the pod.",
		plan.TooLarge:           "Allow larger instance types in the NodePool, or ask for less.",
		plan.NoOffering:         "Allow more instance types, zones or capacity types; what had no capacity is tried again after a while.",
		plan.LimitReached:       "Raise the NodePool's limit, or free room under it.",
		plan.NoAddresses:        "Add subnets to the EC2NodeClass, or larger ones; or let the pod run in other zones.",
		plan.HostPortTaken:      "Use another host port, or none.",
		plan.TopologyUnmet:      "Let the NodePool reach more domains, raise `maxSkew`, or make the constraint `ScheduleAnyway`.",
		plan.AntiAffinityUnmet:  "Let the NodePool reach more domains, or ask for fewer replicas.",
		plan.AffinityUnmet:      "See where the pod is that it must be with, and whether the NodePool can launch there.",
		plan.MinValuesUnmet:     "Lower `minValues`, widen the requirements, or set `--min-values-policy=BestEffort`.",
		plan.Contradiction:      "Correct the pod: no node can meet it.",
		plan.NoPools:            "Create a NodePool; one that is being deleted does not count.",
		plan.Unplaceable:        "Correct what is named; the pod waits until then.",
		plan.NodesFull:          "Nothing to do by itself: the NodePools' reasons say why no instance is launched.",
		plan.TooDear:            "Wait, allow more instance types, zones or capacity types, or raise KERF_PRICE_GUARD.",
		plan.ReservationPending: "Wait; it is settled by the next decision.",
		plan.AskedAgain:         "Nothing to do: once EC2 has answered for the one NodeClaim, the pod is decided on again.",
		plan.CheckFailed:        "Please report it, with the log line of the controller: it is a defect of Kerf. The pod is decided on again.",
	}
}

func reasonsPage(b *bytes.Buffer, root string) error {
	b.WriteString(`# Why a pod found no place

Every reason that a decision can give, worded as events on pods word it. An event gives one reason for each NodePool, by its
name, and one for the nodes that exist: the first constraint that left nothing, and the nearest thing that would have
worked. The metric ` + "`kerf_unplaced_pods`" + ` counts pods by reason.

`)
	codes, err := reasonCodes(filepath.Join(root, "internal", "engine", "plan", "reason.go"))
	if err != nil {
		return err
	}
	says := remedies()
	head(b, "reason", "wording", "what helps")
	for _, c := range codes {
		remedy, ok := says[c]
		if !ok {
			return fmt.Errorf("reason %s: say in internal/docgen/reasons.go what helps", c)
		}
		r := plan.Reason{Code: c, Key: "‹key›", Value: "‹value›", Resource: "‹resource›", Want: "‹wanted›", Have: "‹had›",
			Nearest: "‹nearest›", Detail: "‹detail›", Types: 12}
		row(b, code(string(c)), r.Text(), remedy)
	}
	return constraintsSection(b, root)
}

// constraintsSection lists what can take part in a conflict, and how a change of it is worded.
func constraintsSection(b *bytes.Buffer, root string) error {
	b.WriteString(`
## What conflicts are made of

` + "`kerf explain pod`" + ` names for each NodePool constraints that can't all be met and of which none can be spared, and the single
changes that would do. See [../why.md](../why.md).

`)
	kinds, err := constants(filepath.Join(root, "internal", "engine", "plan", "explanation.go"), "Kind")
	if err != nil {
		return err
	}
	head(b, "constraint", "wording", "change")
	for _, k := range kinds {
		c := plan.Constraint{Kind: plan.Kind(k), Pool: "‹pool›", Key: "‹key›", Want: "‹wanted›", Have: "‹had›"}
		x := plan.Change{Constraint: c, Pool: "‹pool›", To: "‹value›", Node: plan.TypeChoice{Name: "‹type›", Zone: "‹zone›", CapacityType: "‹capacity type›"}}
		row(b, code(k), c.Text(), x.Text())
	}
	return nil
}

// reasonCodes reads the constants of type Code from the source, in its order.
func reasonCodes(path string) ([]plan.Code, error) {
	names, err := constants(path, "Code")
	var codes []plan.Code
	for _, name := range names {
		codes = append(codes, plan.Code(name))
	}
	return codes, err
}

// constants reads the values of all constants of a type from the source, in its order.
func constants(path, typeName string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if t, ok := spec.Type.(*ast.Ident); !ok || t.Name != typeName || len(spec.Values) != 1 {
			return true
		}
		if v, ok := spec.Values[0].(*ast.BasicLit); ok {
			values = append(values, strings.Trim(v.Value, `"`))
		}
		return false
	})
	if len(values) == 0 {
		return nil, errors.New("no constant of type " + typeName + " in " + path)
	}
	return values, nil
}
