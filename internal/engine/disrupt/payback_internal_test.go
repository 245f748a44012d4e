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
	minutes := func(n int, price catalog.MicroUSD) Regrown {
		return Regrown{After: time.Duration(n) * time.Minute, Price: price}
	}
	for sentence, tt := range map[string]struct {
		horizon, left time.Duration
		returns       []Regrown
		loose, tight  catalog.MicroUSD
		misplaced     int
		overlap       time.Duration
		launched      int
		spent, earned catalog.MicroUSD
		asked         time.Duration
	}{
		"the whole of its saving, where nothing is asked back":        {horizon: 2 * time.Hour, earned: 2 * dollar},
		"a day of it, where nothing is said":                          {earned: 24 * dollar},
		"until its node would expire":                                 {horizon: 2 * time.Hour, left: time.Hour, earned: dollar},
		"and its new instances cost something":                        {horizon: time.Hour, launched: 2, spent: 20_000, earned: dollar},
		"more where they are dear":                                    {horizon: time.Hour, launched: 2, overlap: 3 * time.Minute, spent: dollar / 20, earned: dollar},
		"what is left of it, and an instance is started again":        {horizon: 2 * time.Hour, returns: []Regrown{minutes(30, dollar/2), minutes(60, 3*dollar)}, spent: 40_000, earned: 3 * dollar / 4, asked: 30 * time.Minute},
		"nothing of what comes later than the horizon":                {horizon: time.Hour, returns: []Regrown{minutes(60, dollar)}, earned: dollar},
		"all of it, where there is more to spare than usual":          {horizon: time.Hour, returns: []Regrown{minutes(30, dollar)}, loose: 5 * dollar, tight: 3 * dollar, earned: dollar},
		"no more, where that much is usual":                           {horizon: time.Hour, returns: []Regrown{minutes(30, dollar)}, loose: 4 * dollar, tight: 4 * dollar, spent: 40_000, earned: dollar / 2, asked: 30 * time.Minute},
		"less by what is misplaced, and an instance is started again": {horizon: 2 * time.Hour, misplaced: 25, spent: 10_000, earned: 3 * dollar / 2},
		"and the load takes more than that":                           {horizon: 2 * time.Hour, misplaced: 25, returns: []Regrown{minutes(60, dollar/4)}, spent: 20_000, earned: 5 * dollar / 4, asked: time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &Problem{Cluster: &pack.Problem{}, Options: Options{NodePrice: 10_000, SavingsHorizon: tt.horizon, Regrowth: tt.returns, NormalSlack: tt.tight, MisplacedPercent: tt.misplaced, Overlap: tt.overlap}}
			s := &search{p: p, loose: dollar + tt.loose, looseKnown: true}
			var nodes []*nodeState
			price := catalog.MicroUSD(dollar / 4) // of each of four, nothing of which is left
			if tt.overlap > 0 {
				price = dollar / 2 // half of which is left
			}
			for range 4 {
				nodes = append(nodes, &nodeState{src: &cluster.Node{}, in: &Node{LifetimeLeft: tt.left}, price: price})
			}
			got := s.estimate(nodes, dollar, 0, tt.launched)
			if got.spent != tt.spent || got.earned != tt.earned || got.asked != tt.asked {
				t.Errorf("spent %d earned %d asked back after %s", got.spent, got.earned, got.asked)
			}
			if r := s.notPaidBack(nodes, dollar, 0, tt.launched); r.Code != "" {
				t.Errorf("it is held not to pay back: %s", r.Text())
			}
		})
	}
}

func TestAMoveHasToEarnTwiceItsPriceWhereTheLoadTakesAPart(t *testing.T) {
	for sentence, tt := range map[string]struct {
		returns []Regrown
		allowed bool
	}{
		"all of it is kept": {nil, true},
		"half of it goes":   {[]Regrown{{After: 20 * time.Minute, Price: 30_000}}, false},
		"a third goes late": {[]Regrown{{After: 50 * time.Minute, Price: 20_000}}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &Problem{Cluster: &pack.Problem{}, Options: Options{NodePrice: 25_000, SavingsHorizon: time.Hour, Regrowth: tt.returns}}
			s := &search{p: p, loose: 60_000, looseKnown: true}
			r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{}, price: 60_000}}, 60_000, 0, 1)
			if (r.Code == "") != tt.allowed {
				t.Errorf("got %q", r.Text())
			}
		})
	}
}

func TestAMoveThatWouldGoAstraySaysSo(t *testing.T) {
	p := &Problem{Cluster: &pack.Problem{}, Options: Options{NodePrice: 10_000, SavingsHorizon: time.Hour, MisplacedPercent: 60, Regrowth: []Regrown{{After: time.Minute, Price: 1}}}}
	s := &search{p: p, looseKnown: true, loose: 1_000_000}
	r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{}, price: 10_000}}, 5_000, 0, 1)
	want := "moving its pods is held to cost $0.0100, and would save $0.0000 in the time left (after such moves 60% of what their nodes had cost was launched again here, for pods that did not come to lie as planned)"
	if r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
}

func TestAMoveThatWouldNotPayBackSaysWhen(t *testing.T) {
	p := &Problem{Cluster: &pack.Problem{}, Options: Options{PodPrice: 1_000, NodePrice: 10_000, SavingsHorizon: time.Hour, Regrowth: []Regrown{{After: 5 * time.Minute, Price: 60_000}}}}
	s := &search{p: p, looseKnown: true}
	r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{}, price: 60_000}}, 60_000, 4*unit, 0)
	want := "moving its pods is held to cost $0.0140, and would save $0.0050 in the time left (it would pay back in 14m0s; about as much was launched again within 5m0s here)"
	if r.Code != NotPaidBack || r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
}

func TestAMoveThatTakesTooLongToPayBackSaysForHowLongASavingIsCountedOn(t *testing.T) {
	for left, want := range map[time.Duration]string{
		0:                "moving its pods is held to cost $0.0140, and would save $0.0100 in the time left (it would pay back in 1h24m0s; a saving is counted on for 1h0m0s here)",
		20 * time.Minute: "moving its pods is held to cost $0.0140, and would save $0.003333 in the time left (it would pay back in 1h24m0s; the first of the nodes expires in 20m0s)",
	} {
		p := &Problem{Cluster: &pack.Problem{}, Options: Options{PodPrice: 1_000, NodePrice: 10_000, SavingsHorizon: time.Hour}}
		s := &search{p: p, looseKnown: true}
		r := s.notPaidBack([]*nodeState{{src: &cluster.Node{}, in: &Node{LifetimeLeft: left}, price: 60_000}}, 10_000, 4*unit, 1)
		if r.Code != NotPaidBack || r.Text() != want {
			t.Errorf("got %q", r.Text())
		}
	}
}
