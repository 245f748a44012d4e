package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestInstancesThatMayTakeMoreAddressesThanThereAreAreSeen(t *testing.T) {
	const lonely = "\npods web count=4 cpu=1 memory=1Gi\napart hostname\n"
	anywhere := func(p *plan.Plan) {
		for i := range p.NewNodes {
			n := &p.NewNodes[i]
			n.Requirements = slices.DeleteFunc(slices.Clone(n.Requirements), func(r requirement.Term) bool { return r.Key == requirement.Zone })
		}
	}
	for name, c := range map[string]struct {
		story string
		want  bool
	}{
		"nothing is said of subnets":             {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default\n" + lonely, false},
		"enough for all":                         {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:4\n" + lonely, false},
		"one too few in a zone":                  {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:3\n" + lonely, true},
		"two subnets that do together":           {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:3,a:s2:1\n" + lonely, false},
		"types that take two each":               {"types\nsmall cpu=2 memory=4Gi price=0.10 addresses=2\n\npool default subnets=a:s1:7\n" + lonely, true},
		"an instance that is there already":      {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:4\n\nnode n1 pool=default zone=a cpu=1 memory=1Gi\n" + lonely, false},
		"an instance in flight takes the fourth": {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:4\n\nnode n1 in-flight pool=default zone=a cpu=1 memory=100Mi\n" + lonely, true},
		"a subnet that two pools share": {"types\nsmall cpu=2 memory=4Gi price=0.10\n\npool default subnets=a:s1:3\n\npool other subnets=a:s1:3\n" +
			"\npods one count=2 cpu=1500m memory=1Gi\nselect nodepool=default\n\npods two count=2 cpu=1500m memory=1Gi\nselect nodepool=other\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := scenario.Parse(c.story)
			if err != nil {
				t.Fatal(err)
			}
			e := scenario.New()
			for _, s := range steps {
				if _, err := e.Run(s.Head, s.Input); err != nil {
					t.Fatal(err)
				}
			}
			out := pack.Solve(e.Problem)
			for _, v := range verify.Check(e.Problem, out) {
				t.Errorf("as it was planned: %s", v)
			}
			anywhere(out)
			var found []string
			for _, v := range verify.Check(e.Problem, out) {
				found = append(found, v.String())
			}
			said := slices.ContainsFunc(found, func(v string) bool { return strings.HasPrefix(v, "addresses: new node") })
			if said != c.want {
				t.Errorf("with instances that may go to any zone: %q", found)
			}
		})
	}
}
