package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

func TestWhatAnOlderGuideAllowsIsAdvice(t *testing.T) {
	for name, edition := range map[string]stack.Compat{"getting-started-v1.yaml": stack.V032Later, "getting-started-v1.0.yaml": stack.V10, "getting-started-v0.32.yaml": stack.V032} {
		setup, kind, err := setupfile.Read(checktest.ReadFile(t, name), setupfile.ReadOptions{Source: name, ClusterName: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		o := check.Options{Stack: stack.Defaults(stack.Latest)}
		if c, ok := check.OlderEdition(setup, kind, o); !ok || c != edition {
			t.Errorf("%s: want the edition %s, got %s (%v)", name, edition, c, ok)
			continue
		}
		r, err := check.Compare(setup, kind, o)
		if err != nil {
			t.Fatal(err)
		}
		r.Ease()
		for _, f := range r.Findings {
			if f.Severity == check.TooWide && f.Area == check.AreaPermissions {
				t.Errorf("%s: too wide: %s: %s", name, f.Thing, f.What)
			}
		}
	}
}

// changed is what is found of the stack as Kerf writes it, after a change.
func changed(t *testing.T, options func(*stack.Options), change func(*awssetup.Setup), want func(*stack.Options)) *check.Report {
	t.Helper()
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Controller, o.AccessEntry = "demo", stack.PodIdentity, "EC2_LINUX"
	if options != nil {
		options(&o)
	}
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	setup := s.Setup("123456789012", "eu-west-1")
	change(setup)
	if want != nil {
		want(&o)
	}
	r, err := check.Compare(setup, setupfile.KindCloudFormation, check.Options{Stack: o})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestQuietFaultsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*awssetup.Setup)
		want   []string
	}{
		"messages are held back": {func(s *awssetup.Setup) { s.Queues[0].Delay = 900e9 }, []string{"different", "15m", "DelaySeconds"}},
		"messages must be small": {func(s *awssetup.Setup) { s.Queues[0].MaxMessage = 1024 }, []string{"different", "1024 bytes"}},
		"an entry elsewhere":     {func(s *awssetup.Setup) { s.AccessEntries[0].Cluster = "blue" }, []string{"different", "of cluster blue"}},
		"spot is denied": {func(s *awssetup.Setup) {
			d := s.Policies[0].Document
			d.Statements = append(d.Statements, iampolicy.Statement{Sid: "NoSpot", Effect: iampolicy.Deny, Actions: []string{"ec2:RunInstances"}, Resources: []string{"*"},
				Conditions: []iampolicy.Condition{{Operator: "StringEquals", Key: "ec2:InstanceMarketType", Values: []string{"spot"}}}})
		}, []string{"missing", "ec2:RunInstances", "NoSpot"}},
	} {
		t.Run(name, func(t *testing.T) {
			if r := changed(t, nil, c.change, nil); !checktest.Names(r, c.want) {
				t.Errorf("no finding has %q:\n%s", c.want, checktest.Text(t, r))
			}
		})
	}
	r := changed(t, func(o *stack.Options) { o.KMS = true }, func(s *awssetup.Setup) { s.Keys[0].Rotation = false }, nil)
	if !checktest.Names(r, []string{"advice", "not rotated"}) {
		t.Errorf("nothing is said of a key that is not rotated:\n%s", checktest.Text(t, r))
	}
	r = changed(t, nil, func(s *awssetup.Setup) {
		for i := range s.Roles {
			s.Roles[i].Boundary = "arn:aws:iam::123456789012:policy/Boundary"
		}
	}, nil)
	if !slices.ContainsFunc(r.Unread, func(u check.Unread) bool { return strings.Contains(u.What, "permissions boundary") }) {
		t.Errorf("a boundary that cannot be read is not said to be not judged:\n%s", checktest.Text(t, r))
	}
}

func TestASwapThatTakesSomethingAwaySaysSo(t *testing.T) {
	r := changed(t, nil, func(*awssetup.Setup) {}, func(o *stack.Options) { o.PlacementGroups = false })
	if !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.Contains(n, "takes away") && strings.Contains(n, "--placement-groups")
	}) {
		t.Errorf("nothing is said of what is lost: %q", r.Notes)
	}
	if r := changed(t, nil, func(*awssetup.Setup) {}, nil); slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "takes away") }) {
		t.Errorf("the same stack loses something: %q", r.Notes)
	}
}
