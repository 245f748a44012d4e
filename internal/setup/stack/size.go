package stack

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// controllerPolicies puts the statements into policies that IAM takes. A policy that gets too large is cut between two
// statements, and the rest goes into one with a number after its name.
func controllerPolicies(s *Stack) ([]Policy, error) {
	o := &s.Options
	suffix := o.PolicySuffix
	if suffix == "" {
		suffix = refCluster
	}
	var list []Policy
	for _, g := range groups(s) {
		parts, err := s.cut(g)
		if err != nil {
			return nil, err
		}
		for i, statements := range parts {
			d := document(statements...)
			p := Policy{LogicalID: g.id, Name: g.id + "-" + suffix, Path: o.Path, Document: d, Characters: s.largest(d)}
			if i > 0 {
				p.LogicalID += fmt.Sprint(i + 1)
				p.Name += fmt.Sprintf("-%d", i+1)
			}
			if name := s.resolverFor(o.Region).text(p.Name); len(name) > maxPolicyName {
				return nil, longPolicyName(name)
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// cut shares out the statements of a group, in their order, so that each part fits into a policy.
func (s *Stack) cut(g group) ([][]iampolicy.Statement, error) {
	var parts [][]iampolicy.Statement
	var part []iampolicy.Statement
	frame := iampolicy.Size(document().JSON())
	size := frame
	for _, st := range g.statements {
		alone := s.largest(document(st))
		if alone > iampolicy.ManagedPolicyLimit {
			return nil, fmt.Errorf("statement %s of %s has %d characters, a policy may have %d, and one statement can't be cut in two: %s",
				st.Sid, g.id, alone, iampolicy.ManagedPolicyLimit, remedy(st.Sid))
		}
		more := alone - frame + len(",")
		if len(part) > 0 && size+more > iampolicy.ManagedPolicyLimit {
			parts, part, size = append(parts, part), nil, frame
		}
		part, size = append(part, st), size+more
	}
	return append(parts, part), nil
}

func remedy(sid string) string {
	switch sid {
	case "AllowUserSSMParameterReads":
		return "give fewer --ssm-parameter ARNs, with * for those of one path"
	case "AllowSSMReadActions":
		return "give fewer --public-parameter paths, with * for those of one family"
	case "AllowPassingUserRoles":
		return "give fewer --pass-role ARNs"
	case "AllowVolumeKeyUse", "AllowVolumeKeyGrants":
		return "give fewer --volume-key ARNs"
	}
	return "use a shorter cluster name"
}

// largest is the size of a document in the region of the options, or if there is none, in that of all partitions where it
// is largest.
func (s *Stack) largest(d *iampolicy.Document) int {
	if r := s.Options.Region; r != "" {
		return s.sizeIn(d, r)
	}
	n := 0
	for _, p := range partition.All {
		n = max(n, s.sizeIn(d, p.Longest))
	}
	return n
}

func (s *Stack) sizeIn(d *iampolicy.Document, region string) int {
	return iampolicy.Size(s.resolverFor(region).document(d).JSON())
}
