package stack

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Doc is the page of the documentation on permissions: what each statement is for, what fails without it, what is refused,
// and how large the policies are. It is made from the tables that the tests hold to the code.
func Doc() (string, error) {
	var b bytes.Buffer
	b.WriteString(pageHead)
	pageNeeds(&b)
	pageOptional(&b)
	pageSpare(&b)
	pageRefused(&b)
	if err := pageSizes(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

const pageHead = `# Permissions

Every call that the controller makes to AWS, with the statement of ` + "`kerf stack`" + ` that allows it and with what is seen when it does
not. Log lines and conditions carry AWS's own message, which names the action and the resource, and say where to allow it.

None of this is by hand: a test deploys the stack in a simulated account that judges every call, takes one action after the
other out of its policies, lets the controller do all that it does, and holds what is then seen to this page. With the whole
policies nothing is refused, and what nothing uses is listed below.

The edition ` + "`latest`" + ` has one policy for each concern; ` + "`v0.32` and `v1.0`" + ` have one policy for all, as the guides of their time. Where
these have another statement for a call, it stands behind a slash; a dash says that they do not allow it.

A call that makes or uses several things is judged once for each: a launch needs the image, the subnet, the security groups, the
template, and each thing that it makes. An instant fleet launches in the name of who asked for it, so it takes ` + "`ec2:RunInstances`" + ` as
well as ` + "`ec2:CreateFleet`" + `.
`

func pageNeeds(b *bytes.Buffer) {
	b.WriteString("\n## What the controller calls\n")
	feature := ""
	for _, n := range byFeature() {
		if n.Feature == featureUnused {
			continue
		}
		if n.Feature != feature {
			feature = n.Feature
			fmt.Fprintf(b, "\n### %s%s\n\n", strings.ToUpper(feature[:1]), feature[1:])
			tableHead(b, "action", "on", "statement", "for", "without it")
		}
		why := n.Why
		if n.Option != "" {
			why += " (" + options(n.Option) + ")"
		}
		tableRow(b, action(n), strings.Join(n.Kinds, ", "), statement(n), why, n.Without)
	}
}

func byFeature() []Need {
	list := Needs()
	order := []string{featureStart, featureTypes, featureClass, featureProfile, featureLaunch, featureWatch, featureInterrupt, featureUnused}
	slices.SortStableFunc(list, func(a, b Need) int {
		return cmp.Compare(slices.Index(order, a.Feature), slices.Index(order, b.Feature))
	})
	return list
}

func action(n Need) string {
	if n.Operation != "" {
		return "`" + n.Action + "`, asked for by " + n.Operation
	}
	return "`" + n.Action + "`"
}

func statement(n Need) string {
	s := n.Sid
	switch n.Before {
	case "":
	case none:
		s += " / –"
	default:
		s += " / " + n.Before
	}
	return s
}

func options(o string) string { return "`" + strings.ReplaceAll(o, " or ", "` or `") + "`" }

func pageOptional(b *bytes.Buffer) {
	b.WriteString("\n## What needs an option\n\nThe controller does not call these as it is set up by default. A stack of the edition latest allows reservations, placement groups and zonal shifts, as the newest guide does, unless told not to (`--zonal-shift=false` and so on); the rest only when it is told to.\n\n")
	tableHead(b, "option", "action", "on", "statement", "for", "without it")
	for _, n := range Needs() {
		if n.Feature == featureUnused {
			tableRow(b, options(n.Option), action(n), strings.Join(n.Kinds, ", "), statement(n), n.Why, n.Without)
		}
	}
}

func pageSpare(b *bytes.Buffer) {
	b.WriteString("\n## What is allowed and not called\n\n")
	tableHead(b, "statement", "action", "on", "why it is there", "editions")
	for _, s := range Spares(V032) {
		var in []string
		for _, c := range Editions() {
			if slices.ContainsFunc(Spares(c), func(x Spare) bool { return x.Sid == s.Sid && x.Action == s.Action }) {
				in = append(in, string(c))
			}
		}
		editions := strings.Join(in, ", ")
		if len(in) == len(Editions()) {
			editions = "all"
		}
		tableRow(b, s.Sid, "`"+s.Action+"`", cmp.Or(strings.Join(s.Kinds, ", "), "*"), s.Why, editions)
	}
}

func pageRefused(b *bytes.Buffer) {
	b.WriteString("\n## What is refused\n\nThe tests of the stack, and `kerf stack check`, try each of these.\n\n")
	tableHead(b, "what", "actions", "refused by")
	var what []string
	actions, editions := map[string][]string{}, map[string]string{}
	for _, n := range MustNot() {
		if _, ok := actions[n.Feature]; !ok {
			what = append(what, n.Feature)
			editions[n.Feature] = "all editions"
			if n.editions != nil {
				editions[n.Feature] = "since " + string(n.editions[0])
			}
		}
		if a := "`" + n.Action + "`"; !slices.Contains(actions[n.Feature], a) {
			actions[n.Feature] = append(actions[n.Feature], a)
		}
	}
	for _, w := range what {
		tableRow(b, w, strings.Join(actions[w], ", "), editions[w])
	}
}

// pageSizes measures the policies for a short and the longest cluster name, with the options of the edition.
func pageSizes(b *bytes.Buffer) error {
	b.WriteString("\n## Sizes\n\nCharacters without white space, in the region where they are most; IAM takes 6,144. " +
		"A policy that would be larger is cut between two statements, and its second part has `-2` after its name.\n\n")
	tableHead(b, "edition", "policy", "cluster `demo`", "a cluster name of 100 characters")
	for _, c := range Editions() {
		short, long := Defaults(c), Defaults(c)
		short.ClusterName, long.ClusterName = "demo", strings.Repeat("a", maxClusterName)
		long.NodeRoleName, long.QueueName, long.PolicySuffix = "nodes", "queue", "short"
		a, err := New(short)
		if err != nil {
			return fmt.Errorf("measuring the policies of %s: %w", c, err)
		}
		z, err := New(long)
		if err != nil {
			return fmt.Errorf("measuring the policies of %s: %w", c, err)
		}
		sizes := map[string]int{}
		for _, p := range a.Policies {
			sizes[p.LogicalID] = p.Characters
		}
		for _, p := range z.Policies {
			demo := "–"
			if n, ok := sizes[p.LogicalID]; ok {
				demo = fmt.Sprint(n)
			}
			tableRow(b, string(c), p.LogicalID, demo, fmt.Sprint(p.Characters))
		}
	}
	return nil
}

func tableHead(b *bytes.Buffer, titles ...string) {
	tableRow(b, titles...)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
}

func tableRow(b *bytes.Buffer, cells ...string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}
