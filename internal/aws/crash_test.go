package aws_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// story is a life of claims over several processes. The map stands for the claims' statuses in the API server: what is
// written there survives, what a process only knew does not.
type story struct {
	t      *testing.T
	sim    *awssim.Server
	rand   *rand.Rand
	claims []*karpv1.NodeClaim

	mu      sync.Mutex
	written map[string]string // claim to provider ID
}

func (s *story) unlaunched() []*karpv1.NodeClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*karpv1.NodeClaim
	for _, c := range s.claims {
		if s.written[c.Name] == "" {
			out = append(out, c)
		}
	}
	return out
}

// process lives until it has launched everything, or, if it is to die, until some launches have happened; whatever it
// does after that is not written down.
func (s *story) process(die bool) {
	class := newClass(s.sim)
	p, calls := newCountedProvider(s.t, s.sim, func(o *aws.Options) { o.DisableDryRun = true }) // whose calls would use the faults up
	if err := p.Warm(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	resolve(s.t, p, class)
	p.Begin(s.t.Context(), uids(s.unlaunched()))
	if die {
		s.fault()
	}
	for range s.rand.IntN(12) {
		s.claims = append(s.claims, newClaim(len(s.claims)))
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	// The provider finishes launches that nobody waits for; a dead one does not.
	kill := func() { cancel(); calls.End() }
	defer kill()
	budget := s.rand.IntN(10)
	var wg sync.WaitGroup
	for _, c := range s.unlaunched() {
		wg.Go(func() {
			for tries := 0; tries < 40; tries++ {
				m, err := p.Launch(ctx, c, class)
				if ctx.Err() != nil {
					return // the process is dead
				}
				if err != nil {
					if die {
						return
					}
					time.Sleep(20 * time.Millisecond)
					continue
				}
				s.mu.Lock()
				if die {
					if budget == 0 {
						kill()
					}
					budget--
				}
				if ctx.Err() == nil {
					s.written[c.Name] = m.ProviderID
				}
				s.mu.Unlock()
				return
			}
		})
	}
	wg.Wait()
}

// fault makes something go wrong for the process to come.
func (s *story) fault() {
	w := s.sim.World
	switch s.rand.IntN(7) {
	case 0:
		w.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 3, Skip: s.rand.IntN(2)})
	case 1:
		w.AddFault(world.Fault{Kind: world.FaultPartialFleet, Limit: s.rand.IntN(4), Count: 1})
	case 2:
		w.AddFault(world.Fault{Kind: world.FaultError, Operation: "CreateFleet", Code: "InternalError", Status: 500, Count: 3})
	case 3:
		w.AddFault(world.Fault{Kind: world.FaultThrottle, Operation: "CreateFleet", Count: 3})
	case 4:
		w.AddFault(world.Fault{Kind: world.FaultLateInstances, Delay: settle / 2, Count: 8})
	case 5:
		w.AddFault(world.Fault{Kind: world.FaultLateTags, Delay: settle / 2, Count: 8})
	case 6:
		w.AddFault(world.Fault{Kind: world.FaultLostTemplates, Count: 1})
		w.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 3})
	}
}

// Whatever is lost and whenever the process dies: in the end every claim has one instance, and there is no other.
func TestNoCrashAndNoFaultLaunchesAnInstanceTwice(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := &story{
				t: t, sim: startSim(t, awssim.Options{World: world.Options{Seed: seed}}),
				rand: rand.New(rand.NewPCG(seed, 7)), written: map[string]string{},
			}
			s.claims = newClaims(1 + s.rand.IntN(20))
			for range 3 {
				s.process(true)
			}
			s.sim.World.ClearFaults()
			s.process(false)
			owners := map[string]string{}
			for claim, id := range s.written {
				if other, dup := owners[id]; dup {
					t.Errorf("%s and %s share %s", claim, other, id)
				}
				owners[id] = claim
			}
			if len(owners) != len(s.claims) {
				t.Errorf("%d of %d claims have an instance", len(owners), len(s.claims))
			}
			for _, i := range alive(s.sim) {
				if _, ok := owners["aws:///"+i.Zone+"/"+i.ID]; !ok {
					t.Errorf("%s belongs to no claim: %v", i.ID, i.Tags)
				}
			}
		})
	}
}
