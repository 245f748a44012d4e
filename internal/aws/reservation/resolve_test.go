package reservation_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/reservation"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type fixture struct {
	sim      *awssim.Server
	calls    *sessiontest.Calls
	ahead    time.Duration
	ledger   *reservation.Ledger
	resolver *reservation.Resolver
	zone     string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{calls: &sessiontest.Calls{}}
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large", "p5.48xlarge"}}})
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
	now := func() time.Time { return time.Now().Add(f.ahead) }
	f.ledger = reservation.NewLedger(now)
	f.resolver = reservation.NewResolver(s.EC2, f.ledger, now)
	for _, subnet := range sim.World.Subnets() {
		if sim.World.Offered("m5.large", subnet.Zone) && sim.World.Offered("p5.48xlarge", subnet.Zone) {
			f.zone = subnet.Zone
		}
	}
	return f
}

func (f *fixture) add(t *testing.T, r world.Reservation) world.Reservation {
	t.Helper()
	if r.Type == "" {
		r.Type = "m5.large"
	}
	r.Zone = f.zone
	r.Total = max(r.Total, 1)
	out, err := f.sim.World.AddReservation(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func class(terms ...awsv1.CapacityReservationSelectorTerm) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{CapacityReservationSelectorTerms: terms}}
	c.Name = "default"
	return c
}

func TestReservationsBySelector(t *testing.T) {
	f := newFixture(t)
	blue := f.add(t, world.Reservation{ID: "cr-0a", Tags: map[string]string{"team": "blue"}})
	green := f.add(t, world.Reservation{ID: "cr-0b", Tags: map[string]string{"team": "green"}, MatchCriteria: "targeted"})
	shared := f.add(t, world.Reservation{ID: "cr-0c", OwnerID: "999988887777", MatchCriteria: "targeted"})
	f.add(t, world.Reservation{ID: "cr-0d", Tags: map[string]string{"team": "blue"}, State: "cancelled"})
	for name, c := range map[string]struct {
		terms []awsv1.CapacityReservationSelectorTerm
		want  []string
		says  string
	}{
		"no terms select nothing, and nothing is asked": {nil, nil, ""},
		"by id":                 {[]awsv1.CapacityReservationSelectorTerm{{ID: green.ID}}, []string{green.ID}, ""},
		"by several ids":        {[]awsv1.CapacityReservationSelectorTerm{{ID: green.ID}, {ID: blue.ID}}, []string{blue.ID, green.ID}, ""},
		"by a tag's value":      {[]awsv1.CapacityReservationSelectorTerm{{Tags: map[string]string{"team": "blue"}}}, []string{blue.ID}, ""},
		"by a tag of any value": {[]awsv1.CapacityReservationSelectorTerm{{Tags: map[string]string{"team": "*"}}}, []string{blue.ID, green.ID}, ""},
		"by owner and criteria": {[]awsv1.CapacityReservationSelectorTerm{{OwnerID: shared.OwnerID, InstanceMatchCriteria: "targeted"}}, []string{shared.ID}, ""},
		"by criteria":           {[]awsv1.CapacityReservationSelectorTerm{{InstanceMatchCriteria: "targeted"}}, []string{green.ID, shared.ID}, ""},
		"an unknown id is not there, the others are":  {[]awsv1.CapacityReservationSelectorTerm{{ID: "cr-0ff"}, {ID: green.ID}}, []string{green.ID}, ""},
		"an unknown id alone selects nothing":         {[]awsv1.CapacityReservationSelectorTerm{{ID: "cr-0ff"}}, nil, "no active capacity reservation"},
		"one that is cancelled is not selected by id": {[]awsv1.CapacityReservationSelectorTerm{{ID: "cr-0d"}}, nil, "no active capacity reservation"},
		"a term with id and tags counts by its id": {
			[]awsv1.CapacityReservationSelectorTerm{{ID: green.ID, Tags: map[string]string{"team": "blue"}}}, []string{green.ID}, "has an id",
		},
		"an owner alone selects what the owner has": {[]awsv1.CapacityReservationSelectorTerm{{OwnerID: shared.OwnerID}}, []string{shared.ID}, ""},
		"an empty term selects nothing":             {[]awsv1.CapacityReservationSelectorTerm{{}}, nil, "selects nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, finding := f.resolver.Resolve(t.Context(), class(c.terms...))
			var ids []string
			for _, r := range got {
				ids = append(ids, r.ID)
			}
			if !slices.Equal(ids, c.want) || !finding.OK || finding.Unknown || !strings.Contains(finding.Message, c.says) {
				t.Errorf("selected %v, want %v; finding %+v", ids, c.want, finding)
			}
		})
	}
}

