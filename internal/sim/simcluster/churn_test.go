package simcluster_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
)

var (
	churnHours = flag.Int("churn-hours", 1, "for how many hours TestMovesPayBack lets a cluster churn")
	churnSeed  = flag.Uint64("churn-seed", 1, "what its load and its prices are drawn from")
	churnSize  = flag.Int("churn-size", 8, "how many pods its applications have on average")
	churnLog   = flag.String("churn-log", "", "a file for what the controller says meanwhile")
	churnFall  = flag.Float64("churn-fall", 30, "by how many percent the load falls for good when half of the time is over; 0: it does not")
	churnSwing = flag.Float64("churn-swing", 10, "by how many percent of it they grow and shrink; 0: the load is steady, and pods and prices change")
)

// many are types of three families and two generations.
func many(o *world.Options) {
	o.Types = nil
	for _, family := range []string{"c5", "c6i", "m5", "m6i", "r5", "r6i"} {
		for _, size := range []string{"large", "xlarge", "2xlarge", "4xlarge"} {
			o.Types = append(o.Types, family+"."+size)
		}
	}
}

// load is what happens to a cluster, all of it drawn from a seed.
type load struct {
	seed  uint64
	hours int
	size  int     // pods of each of the 18 applications, on average
	swing float64 // percent by which applications grow and shrink every five minutes
	fall  float64 // percent of the load that go for good when half of the time is over
	daily bool    // the load has a curve of days and weekends; it begins on a Friday at six in the morning
	log   string  // a file for what the controller says
	// without are mechanisms that the controller does without.
	without []string
}

// flags are the load that the flags describe.
func flags() load {
	return load{seed: *churnSeed, hours: *churnHours, size: *churnSize, swing: *churnSwing, fall: *churnFall, log: *churnLog}
}

// churn is a load that never rests, steady on the whole or not: applications that grow and shrink and are rolled out anew,
// jobs that come and go, and prices that walk.
type churn struct {
	load
	h       *simcluster.Cluster
	rng     *rand.Rand
	sizes   []int // pods of each application on average
	prices  map[[2]string]float64
	jobs    int
	rollout int
}

var shapes = [][2]string{{"500m", "1Gi"}, {"1", "2Gi"}, {"2", "4Gi"}, {"250m", "2Gi"}, {"1500m", "12Gi"}, {"3", "6Gi"}}

func newChurn(h *simcluster.Cluster, l load) *churn {
	c := &churn{load: l, h: h, rng: rand.New(rand.NewPCG(l.seed, 7)), prices: map[[2]string]float64{}}
	for i := range 18 {
		n := l.size/2 + c.rng.IntN(l.size+1)
		c.sizes = append(c.sizes, n)
		h.Deploy(app(i), c.replicas(n, 0), shapes[i%len(shapes)][0], shapes[i%len(shapes)][1])
	}
	for _, p := range h.AWS.World.SpotPrices(nil, nil, time.Now(), time.Now()) {
		c.prices[[2]string{p.Type, p.Zone}] = float64(p.MicroUSD)
	}
	return c
}

func app(i int) string { return fmt.Sprintf("app-%02d", i) }

// replicas is how many pods an application has in a minute.
func (c *churn) replicas(size, minute int) int {
	n := float64(size)
	if c.daily {
		n *= curve(minute)
	}
	return max(1, int(math.Round(n*(1-c.swing/100+c.swing/50*c.rng.Float64()))))
}

// curve is the part of the load of a busy hour that is there: a third at five in the morning, all at five in the afternoon, and
// half of that at weekends.
func curve(minute int) float64 {
	hour := 6 + float64(minute)/60 // since Friday
	part := 2./3 - math.Cos((hour-5)/12*math.Pi)/3
	if day := int(hour/24) % 7; day == 1 || day == 2 {
		part /= 2
	}
	return part
}

