package awssim

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// latencies say how long calls take at AWS for a caller in the same region: the median, network included. AWS promises
// none of them; each is of the order that callers publish of their own requests. Calls that only read a small record take
// some network round trips and a signature check; EC2's lists take longer, the more so the more they return; what makes or
// ends instances is answered when the instances are reserved. The first line that fits a call counts.
var latencies = []struct {
	action string // as IAM policies name it, with wildcards
	median time.Duration
}{
	{"ec2:CreateFleet", 1500 * time.Millisecond}, // an instant fleet is answered with its instances
	{"ec2:RunInstances", time.Second},
	{"ec2:TerminateInstances", 400 * time.Millisecond},
	{"ec2:StopInstances", 400 * time.Millisecond},
	{"ec2:CreateTags", 250 * time.Millisecond},
	{"ec2:DescribeInstanceTypes", 200 * time.Millisecond}, // a page of 100, some 300 kB
	{"ec2:DescribeImages", 200 * time.Millisecond},
	{"ec2:DescribeInstances", 120 * time.Millisecond},
	{"ec2:DescribeSpotPriceHistory", 120 * time.Millisecond},
	{"ec2:Describe*", 70 * time.Millisecond},
	{"ec2:*", 200 * time.Millisecond},
	{"pricing:*", 200 * time.Millisecond}, // one region answers for a continent
	{"iam:Simulate*", 150 * time.Millisecond},
	{"iam:*", 60 * time.Millisecond}, // answered in us-east-1
	{"cloudformation:*", 150 * time.Millisecond},
	{"eks:*", 60 * time.Millisecond},
	{"arc-zonal-shift:*", 50 * time.Millisecond},
	{"events:*", 30 * time.Millisecond},
	{"monitoring:*", 30 * time.Millisecond},
	{"ssm:*", 30 * time.Millisecond},
	{"sts:*", 30 * time.Millisecond},
	{"sqs:*", 12 * time.Millisecond},
	{"kms:*", 12 * time.Millisecond},
}

// AtAWS is the median time that an action takes at AWS, such as ec2:CreateFleet.
func AtAWS(action string) time.Duration {
	for _, l := range latencies {
		if world.Match(l.action, action) {
			return l.median
		}
	}
	return 50 * time.Millisecond
}

// dryRun is the median of a call with DryRun: nothing is done but to judge it.
const dryRun = 150 * time.Millisecond

// pace holds calls back as long as AWS would.
type pace struct {
	world  *world.World
	factor float64 // on the medians

	mu    sync.Mutex
	drawn map[string]uint64 // by action
}

func newPace(w *world.World, factor float64) *pace {
	return &pace{world: w, factor: factor, drawn: map[string]uint64{}}
}

// hold waits. A caller who goes away in the meantime has still called: the call is acted upon.
func (p *pace) hold(ctx context.Context, r *wire.Request) {
	d := p.next(r.Action(), r.DryRun())
	_ = p.world.Sleep(context.WithoutCancel(ctx), d) // an error means that the world has ended, which the handler will say
}

// next draws how long a call takes: within a fifth of the median, and one call of fifty three times as long. The n-th call
// of an action takes the same time for the same seed, whatever other calls there are.
func (p *pace) next(action string, dry bool) time.Duration {
	if p.factor <= 0 {
		return 0
	}
	p.mu.Lock()
	n := p.drawn[action]
	p.drawn[action]++
	p.mu.Unlock()
	h := fnv.New64a()
	_, _ = h.Write([]byte(action)) // never fails
	chance := rand.New(rand.NewPCG(p.world.Options().Seed^h.Sum64(), n))
	d := AtAWS(action)
	if dry && strings.HasPrefix(action, "ec2:") {
		d = min(d, dryRun)
	}
	factor := p.factor * (0.8 + 0.4*chance.Float64())
	if chance.IntN(50) == 0 {
		factor *= 3
	}
	return time.Duration(float64(d) * factor)
}
