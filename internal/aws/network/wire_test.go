package network_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type fixture struct {
	sim      *awssim.Server
	now      time.Time
	ledger   *network.Ledger
	resolver *network.Resolver
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	s, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	f.sim = s
	f.ledger = network.NewLedger(func() time.Time { return f.now })
	f.resolver = network.NewResolver(aws.EC2, f.ledger, time.Minute, func() time.Time { return f.now })
	return f
}

func subnetClass(terms ...awsv1.SubnetSelectorTerm) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{SubnetSelectorTerms: terms}}
	c.Name = "default"
	return c
}

func groupClass(terms ...awsv1.SecurityGroupSelectorTerm) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{SecurityGroupSelectorTerms: terms}}
	c.Name = "default"
	return c
}

var discovery = map[string]string{"karpenter.sh/discovery": "kerf"}

func TestSubnetsBySelector(t *testing.T) {
	f := newFixture(t)
	all := f.sim.World.Subnets()
	tagged := 0
	for _, s := range all {
		if s.Tags["karpenter.sh/discovery"] == "kerf" {
			tagged++
		}
	}
	one := all[0]
	for name, c := range map[string]struct {
		terms []awsv1.SubnetSelectorTerm
		want  int
	}{
		"by tag":                             {[]awsv1.SubnetSelectorTerm{{Tags: discovery}}, tagged},
		"by tag key":                         {[]awsv1.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "*"}}}, tagged},
		"by id":                              {[]awsv1.SubnetSelectorTerm{{ID: one.ID}}, 1},
		"by tag and by id, each subnet once": {[]awsv1.SubnetSelectorTerm{{Tags: discovery}, {ID: one.ID}}, max(tagged, 1)},
		"an id that is not there, and one that is": {[]awsv1.SubnetSelectorTerm{{ID: "subnet-00000000000000000"}, {ID: one.ID}}, 1},
		"all tags of a term must fit":              {[]awsv1.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "kerf", "no": "such"}}}, 0},
		"an empty term selects nothing":            {[]awsv1.SubnetSelectorTerm{{}}, 0},
	} {
		got, finding := f.resolver.Subnets(t.Context(), subnetClass(c.terms...))
		if len(got) != c.want || finding.OK != (c.want > 0) || finding.Unknown {
			t.Errorf("%s: %d subnets, want %d; %+v", name, len(got), c.want, finding)
		}
		if c.want == 0 && (finding.Reason != awsv1.ReasonSubnetsNotFound || !strings.Contains(finding.Message, "EC2NodeClass default: spec.subnetSelectorTerms")) {
			t.Errorf("%s: %+v", name, finding)
		}
		for _, s := range got {
			if s.Zone == "" || s.ZoneID == "" || !strings.HasPrefix(s.ID, "subnet-") {
				t.Errorf("%s: incomplete subnet %+v", name, s)
			}
		}
	}
}

func TestSubnetsWithMostAddressesComeFirst(t *testing.T) {
	f := newFixture(t)
	class := subnetClass(awsv1.SubnetSelectorTerm{Tags: discovery})
	first, _ := f.resolver.Subnets(t.Context(), class)
	free, _ := f.ledger.Free(first[0].ID)
	if free == 0 {
		t.Fatal("the ledger saw no addresses")
	}
	f.sim.World.OccupyAddresses(first[0].ID, 100)
	if again, _ := f.resolver.Subnets(t.Context(), class); !slices.Equal(again, first) {
		t.Error("within a minute EC2 was asked again")
	}
	f.now = f.now.Add(time.Minute)
	second, _ := f.resolver.Subnets(t.Context(), class)
	if second[len(second)-1] != first[0] {
		t.Errorf("the fuller subnet %s is not last: %v", first[0].ID, second)
	}
	if got, _ := f.ledger.Free(first[0].ID); got != free-100 {
		t.Errorf("the ledger has %d, want %d", got, free-100)
	}
}

func TestAFailedLookupKeepsTheStatus(t *testing.T) {
	f := newFixture(t)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2"})
	class := subnetClass(awsv1.SubnetSelectorTerm{Tags: discovery})
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-old", Zone: "z"}}
	if got, finding := f.resolver.Subnets(t.Context(), class); !slices.Equal(got, class.Status.Subnets) || !finding.Unknown {
		t.Errorf("%v %+v", got, finding)
	}
	groups := groupClass(awsv1.SecurityGroupSelectorTerm{Tags: discovery})
	groups.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-old"}}
	if got, finding := f.resolver.SecurityGroups(t.Context(), groups); !slices.Equal(got, groups.Status.SecurityGroups) || !finding.Unknown {
		t.Errorf("%v %+v", got, finding)
	}
}

func TestSecurityGroupsBySelector(t *testing.T) {
	f := newFixture(t)
	all := f.sim.World.SecurityGroups()
	var tagged []string
	for _, g := range all {
		if g.Tags["karpenter.sh/discovery"] == "kerf" {
			tagged = append(tagged, g.ID)
		}
	}
	slices.Sort(tagged)
	for name, c := range map[string]struct {
		terms []awsv1.SecurityGroupSelectorTerm
		want  []string
		note  string
	}{
		"by tag":                   {[]awsv1.SecurityGroupSelectorTerm{{Tags: discovery}}, tagged, ""},
		"by name":                  {[]awsv1.SecurityGroupSelectorTerm{{Name: all[0].Name}}, []string{all[0].ID}, ""},
		"by id":                    {[]awsv1.SecurityGroupSelectorTerm{{ID: all[0].ID}}, []string{all[0].ID}, ""},
		"the id wins, and it says": {[]awsv1.SecurityGroupSelectorTerm{{ID: all[0].ID, Tags: map[string]string{"no": "such"}}}, []string{all[0].ID}, "spec.securityGroupSelectorTerms[0] has an id, so its other fields are ignored"},
		"none":                     {[]awsv1.SecurityGroupSelectorTerm{{Name: "no-such"}}, nil, "EC2NodeClass default: spec.securityGroupSelectorTerms selects no security group of this account and region; check ids, names and tags"},
	} {
		got, finding := f.resolver.SecurityGroups(t.Context(), groupClass(c.terms...))
		var ids []string
		for _, g := range got {
			ids = append(ids, g.ID)
			if g.Name == "" {
				t.Errorf("%s: %s has no name", name, g.ID)
			}
		}
		if !slices.Equal(ids, c.want) || finding.OK != (len(c.want) > 0) || finding.Message != c.note {
			t.Errorf("%s: %v, want %v; %+v", name, ids, c.want, finding)
		}
	}
}

func TestDeniedLookupsNameTheAction(t *testing.T) {
	f := newFixture(t)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeSubnets", Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403})
	_, finding := f.resolver.Subnets(t.Context(), subnetClass(awsv1.SubnetSelectorTerm{Tags: discovery}))
	if !finding.Unknown || !strings.Contains(finding.Message, "ec2:DescribeSubnets") {
		t.Errorf("%+v", finding)
	}
}
