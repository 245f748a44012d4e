package aws_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// A class whose volumes can't be decrypted would be launched from for ever: EC2 launches, and the instances end a second
// later.
func TestAClassWhoseInstancesDieIsLeftAloneForAWhile(t *testing.T) {
	s := startSim(t, awssim.Options{})
	ahead := time.Duration(0)
	p := newProvider(t, s, func(o *aws.Options) {
		o.DisableDryRun = true
		o.Now = func() time.Time { return time.Now().Add(ahead) }
	})
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	other := class.DeepCopy()
	other.Name, other.UID = "other", "other-uid"
	dying := s.World.AddFault(world.Fault{Kind: world.FaultFailedLaunch, Code: "Client.InternalError", Message: "Client.InternalError: Client error on launch"})

	die := func(n int) {
		t.Helper()
		claim := newClaim(n)
		m, err := p.Launch(t.Context(), claim, class)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Get(t.Context(), m.ProviderID)
		ended, ok := errors.AsType[*cloud.Ended](err)
		if !ok || ended.Code != "Client.InternalError" || ended.Blame != cloud.BlameClass || cloud.ClassOf(err) != cloud.NotFound {
			t.Fatalf("looking for the instance gave %v", err)
		}
		p.InstanceFailed(claim, class, ended)
	}
	refused := func(n int) {
		t.Helper()
		before := len(s.World.AllInstances())
		_, err := p.Launch(t.Context(), newClaim(n), class)
		if cloud.ClassOf(err) != cloud.Exhausted || !strings.Contains(err.Error(), "end as they start") {
			t.Errorf("the launch after a death gave %v", err)
		}
		if n := len(s.World.AllInstances()) - before; n != 0 {
			t.Errorf("%d instances were launched", n)
		}
	}
	die(1)
	refused(2)
	if _, err := p.Launch(t.Context(), newClaim(3), other); err != nil {
		t.Errorf("another class is held back as well: %v", err)
	}
	ahead += 3*time.Minute + time.Second
	die(4)
	ahead += 5 * time.Minute
	refused(5) // the second time for longer
	ahead += time.Minute
	die(6)
	refused(7)

	s.World.RemoveFault(dying)
	class.Generation++ // somebody has fixed it
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(8), class); err != nil {
		t.Errorf("a class that was changed is not tried: %v", err)
	}
	p.InstanceJoined(class)
	s.World.AddFault(world.Fault{Kind: world.FaultFailedLaunch})
	die(9)
	die(10) // one of it lives, so two that die are no reason to stop
	die(11)
	refused(12)
	p.InstanceJoined(class)
	die(13)
}
