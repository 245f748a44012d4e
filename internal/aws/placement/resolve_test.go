package placement_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/placement"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type fixture struct {
	*testing.T
	sim      *awssim.Server
	calls    *sessiontest.Calls
	ahead    time.Duration
	resolver *placement.Resolver
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, calls: &sessiontest.Calls{}}
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, v := range append(sim.Env(), "AWS_MAX_ATTEMPTS=1", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PROFILE=") {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	s, err := session.New(t.Context(), session.Options{Middleware: f.calls.Middleware()})
	if err != nil {
		t.Fatal(err)
	}
	f.sim = sim
	f.resolver = placement.NewResolver(s.EC2, func() time.Time { return time.Now().Add(f.ahead) })
	return f
}

func (f *fixture) add(name, strategy string, partitions int32) world.PlacementGroup {
	f.Helper()
	g, err := f.sim.World.AddPlacementGroup(name, strategy, partitions, nil)
	if err != nil {
		f.Fatal(err)
	}
	return g
}

func selecting(s *awsv1.PlacementGroupSelector) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "class", Generation: 1}}
	c.Spec.PlacementGroupSelector = s
	return c
}

func TestAGroupIsFoundByItsNameOrItsID(t *testing.T) {
	f := newFixture(t)
	parts, tight := f.add("parts", "partition", 5), f.add("tight", "cluster", 0)
	for name, c := range map[string]struct {
		selector *awsv1.PlacementGroupSelector
		want     *awsv1.PlacementGroup
		reason   string
	}{
		"none is selected":     {nil, nil, ""},
		"by name":              {&awsv1.PlacementGroupSelector{Name: "parts"}, &awsv1.PlacementGroup{ID: parts.ID, Name: "parts", Strategy: "partition", PartitionCount: 5}, ""},
		"by id":                {&awsv1.PlacementGroupSelector{ID: tight.ID}, &awsv1.PlacementGroup{ID: tight.ID, Name: "tight", Strategy: "cluster"}, ""},
		"no group of the name": {&awsv1.PlacementGroupSelector{Name: "other"}, nil, awsv1.ReasonPlacementGroupNotFound},
		"no group of the id":   {&awsv1.PlacementGroupSelector{ID: "pg-0123456789abcdef0"}, nil, awsv1.ReasonPlacementGroupNotFound},
	} {
		got, finding := f.resolver.Resolve(t.Context(), selecting(c.selector))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if finding.Condition != awsv1.ConditionTypePlacementGroupReady || finding.OK != (c.reason == "") || finding.Unknown || finding.Reason != c.reason {
			t.Errorf("%s: %+v", name, finding)
		}
		if c.reason != "" && !strings.Contains(finding.Message, c.selector.Name+c.selector.ID) {
			t.Errorf("%s: the message does not name it: %s", name, finding.Message)
		}
	}
}

func TestEC2IsAskedOnceAMinuteForAllClasses(t *testing.T) {
	f := newFixture(t)
	f.add("tight", "cluster", 0)
	ask := func() {
		for range 10 {
			if g, _ := f.resolver.Resolve(t.Context(), selecting(&awsv1.PlacementGroupSelector{Name: "tight"})); g == nil {
				t.Fatal("it was not found")
			}
			f.resolver.Resolve(t.Context(), selecting(nil))
		}
	}
	ask()
	if n := f.calls.Of("DescribePlacementGroups"); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
	missing := selecting(&awsv1.PlacementGroupSelector{Name: "missing"})
	for range 3 {
		if g, _ := f.resolver.Resolve(t.Context(), missing); g != nil {
			t.Fatal("it was found")
		}
	}
	f.ahead = 10 * time.Second
	f.add("missing", "spread", 0)
	if g, _ := f.resolver.Resolve(t.Context(), missing); g == nil {
		t.Error("it was made ten seconds ago and is not found")
	}
	if n := f.calls.Of("DescribePlacementGroups"); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	f.calls.Reset()
	f.ahead = time.Minute
	ask()
	if n := f.calls.Of("DescribePlacementGroups"); n != 1 {
		t.Errorf("%d calls a minute later, want 1", n)
	}
}

func TestWhatWasFoundStaysWhileEC2DoesNotAnswer(t *testing.T) {
	f := newFixture(t)
	g := f.add("tight", "cluster", 0)
	class := selecting(&awsv1.PlacementGroupSelector{Name: "tight"})
	class.Status.PlacementGroup, _ = f.resolver.Resolve(t.Context(), class)
	f.ahead = time.Minute
	for _, kind := range []world.Fault{{Kind: world.FaultThrottle}, {Kind: world.FaultError, Code: "InternalError", Status: 500}, {Kind: world.FaultError, Code: "UnauthorizedOperation", Status: 403}} {
		kind.Service, kind.Operation = "ec2", "DescribePlacementGroups"
		fault := f.sim.World.AddFault(kind)
		got, finding := f.resolver.Resolve(t.Context(), class)
		if got == nil || got.ID != g.ID || !finding.Unknown || finding.Reason != awsv1.ReasonPlacementGroupResolutionFailed {
			t.Errorf("%s %s: %+v, %+v", kind.Kind, kind.Code, got, finding)
		}
		f.sim.World.RemoveFault(fault)
	}
	if got, finding := f.resolver.Resolve(t.Context(), class); got == nil || !finding.OK {
		t.Errorf("afterwards: %+v, %+v", got, finding)
	}
}
