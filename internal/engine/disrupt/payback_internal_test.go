package disrupt

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

func TestWhatAMoveEarns(t *testing.T) {
	const dollar = 1_000_000
	left := func(minutes, percent int) Survival {
		return Survival{After: time.Duration(minutes) * time.Minute, Percent: percent}
	}
	for sentence, tt := range map[string]struct {
		horizon, life time.Duration
		survival      []Survival
		overlap       time.Duration
		launched      int
		spent, earned catalog.MicroUSD
		half          time.Duration
	}{
		"the whole of its saving, where savings last":          {horizon: 2 * time.Hour, earned: 2 * dollar},
		"a day of it, where nothing is said":                   {earned: 24 * dollar},
		"until its node would expire":                          {horizon: 2 * time.Hour, life: time.Hour, earned: dollar},
		"and its new instances cost something":                 {horizon: time.Hour, launched: 2, spent: 20_000, earned: dollar},
		"more where they are dear":                             {horizon: time.Hour, launched: 2, overlap: 3 * time.Minute, spent: dollar / 20, earned: dollar},
		"what is left of it, and instances are started again":  {horizon: 2 * time.Hour, survival: []Survival{left(30, 75), left(60, 25)}, spent: 30_000, earned: 9 * dollar / 8, half: time.Hour},
		"no part for ever, where all is launched again":        {horizon: 2 * time.Hour, survival: []Survival{left(30, 0)}, spent: 40_000, earned: dollar / 2, half: 30 * time.Minute},
		"nothing is lost of what comes later than the horizon": {horizon: time.Hour, survival: []Survival{left(60, 0)}, earned: dollar},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &search{p: &Problem{Cluster: &pack.Problem{}, Options: Options{NodePrice: 10_000, SavingsHorizon: tt.horizon, Survival: tt.survival, Overlap: tt.overlap}}}
			var nodes []*nodeState
			price := catalog.MicroUSD(dollar / 4) // of each of four, nothing of which is left
			if tt.overlap > 0 {
				price = dollar / 2 // half of which is left
			}
			for range 4 {
				nodes = append(nodes, &nodeState{src: &cluster.Node{}, in: &Node{LifetimeLeft: tt.life}, price: price})
			}
			got := s.estimate(nodes, dollar, tt.launched)
			if got.spent != tt.spent || got.earned != tt.earned || got.half != tt.half {
				t.Errorf("spent %d earned %d, half of it for %s", got.spent, got.earned, got.half)
			}
			if r := s.notPaidBack(nodes, dollar, tt.launched); r.Code != "" {
				t.Errorf("it is held not to pay back: %s", r.Text())
			}
		})
	}
}

func TestAMoveHasToEarnTwiceItsPrice(t *testing.T) {
	for sentence, tt := range map[string]struct {
		survival []Survival
		allowed  bool
	}{
		"all of it is kept": {nil, true},
		"half of it goes":   {[]Survival{{After: 20 * time.Minute, Percent: 50}}, false},
		"a third goes late": {[]Survival{{After: 55 * time.Minute, Percent: 66}}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &Problem{Cluster: &pack.Problem{}, Options: Options{NodePrice: 25_000, SavingsHorizon: time.Hour, Survival: tt.survival}}
			s := &search{p: p}
			r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{}, price: 60_000}}, 60_000, 1)
			if (r.Code == "") != tt.allowed {
				t.Errorf("got %q", r.Text())
			}
		})
	}
}

func TestAMoveThatWouldNotPayBackSaysWhen(t *testing.T) {
	p := &Problem{Cluster: &pack.Problem{}, Options: Options{PodPrice: 1_000, NodePrice: 10_000, SavingsHorizon: time.Hour, Survival: []Survival{{After: 5 * time.Minute}}}}
	s := &search{p: p}
	r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{}, price: 60_000, cost: 4 * unit}}, 60_000, 0)
	want := "moving its pods is assumed to cost $0.0140, so it must save 2 times that, $0.0280; it would save $0.0050 in the time left (that would take 28m0s; half of what is saved is launched again within 5m0s here)"
	if r.Code != NotPaidBack || r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
}

func TestAMoveThatTakesTooLongToPayBackSaysForHowLongASavingIsCountedOn(t *testing.T) {
	for left, want := range map[time.Duration]string{
		0:                "moving its pods is assumed to cost $0.0140, so it must save 2 times that, $0.0280; it would save $0.0100 in the time left (that would take 2h48m0s; a saving is counted on for 1h0m0s here)",
		20 * time.Minute: "moving its pods is assumed to cost $0.0140, so it must save 2 times that, $0.0280; it would save $0.003333 in the time left (that would take 2h48m0s; the first of the nodes expires in 20m0s)",
	} {
		p := &Problem{Cluster: &pack.Problem{}, Options: Options{PodPrice: 1_000, NodePrice: 10_000, SavingsHorizon: time.Hour}}
		s := &search{p: p}
		r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{LifetimeLeft: left}, price: 60_000, cost: 4 * unit}}, 10_000, 1)
		if r.Code != NotPaidBack || r.Text() != want {
			t.Errorf("got %q", r.Text())
		}
	}
}
