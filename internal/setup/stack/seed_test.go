package stack

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// guides are the files with the statements of the guides, taken from their pages once, and the edition that gives them.
var guides = map[Compat]string{V032Later: "000", V032: "001"}

// normal is a set of statements with all that has no order sorted.
func normal(d *iampolicy.Document) []iampolicy.Statement {
	out := slices.Clone(d.Statements)
	for i := range out {
		st := &out[i]
		st.Actions, st.Resources = slices.Sorted(slices.Values(st.Actions)), slices.Sorted(slices.Values(st.Resources))
		st.Conditions = inOrder(slices.Clone(st.Conditions))
		for k := range st.Conditions {
			st.Conditions[k].Values = slices.Sorted(slices.Values(st.Conditions[k].Values))
		}
	}
	return out
}

func parseStatements(t *testing.T, statements []byte) *iampolicy.Document {
	t.Helper()
	d, err := iampolicy.Parse([]byte(`{"Version":"2012-10-17","Statement":` + string(statements) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOlderEditionsAreTheGuidesStatementByStatement(t *testing.T) {
	for c, number := range guides {
		t.Run(string(c), func(t *testing.T) {
			text, err := os.ReadFile("testdata/seed-" + number + ".json")
			if err != nil {
				t.Fatal(err)
			}
			guide := parseStatements(t, text)
			if c == V032 { // the page leaves out what the template of v0.32.10 has
				for i := range guide.Statements {
					if st := &guide.Statements[i]; st.Sid == "AllowInterruptionQueueActions" {
						st.Actions = append(st.Actions, "sqs:GetQueueAttributes")
					}
				}
			}
			want := normal(guide)
			s := makeStack(t, c)
			if len(s.Policies) != 1 {
				t.Fatalf("%d policies, want one", len(s.Policies))
			}
			if diff := cmp.Diff(want, normal(s.Policies[0].Document)); diff != "" {
				t.Errorf("statements (-guide +stack):\n%s", diff)
			}
		})
	}
}

// TestLatestHasAllThatOlderEditionsHave compares by Sid, for what kept its name.
func TestLatestHasAllThatOlderEditionsHave(t *testing.T) {
	renamed := map[string][]string{"AllowScopedEC2InstanceActions": {"AllowScopedEC2InstanceAccessActions", "AllowScopedEC2LaunchTemplateAccessActions"}}
	latest := map[string]iampolicy.Statement{}
	for _, p := range makeStack(t, Latest).Policies {
		for _, st := range p.Document.Statements {
			if _, twice := latest[st.Sid]; twice {
				t.Errorf("%s is there twice", st.Sid)
			}
			latest[st.Sid] = st
		}
	}
	for _, st := range makeStack(t, V032Later).Policies[0].Document.Statements {
		sids := renamed[st.Sid]
		if sids == nil {
			sids = []string{st.Sid}
		}
		for _, sid := range sids {
			now, ok := latest[sid]
			if !ok {
				t.Errorf("%s is gone", sid)
			}
			for _, a := range st.Actions {
				if a != "ec2:DescribeAvailabilityZones" && !slices.Contains(now.Actions, a) {
					t.Errorf("%s no longer has %s", sid, a)
				}
			}
		}
	}
}

// TestTheEditionOfV10IsLatestButForWhatCameLater compares whole statements.
func TestTheEditionOfV10IsLatestButForWhatCameLater(t *testing.T) {
	later := map[string]func(*iampolicy.Statement){
		"AllowScopedEC2InstanceAccessActions": func(st *iampolicy.Statement) { // reservations with 1.3, placement groups with 1.11
			st.Resources = slices.DeleteFunc(st.Resources, func(r string) bool {
				return r == ec2ARN("*", "capacity-reservation") || r == ec2ARN("*", "placement-group")
			})
		},
		"AllowRegionalReadActions": func(st *iampolicy.Statement) {
			added := []string{"ec2:DescribeCapacityReservations", "ec2:DescribePlacementGroups", "ec2:DescribeInstanceStatus"}
			st.Actions = slices.DeleteFunc(st.Actions, func(a string) bool { return slices.Contains(added, a) })
			st.Actions = slices.Sorted(slices.Values(append(st.Actions, "ec2:DescribeAvailabilityZones")))
		},
	}
	got := map[string]iampolicy.Statement{}
	for _, st := range normal(makeStack(t, V10).Policies[0].Document) {
		got[st.Sid] = st
	}
	for _, p := range makeStack(t, Latest).Policies {
		for _, st := range normal(p.Document) {
			if st.Sid == "AllowUnscopedInstanceProfileListAction" || st.Sid == "AllowZonalShiftStatusReadOnly" {
				continue
			}
			if change := later[st.Sid]; change != nil {
				change(&st)
			}
			if diff := cmp.Diff(st, got[st.Sid]); diff != "" {
				t.Errorf("%s (-latest +v1.0):\n%s", st.Sid, diff)
			}
			delete(got, st.Sid)
		}
	}
	if len(got) > 0 {
		t.Errorf("v1.0 has statements that latest has not: %v", got)
	}
}

// TestTheDefaultStackAllowsAllThatTheNewestGuideDoes: moving over takes nothing away.
//
// Source: the six managed policies of the provider's template of 1.14.
func TestTheDefaultStackAllowsAllThatTheNewestGuideDoes(t *testing.T) {
	have := map[string]bool{}
	for _, p := range makeStack(t, Latest).Policies {
		for _, st := range p.Document.Statements {
			for _, a := range st.Actions {
				for _, r := range st.Resources {
					have[a+" "+r] = true
				}
			}
		}
	}
	for _, a := range []string{"CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes", "LaunchTemplates", "PlacementGroups",
		"SecurityGroups", "SpotPriceHistory", "Subnets"} {
		if !have["ec2:Describe"+a+" *"] {
			t.Errorf("ec2:Describe%s is not allowed", a)
		}
	}
	for _, a := range launches {
		for _, kind := range []string{"capacity-reservation", "placement-group", "subnet", "security-group", "launch-template"} {
			if !have[a+" "+ec2ARN("*", kind)] {
				t.Errorf("%s on %s is not allowed", a, kind)
			}
		}
	}
	if !have["arc-zonal-shift:GetManagedResource *"] || !have["iam:ListInstanceProfiles *"] {
		t.Error("zonal shifts or lists of profiles are not allowed")
	}
}