func TestReservationsOfAnotherPlatformArePassedOver(t *testing.T) {
	f := newFixture(t)
	f.add(t, world.Reservation{ID: "cr-0a", Total: 4})
	f.add(t, world.Reservation{ID: "cr-0b", Total: 4, Platform: "Windows"})
	f.add(t, world.Reservation{ID: "cr-0c", Total: 4, Platform: "Red Hat Enterprise Linux"})
	f.add(t, world.Reservation{ID: "cr-0d", Total: 4, Tenancy: "dedicated"})
	for name, want := range map[string]struct {
		alias  string
		family awsv1.AMIFamily
		ids    []string
		notes  []string
	}{
		"Linux by alias": {"al2023@latest", awsv1.AMIFamilyAL2023, []string{"cr-0a", "cr-0d"},
			[]string{"cr-0b is passed over: it is for the platform Windows", "cr-0c is passed over", "cr-0d is of tenancy dedicated: only NodePools that demand karpenter.k8s.aws/instance-tenancy In [dedicated]"}},
		"Windows by alias":                        {"windows2022@latest", awsv1.AMIFamilyWindows2022, []string{"cr-0b"}, []string{"cr-0a is passed over: it is for the platform Linux/UNIX", "cr-0c is passed over", "cr-0d is passed over"}},
		"an image by id, which may be of Red Hat": {"", awsv1.AMIFamilyAL2023, []string{"cr-0a", "cr-0b", "cr-0c", "cr-0d"}, []string{"cr-0d is of tenancy dedicated"}},
	} {
		c := class(awsv1.CapacityReservationSelectorTerm{InstanceMatchCriteria: "open"})
		c.Spec.AMIFamily, c.Spec.AMISelectorTerms = &want.family, []awsv1.AMISelectorTerm{{ID: "ami-0123456789abcdef0"}}
		if want.alias != "" {
			c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: want.alias}}
		}
		got, finding := f.resolver.Resolve(t.Context(), c)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		if !slices.Equal(ids, want.ids) || !finding.OK || strings.Count(finding.Message, ";") != len(want.notes)-1 {
			t.Errorf("%s: selected %v, want %v; %+v", name, ids, want.ids, finding)
		}
		for _, note := range want.notes {
			if !strings.Contains(finding.Message, note) {
				t.Errorf("%s: %q lacks %q", name, finding.Message, note)
			}
		}
	}
}

func TestACapacityBlockExpiresFortyMinutesBeforeItsEnd(t *testing.T) {
	f := newFixture(t)
	end := f.sim.World.Now().Add(2 * time.Hour)
	f.add(t, world.Reservation{ID: "cr-0b", Type: "p5.48xlarge", Kind: world.CapacityBlock, MatchCriteria: "targeted", End: end})
	f.add(t, world.Reservation{ID: "cr-0d", End: end, Interruptible: true})
	terms := class(awsv1.CapacityReservationSelectorTerm{ID: "cr-0b"}, awsv1.CapacityReservationSelectorTerm{ID: "cr-0d"})
	for _, c := range []struct {
		ahead        time.Duration
		block, plain string
	}{
		{0, "active", "active"}, {79 * time.Minute, "active", "active"}, {81 * time.Minute, "expiring", "active"},
		{119 * time.Minute, "expiring", "active"}, {121 * time.Minute, "", ""},
	} {
		f.ahead = c.ahead
		got, finding := f.resolver.Resolve(t.Context(), terms)
		state := map[string]string{}
		for _, r := range got {
			state[r.ID] = r.State
			if r.EndTime == nil || r.EndTime.Sub(end).Abs() > time.Second || r.Interruptible != (r.ID == "cr-0d") || r.AvailabilityZone != f.zone {
				t.Errorf("%+v", r)
			}
		}
		if state["cr-0b"] != c.block || state["cr-0d"] != c.plain || !finding.OK {
			t.Errorf("%s on: %v, want block %q and default %q; %+v", c.ahead, state, c.block, c.plain, finding)
		}
	}
}

