package simulate

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Jobs that come every five minutes and last one: whenever they come within these five minutes, the sum is near what it is. Moments at
// equal distances found five times as much, or nothing. Beside them there may be a pod all the time.
func TestFloorsMeetJobsThatComeRegularly(t *testing.T) {
	for phase := time.Duration(0); phase < 5*time.Minute; phase += 20 * time.Second {
		for _, always := range []int64{0, 3} {
			const hours = 6
			begun := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
			now := begun
			weight := func() int64 {
				if at := (now.Sub(begun) + phase) % (5 * time.Minute); at < time.Minute {
					return always + 10
				}
				return always
			}
			found := 0
			f := newFloors(&Spec{Horizon: hours * time.Hour, Seed: uint64(phase) + 1}, func() float64 {
				found++
				if weight() == 0 {
					return 0
				}
				return 1 + float64(weight())/10 // more of them are cheaper
			}, weight)
			f.reset(now)
			for end := begun.Add(hours * time.Hour); now.Before(end); {
				next := f.due(end)
				if !next.After(now) && now != begun {
					t.Fatalf("at %s it wants to be called at %s", now, next)
				}
				now = next
				f.at(now)
			}
			want := 2 * 0.2 * hours
			if always > 0 {
				want = (1.3*0.8 + 2.3*0.2) * hours
			}
			if got := f.sum(hours*time.Hour, (10*hours*12*60+always*hours*3600)*1000); math.Abs(got/want-1) > 0.01 {
				t.Errorf("with jobs %s after the beginning and %d always the floor is $%.2f, want about $%.2f", phase, always, got, want)
			}
			if found > hours*12+2 {
				t.Errorf("%d floors were found in %d hours", found, hours)
			}
		}
	}
}

func TestAFloorThatStaysIsExact(t *testing.T) {
	begun := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	for _, weight := range []int64{0, 7} {
		f := newFloors(&Spec{Horizon: 24 * time.Hour, Seed: 1}, func() float64 { return 3600 }, func() int64 { return weight })
		for _, d := range []time.Duration{0, time.Second, 59 * time.Second, 10 * time.Minute} {
			f.reset(begun)
			for now := f.due(begun.Add(d)); now.Before(begun.Add(d)); now = f.due(begun.Add(d)) {
				f.at(now)
			}
			if got := f.sum(d, weight*d.Milliseconds()); math.Abs(got-d.Seconds()) > 1e-6 {
				t.Errorf("the floor of %s is $%g, want $%g", d, got, d.Seconds())
			}
		}
	}
}

func TestADistanceIsToldOnlyWhereThereIsOne(t *testing.T) {
	below, above := -12.34, 10.0
	for name, c := range map[string]struct {
		distance *float64
		want     string
		note     bool
	}{
		"no floor":       {nil, "could cost is $0: no distance, for the floor is 0\n", false},
		"above":          {&above, "could cost is $0: 10.0 % above it\n", false},
		"by chance less": {&below, "could cost is $0: 12.3 % below it\n", true},
	} {
		r := &Result{SimulatedSeconds: 7200, HorizonSeconds: 7200, SampleSeconds: 300, Totals: Totals{Bill: 1, Distance: c.distance}}
		text, _, page := written(t, &Report{Runs: []*Result{r}})
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
		for _, x := range []string{text, page} {
			if strings.Contains(x, "is below the floor, which no bill can be: the floor is found at moments that are drawn, one in 5 minutes") != c.note {
				t.Errorf("%s: is the floor said to be found at moments?\n%s", name, x)
			}
		}
		a, err := Assertions("distance<20%")
		if err != nil {
			t.Fatal(err)
		}
		if v := Judge(a, "", []*Result{r})[0]; v.Holds != (c.distance != nil) || (v.Absent != "") != (c.distance == nil) || c.distance == nil && !strings.Contains(v.Text(), "the floor is 0") {
			t.Errorf("%s: %s", name, v.Text())
		}
	}
}

// AWS charges in yuan in China.
func TestAmountsAreInTheCurrencyOfTheRegion(t *testing.T) {
	runs := runsOf("a", 90)
	runs[0].Currency = "CNY"
	a, err := Assertions("bill<100")
	if err != nil {
		t.Fatal(err)
	}
	text, data, page := written(t, &Report{Runs: runs, Verdicts: Judge(a, "a", runs)})
	for _, x := range []string{text, page} {
		if !strings.Contains(x, "¥90.00") || strings.Contains(x, "$") {
			t.Error(x)
		}
	}
	if v := Judge(a, "a", runs)[0].Text(); !strings.Contains(data, `"currency":"CNY"`) || v != "bill<100 holds: ¥90.00 with seed 1" {
		t.Errorf("%s: %s", v, data)
	}
}
