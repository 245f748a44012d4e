package truth

import (
	"testing"
	"time"
)

func TestStoriesCanBePlayed(t *testing.T) {
	stories, err := Stories()
	if err != nil {
		t.Fatal(err)
	}
	if len(stories) != 5 {
		t.Errorf("%d stories", len(stories))
	}
	for _, s := range stories {
		w, err := s.workload()
		if err != nil {
			t.Error(err)
			continue
		}
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if last := w.Steps[len(w.Steps)-1].At; last >= Horizon {
			t.Errorf("%s goes on for %s, and %s are compared", s.Name, last, Horizon)
		}
	}
}

func TestApart(t *testing.T) {
	curve := func(bills ...float64) *Played {
		p := &Played{}
		for i, b := range bills {
			p.Points = append(p.Points, Point{At: time.Duration(i) * every, Bill: b})
		}
		return p
	}
	for name, c := range map[string]struct {
		a, b *Played
		want float64
	}{
		"equal":                     {curve(1, 2, 3), curve(1, 2, 3), 0},
		"later":                     {curve(1, 1, 2, 2, 2), curve(1, 1, 1, 2, 2), 0},
		"a tenth more":              {curve(10, 10, 10, 10), curve(11, 11, 11, 11), 0.1},
		"same mean, other moments":  {curve(1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3), curve(3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1), 2 * 8.0 / 24},
		"nothing to be compared to": {curve(1), &Played{}, 0},
	} {
		if got := Apart(c.a, c.b, tolerance, dollars); got != c.want {
			t.Errorf("%s: %g apart, want %g", name, got, c.want)
		}
	}
}
