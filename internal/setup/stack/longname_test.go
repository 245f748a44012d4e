package stack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// TestTheLongestClusterNameDeploys takes the longest name that EKS allows, in regions with the longest names, through
// everything that is written for it.
func TestTheLongestClusterNameDeploys(t *testing.T) {
	for _, region := range []string{"ap-northeast-1", "cn-northwest-1", "us-gov-west-1"} {
		for _, c := range []Compat{V10, Latest} {
			t.Run(region+" "+string(c), func(t *testing.T) {
				s := makeStack(t, c, func(o *Options) {
					named(o)
					o.Controller, o.AccessEntry, o.KMS = PodIdentity, "EC2_LINUX", true
					o.Region, o.AccountID = region, testAccount
				})
				aws := simulatedFor(t, region, longest)
				deploy(t, aws, s)
				got := liveOf(t, aws, account.Options{ClusterName: longest, Queue: "queue", NodeRole: "nodes", ControllerRole: "controller"})
				want := s.Setup(testAccount, region)
				if diff := cmp.Diff(essence(want, strings.NewReplacer()), essence(got, madeUp(want, got))); diff != "" {
					t.Errorf("(-model +account):\n%s", diff)
				}
				for _, r := range got.Rules {
					if len(r.Name) > 64 {
						t.Errorf("rule %s has a name of %d characters", r.Name, len(r.Name))
					}
				}
				parseModule(t, s)
				// A key that is to be made has no ARN that policies could name.
				s = makeStack(t, c, func(o *Options) { named(o); o.Region, o.AccountID = region, testAccount })
				if _, err := s.IAM(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestNamesOfStacksHaveNoUnderscores(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) { o.ClusterName = "team_a_1" })
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "--stack-name Karpenter-team-a-1 ") {
		t.Errorf("the way to deploy it is not in\n%s", text[:600])
	}
}

// TestPoliciesFitWithTheLongestNameThatIsTaken: names are put into a policy that was measured with another.
func TestPoliciesFitWithTheLongestNameThatIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		edition Compat
		longest func(*Stack) int
	}{
		"template of v1.0": {V10, (*Stack).longestClusterName},
		"module of v1.0":   {V10, func(s *Stack) int { return s.longestThatFits(maxClusterName) }},
		"module":           {Latest, func(s *Stack) int { return s.longestThatFits(maxClusterName) }},
	} {
		s := makeStack(t, c.edition)
		n := c.longest(s)
		for length, fits := range map[int]bool{n: true, n + 1: false} {
			if n == maxClusterName && !fits {
				continue
			}
			named := *s
			named.Options.ClusterName = strings.Repeat("c", length)
			most := 0
			for _, p := range s.Policies {
				for _, region := range partition.All {
					most = max(most, named.sizeIn(p.Document, region.Longest))
				}
			}
			if (most <= iampolicy.ManagedPolicyLimit) != fits {
				t.Errorf("%s: of names of up to %d characters, one of %d makes a policy of %d", name, n, length, most)
			}
		}
		files, err := s.Terraform()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f File) bool { return f.Name == "variables.tf" })
		if want := fmt.Sprintf("length(var.cluster_name) <= %d\n", s.longestThatFits(maxClusterName)); !strings.Contains(string(files[i].Content), want) {
			t.Errorf("%s: the variable is not held to %q", name, want)
		}
	}
}

// TestTheTemplateTakesNamesThatFit asks for the longest name that the parameter takes, and for one that is longer.
func TestTheTemplateTakesNamesThatFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		most   int
	}{
		"names of the cluster's": {func(*Options) {}, 46},
		"a node role of its own": {func(o *Options) { o.NodeRoleName = "nodes" }, 76},
		"names of its own":       {named, 100},
	} {
		s := makeStack(t, Latest, c.change)
		if got := s.longestClusterName(); got != c.most {
			t.Errorf("%s: it takes %d characters, want %d", name, got, c.most)
		}
		o := s.Options
		o.ClusterName = strings.Repeat("c", c.most)
		if _, err := New(o); err != nil {
			t.Errorf("%s: %d characters do not fit: %v", name, c.most, err)
		}
		o.ClusterName += "c"
		if _, err := New(o); err == nil {
			t.Errorf("%s: %d characters fit", name, c.most+1)
		}
	}
}
