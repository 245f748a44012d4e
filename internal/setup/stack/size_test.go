package stack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

var longest = strings.Repeat("a", 100)

// named gives the names that can't follow from a cluster's name of 100 characters.
func named(o *Options) {
	o.ClusterName, o.NodeRoleName, o.ControllerRoleName, o.QueueName, o.PolicySuffix = longest, "nodes", "controller", "queue", "short"
}

var switches = []func(*Options){
	func(o *Options) { o.CapacityReservations = true },
	func(o *Options) { o.PlacementGroups = true },
	func(o *Options) { o.InstanceStatus = true },
	func(o *Options) { o.ZonalShift = true },
	func(o *Options) { o.LaunchTemplates = true },
	func(o *Options) { o.KMS = true },
	func(o *Options) { o.Parameters = arnsOf(o.Region, "ssm", "parameter/team/images/", 10) },
	func(o *Options) {
		o.PassRoles = []string{"arn:" + partition.Of(o.Region).Name + ":iam::111122223333:role/KarpenterNodeRole"}
	},
	func(o *Options) { o.VolumeKeys = arnsOf(o.Region, "kms", "key/1234abcd-12ab-34cd-56ef-12345678", 10) },
}

func arnsOf(region, service, prefix string, n int) []string {
	region = cmp.Or(region, "ap-northeast-1")
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("arn:%s:%s:%s:111122223333:%s%04d", partition.Of(region).Name, service, region, prefix, i))
	}
	return out
}

// TestPoliciesFitInEveryPartitionWithEveryOption tries all combinations with the longest names that there are.
func TestPoliciesFitInEveryPartitionWithEveryOption(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		most := 0
		for _, p := range partition.All {
			if c == V032 && p.Name == "aws-cn" {
				continue
			}
			for bits := range 1 << len(switches) {
				o := Defaults(c)
				named(&o)
				o.Region, o.AccountID, o.Controller = p.Longest, testAccount, PodIdentity
				for i, on := range switches {
					if bits&(1<<i) != 0 {
						on(&o)
					}
				}
				s, err := New(o)
				if err != nil {
					t.Fatalf("%s, options %b: %v", p.Name, bits, err)
				}
				for _, x := range s.Setup(testAccount, p.Longest).Policies {
					most = max(most, x.Characters)
					if x.Characters > iampolicy.ManagedPolicyLimit || len(x.Name) > maxPolicyName {
						t.Errorf("%s, options %b: %s has %d characters", p.Name, bits, x.Name, x.Characters)
					}
				}
				if want, got := statementsOf(s), sidsOf(s); !slices.Equal(want, got) {
					t.Errorf("%s, options %b: statements %q were cut into %q", p.Name, bits, want, got)
				}
			}
		}
		t.Logf("largest policy: %d characters", most)
	})
}

func statementsOf(s *Stack) []string {
	var out []string
	for _, g := range groups(s) {
		for _, st := range g.statements {
			out = append(out, st.Sid)
		}
	}
	return out
}

func sidsOf(s *Stack) []string {
	var out []string
	for _, p := range s.Policies {
		for _, st := range p.Document.Statements {
			out = append(out, st.Sid)
		}
	}
	return out
}

// TestWhatIsMeasuredWithoutARegionHoldsInAll: a template fits wherever it is deployed.
func TestWhatIsMeasuredWithoutARegionHoldsInAll(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		s := makeStack(t, c, everything, named)
		for _, p := range partition.All {
			for i, x := range s.Setup(testAccount, p.Longest).Policies {
				if x.Characters > s.Policies[i].Characters {
					t.Errorf("%s has %d characters in %s, it was measured to have %d", x.Name, x.Characters, p.Name, s.Policies[i].Characters)
				}
			}
		}
	})
}

func TestLargePoliciesAreCutBetweenStatements(t *testing.T) {
	s := makeStack(t, V032, named, func(o *Options) { o.Parameters = arnsOf("", "ssm", "parameter/team/images/", 40) })
	var ids, names []string
	for _, p := range s.Policies {
		ids, names = append(ids, p.LogicalID), append(names, p.Name)
	}
	if want := []string{"KarpenterControllerPolicy", "KarpenterControllerPolicy2"}; !slices.Equal(ids, want) {
		t.Errorf("policies are %q, want %q", ids, want)
	}
	if want := []string{"KarpenterControllerPolicy-short", "KarpenterControllerPolicy-short-2"}; !slices.Equal(names, want) {
		t.Errorf("names are %q, want %q", names, want)
	}
	if got := s.Setup(testAccount, "eu-west-1").Policies; got[0].Document.Statements[0].Sid != "AllowScopedEC2InstanceActions" {
		t.Errorf("the first statement is %s", got[0].Document.Statements[0].Sid)
	}
	// A cut policy is attached and written like any other.
	s = makeStack(t, V032, named, func(o *Options) {
		o.Parameters, o.Controller = arnsOf("", "ssm", "parameter/team/images/", 40), PodIdentity
	})
	if got := s.Setup(testAccount, "eu-west-1").Roles[1].ManagedPolicyARNs; len(got) != 2 || !strings.HasSuffix(got[1], "-short-2") {
		t.Errorf("attached are %q", got)
	}
	parseModule(t, s)
	deployed(t, s, "eu-west-1")
}