func TestWhatCanNotBeLookedUpStays(t *testing.T) {
	f := newFixture(t)
	f.add(t, world.Reservation{ID: "cr-0a", Total: 4})
	c := class(awsv1.CapacityReservationSelectorTerm{ID: "cr-0a"})
	fault := f.sim.World.AddFault(world.Fault{Service: "ec2", Operation: "DescribeCapacityReservations", Kind: world.FaultThrottle})
	c.Status.CapacityReservations = []awsv1.CapacityReservation{{ID: "cr-0a"}}
	got, unknown := f.resolver.Resolve(t.Context(), c)
	if !unknown.Unknown || unknown.Reason != "LookupFailed" || len(got) != 1 {
		t.Errorf("%v, %+v", got, unknown)
	}
	f.sim.World.RemoveFault(fault)
	if got, known := f.resolver.Resolve(t.Context(), c); !known.OK || len(got) != 1 || got[0].InstanceType != "m5.large" {
		t.Errorf("afterwards: %v, %+v", got, known)
	}
	if n, known := f.ledger.Left("cr-0a"); n != 4 || !known {
		t.Errorf("%d instances are left, want 4", n)
	}
}

// A missing permission is no outage: waiting does not help, so the class must not go on as if it had been looked at.
func TestAMissingPermissionIsNamedAndIsNoOutage(t *testing.T) {
	f := newFixture(t)
	f.add(t, world.Reservation{ID: "cr-0a", Total: 4})
	c := class(awsv1.CapacityReservationSelectorTerm{ID: "cr-0a"})
	c.Status.CapacityReservations = []awsv1.CapacityReservation{{ID: "cr-0a"}}
	c.StatusConditions(true).SetTrue(awsv1.ConditionTypeCapacityReservationsReady)
	for name, s := range map[string]struct {
		code    string
		unknown bool
		says    string
	}{
		"the role may not ask":                 {"UnauthorizedOperation", false, "missing permission ec2:DescribeCapacityReservations"},
		"the credentials are not accepted now": {"ExpiredToken", true, "what was found before stays"},
		"EC2 has an error of its own":          {"InternalError", true, "what was found before stays"},
	} {
		t.Run(name, func(t *testing.T) {
			fault := f.sim.World.AddFault(world.Fault{Service: "ec2", Operation: "DescribeCapacityReservations", Kind: world.FaultError, Code: s.code, Message: "no", Status: 403})
			defer f.sim.World.RemoveFault(fault)
			got, finding := f.resolver.Resolve(t.Context(), c)
			if len(got) != 1 || finding.OK || finding.Unknown != s.unknown || finding.Reason != "LookupFailed" || !strings.Contains(finding.Message, s.says) {
				t.Errorf("%v, %+v", got, finding)
			}
		})
	}
}

func TestClassesShareAnswers(t *testing.T) {
	f := newFixture(t)
	f.add(t, world.Reservation{ID: "cr-0a"})
	for range 10 {
		f.resolver.Resolve(t.Context(), class(awsv1.CapacityReservationSelectorTerm{ID: "cr-0a"}))
	}
	if n := f.calls.Of("DescribeCapacityReservations"); n != 1 {
		t.Errorf("%d calls for ten classes, want 1", n)
	}
	f.ahead = time.Minute
	f.resolver.Resolve(t.Context(), class(awsv1.CapacityReservationSelectorTerm{ID: "cr-0a"}))
	if n := f.calls.Of("DescribeCapacityReservations"); n != 2 {
		t.Errorf("%d calls after a minute, want 2", n)
	}
}

func TestReservationsThatNoClassSelectsAreFoundByName(t *testing.T) {
	f := newFixture(t)
	end := f.sim.World.Now().Add(30 * time.Minute)
	f.add(t, world.Reservation{ID: "cr-0b", Type: "p5.48xlarge", Kind: world.CapacityBlock, MatchCriteria: "targeted", End: end})
	f.add(t, world.Reservation{ID: "cr-0d", State: "cancelled"})
	got, err := f.resolver.Named(t.Context(), []string{"cr-0d", "cr-0b", "cr-0ff"})
	if err != nil || len(got) != 1 || got[0].ID != "cr-0b" || !reservation.Expiring(&got[0], f.sim.World.Now()) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := f.resolver.Named(t.Context(), nil); err != nil || got != nil || f.calls.Of("DescribeCapacityReservations") > 4 {
		t.Errorf("%v, %v, %d calls", got, err, f.calls.Of("DescribeCapacityReservations"))
	}
}