// minute is what happens in a minute.
func (c *churn) minute(n int) {
	if n%5 == 0 {
		if c.swing > 0 || c.daily && n%15 == 0 {
			for i, size := range c.sizes {
				c.h.Scale(app(i), c.replicas(size, n))
			}
		}
		c.job()
	}
	if n%10 == 0 {
		c.market()
	}
	if n%40 == 20 {
		i := c.rng.IntN(len(c.sizes))
		c.rollout++
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"rollout":"%d"}}}}}`, c.rollout)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app(i), Namespace: "default"}}
		change(c.h, d, patch)
	}
	if c.fall > 0 && n == c.hours*30 {
		for i, size := range c.sizes {
			c.sizes[i] = max(1, int(math.Round(float64(size)*(1-c.fall/100))))
			c.h.Scale(app(i), c.sizes[i])
		}
	}
}

// market lets a third of the spot prices walk, by up to a twentieth, and within half and twice what they were.
func (c *churn) market() {
	for _, p := range c.h.AWS.World.SpotPrices(nil, nil, time.Now(), time.Now()) {
		step, turn := 0.95+0.1*c.rng.Float64(), c.rng.IntN(3) == 0
		first := c.prices[[2]string{p.Type, p.Zone}]
		if turn && first > 0 {
			c.h.AWS.World.SetSpotPrice(p.Type, p.Zone, int64(min(max(float64(p.MicroUSD)*step, first/2), first*2)))
		}
	}
}

// job makes the pods of a job that takes a minute, and takes those away that have ended.
func (c *churn) job() {
	for _, p := range c.h.Pods() {
		if p.Status.Phase == corev1.PodSucceeded {
			if err := c.h.Client.Delete(context.Background(), &p); client.IgnoreNotFound(err) != nil {
				c.h.T.Fatal(err)
			}
		}
	}
	for range 3 {
		c.jobs++
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("job-%d", c.jobs), Labels: map[string]string{"app": "job"},
			Annotations: map[string]string{actors.RunsFor: "1m"}}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}}
		if err := c.h.Client.Create(context.Background(), p); err != nil {
			c.h.T.Fatal(err)
		}
	}
}

// learning is how long the controller may watch a cluster that it does not know before its moves are judged.
const learning = 15 * time.Minute

// play lets a cluster churn and follows every move. Each is told to the ledger; between passes of a minute may be done what
// the caller wants.
func play(t *testing.T, o load, between func(h *simcluster.Cluster, l *ledger, minute int)) *ledger {
	l := newLedger()
	if o.log != "" {
		f, err := os.Create(o.log)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		l.said = slog.NewTextHandler(f, nil)
	}
	simcluster.Run(t, simcluster.Options{World: many, Seed: o.seed, Log: l, Without: o.without, Env: map[string]string{"FEATURE_GATES": "SpotToSpotConsolidation=true", "DISABLE_LEADER_ELECTION": "true"}}, func(h *simcluster.Cluster) {
		l.h = h
		h.Apply(simcluster.Defaults)
		c := newChurn(h, o)
		before, moves, pods := 0.0, 0, 0
		for n := -5; n < o.hours*60; n++ {
			if n >= 0 {
				c.minute(n)
			}
			for range 20 {
				h.Pass(3 * time.Second)
				l.open()
			}
			l.look()
			between(h, l, n)
			if n == int(learning/time.Minute) {
				l.judged = time.Now()
			}
			if n%60 == 59 {
				t.Logf("hour %2d: %d nodes, $%.3f, %d commands, %d pods moved", n/60+1, len(h.Nodes()), (l.bill-before)/1e6, len(l.entries)-moves, l.moved-pods)
				before, moves, pods = l.bill, len(l.entries), l.moved
			}
		}
	})
	return l
}

// TestMovesPayBack lets a cluster churn and wants all moves together to bring more than they cost, and more than those fall
// short by that do not pay back, once the controller knows the cluster; the ledger says how that is judged. Single moves may
// fail: what a load that is drawn will do is nobody's to know. More is run by hand, this and TestLedger:
//
//	go test ./internal/sim/simcluster -run MovesPayBack -churn-hours 24 -churn-seed 1 -timeout 0 -v
func TestMovesPayBack(t *testing.T) {
	cpu := used(t)
	l := play(t, flags(), func(*simcluster.Cluster, *ledger, int) {})
	v, unpaid := l.judge()
	t.Logf("%d hours: %d commands, of which %d in the first %s of the churn, %d of empty nodes (%d too early), %d taken back, %d that go on and have not earned their price yet; %d pods moved, %d of them twice within %s; %d instances launched for pods that waited; bill $%.3f, moves held to cost $%.3f brought $%.3f; %d did not pay back, short by $%.3f; %s of the processor",
		*churnHours, v.commands+v.before, v.before, learning, v.empties, v.early, v.undone, v.open, l.moved, l.twice, window, l.launched, l.bill/1e6, v.spent, v.gained, v.unpaid, v.lost, (used(t) - cpu).Round(time.Second))
	for _, u := range unpaid {
		t.Log(u)
	}
	// A claim may come and go between two looks. With many of them the account would say nothing.
	if 10*l.unknown > l.launched {
		t.Errorf("of %d instances it is not known what they were launched for, of %d", l.unknown, l.launched)
	}
	if l.moved == 0 {
		t.Error("nothing was moved: this shows nothing")
	}
	if v.gained < v.spent {
		t.Errorf("all moves are held to have cost $%.3f and brought $%.3f", v.spent, v.gained)
	}
	if v.lost > v.gained { // a fifth of it as a rule, under a load that is drawn anew every five minutes
		t.Errorf("%d of %d moves did not pay back, and fell short by $%.3f; all moves brought $%.3f", v.unpaid, v.commands-v.empties, v.lost, v.gained)
	}
}

// A controller that forgets all it has learned every ten minutes does not know that the load comes back, nor what it has
// just launched. If the ledger did not see that some of its moves do not pay back, it would see nothing.
func TestMovesOfAControllerThatForgetsDoNotPayBack(t *testing.T) {
	long(t)
	moves := 0
	for seed := range uint64(6) { // an hour has a handful of moves, and chance may let them all pay back
		o := flags()
		o.hours, o.seed = 1, o.seed+seed
		l := play(t, o, func(h *simcluster.Cluster, _ *ledger, minute int) {
			if minute%10 == 9 && minute < 50 {
				h.StopController()
				h.StartController()
			}
		})
		v, _ := l.judge()
		if moves += v.commands - v.empties; v.unpaid > 0 {
			return
		}
	}
	t.Errorf("the ledger holds that all of %d moves have paid back", moves)
}
