package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/floor"
)

// many is a cluster with more of everything than a screen has lines for.
func many() *overview.Document {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := &overview.Document{Cluster: "shop", At: now, Bill: overview.Bill{Running: 900}, Classes: []*overview.Class{{Namespace: "shop", Name: "web"}}}
	for i := range 9 {
		node := fmt.Sprintf("n%d", i)
		d.Nodes = append(d.Nodes, &overview.Node{Name: node, Claim: "c", State: overview.Ready, CapacityType: []string{catalog.Spot, catalog.OnDemand, catalog.Reserved}[i%3], Price: 100, Pods: overview.Amount{Used: 3}})
		d.Waiting = append(d.Waiting, overview.Waiting{Class: i - 1, Pod: fmt.Sprint("shop/p", i), Count: 2, Since: now.Add(-time.Hour), Why: "too large\x1b[2J"})
		d.Moves = append(d.Moves, overview.Move{Cause: "Drifted", Begun: i == 0, Nodes: []string{node}, New: []string{"m7g.large a spot"}, Pods: 1, Why: "image"})
		d.Blocked = append(d.Blocked, overview.Blocked{Code: "X", Text: "it is kept", Nodes: []string{"n1", "n2", "n3", "n4"}, Count: 6, Saves: 1_000_000})
	}
	d.WaitingMore = 4
	d.Pools = []overview.Pool{{Name: "default", Nodes: 9, Price: 900, NotReady: "no class"}}
	return d
}

func TestListsAreAsLongAsAsked(t *testing.T) {
	r := Of(many(), &floor.Floor{Bound: 600, Running: 900}, "")
	for _, tc := range []struct {
		verbose bool
		has     []string
		hasNot  []string
	}{
		{false, []string{
			"cluster shop: healthy", "3 on-demand for $0.0003/h, 3 spot for", "3 reserved for", "gap $0.0003/h (50.0 %)", "nodes    9 ready", "pods     27 run, 22 wait",
			"2 x shop/p0, for 60m: too large", "2 x shop/web, for 60m", "and 4 more lines (--verbose)", "Drifted, under way: n0 -> m7g.large a spot; moves 1 pod", "and 4 more moves (--verbose)",
			"blocked savings, $9.0000/h", "it is kept: n1, n2, n3 and 3 more",
		}, []string{"NodePools", "\x1b"}},
		{true, []string{"it is kept: n1, n2, n3, n4 and 2 more", "and 4 more pods that the controller does not list", "default: 9 nodes, $0.0009/h; can't launch: no class"}, []string{"--verbose"}},
	} {
		var b strings.Builder
		if err := r.Write(&b, tc.verbose); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.has {
			if !strings.Contains(b.String(), want) {
				t.Errorf("verbose %v lacks %q:\n%s", tc.verbose, want, b.String())
			}
		}
		for _, never := range tc.hasNot {
			if strings.Contains(b.String(), never) {
				t.Errorf("verbose %v has %q:\n%s", tc.verbose, never, b.String())
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	bad, warn := overview.Problem{Level: overview.Bad}, overview.Problem{Level: overview.Warn}
	for want, problems := range map[string][]overview.Problem{
		"healthy": nil, "1 warning": {warn}, "1 problem": {bad}, "2 problems, 1 warning": {bad, bad, warn},
	} {
		r := Of(&overview.Document{Problems: problems}, nil, "")
		if got := r.Verdict(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		waiting := Of(&overview.Document{Problems: problems, WaitingMore: 18}, nil, "")
		if r.Healthy {
			want += ", 18 pods on the way"
		}
		if got := waiting.Verdict(); got != want {
			t.Errorf("with pods that wait: %q, want %q", got, want)
		}
		if healthy := !strings.Contains(want, "problem"); r.Healthy != healthy {
			t.Errorf("%s: healthy is %v", want, r.Healthy)
		}
	}
}

// TestAStartIsNeitherWellNorAProblem, and costs that are not known are not none.
func TestAStartIsNeitherWellNorAProblem(t *testing.T) {
	d := &overview.Document{Cluster: "shop", WaitingMore: 21, Bill: overview.Bill{Unpriced: 3}, Problems: []overview.Problem{{Code: overview.JustStarted, Level: overview.Warn, Title: "Kerf has just started"}}}
	var b strings.Builder
	if err := Of(d, nil, "").Write(&b, false); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(got, "cluster shop: just started, 21 pods wait\n") || !strings.Contains(got, "cost     not known yet") || strings.Contains(got, "$0") {
		t.Errorf("%s", got)
	}
}

// TestInstancesThatHaveNotJoinedAreTold beside the pods that are on the way.
func TestInstancesThatHaveNotJoinedAreTold(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := &overview.Document{At: now, Joining: &overview.Unjoined{Node: "n", Since: now.Add(-80 * time.Second), Count: 2, Usual: 13}, Waiting: []overview.Waiting{{Pod: "a/b", Count: 19, Node: "n", Nodes: 2, Since: now}}}
	r := Of(d, nil, "")
	if got, want := r.Verdict(), "healthy, 19 pods on the way (2 instances have not joined for 1m20s; 13s is usual here)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b strings.Builder
	if err := r.Write(&b, false); err != nil || !strings.Contains(b.String(), "19 x a/b, for 0s: room is kept on n and 1 more\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestAMoveSaysWhenItBegins, or that moves are paused.
func TestAMoveSaysWhenItBegins(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := overview.Move{Cause: "Underutilized", Begins: now.Add(3*time.Minute + 32*time.Second), Waits: "a saving this small must last 5m28s first"}
	for want, d := range map[string]*overview.Document{
		"Underutilized, found, begins in 3m32s if that stays so: ": {At: now, Moves: []overview.Move{m}},
		"    a saving this small must last 5m28s first\n":          {At: now, Moves: []overview.Move{m}},
		"Underutilized, found, begins as soon as it has its turn:": {At: now.Add(time.Hour), Moves: []overview.Move{m}},
		"Underutilized, found, and paused: ":                       {At: now, Moves: []overview.Move{m}, Held: &overview.Held{}},
		"Underutilized, under way: ":                               {At: now, Moves: []overview.Move{{Cause: "Underutilized", Begun: true}}},
	} {
		var b strings.Builder
		if err := Of(d, nil, "").Write(&b, false); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v: lacks %q:\n%s", err, want, b.String())
		}
	}
}

// TestAFloorThatIsNotComparable: without all prices there is no gap, and without a floor it says why.
func TestAFloorThatIsNotComparable(t *testing.T) {
	d := &overview.Document{Bill: overview.Bill{Running: 1, Unpriced: 2}}
	if r := Of(d, &floor.Floor{Bound: 600, Running: 1}, ""); r.Cost.Gap != nil || r.Cost.Floor == nil {
		t.Errorf("%+v", r.Cost)
	}
	var b strings.Builder
	if err := Of(d, nil, "it took longer than 20s").Write(&b, false); err != nil || !strings.Contains(b.String(), "floor    not found: it took longer than 20s") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestBlockedSavingsAreNoMoreThanTheGap: each line is counted by itself, and their sum may be more than there is to save.
func TestBlockedSavingsAreNoMoreThanTheGap(t *testing.T) {
	for waiting, want := range map[int]bool{0: true, 1: false} { // pods that wait are in the floor and not in the cost
		d := &overview.Document{Bill: overview.Bill{Running: 1_000_000}, Blocked: []overview.Blocked{{Text: "w", Count: 1, Saves: 700_000}}}
		if waiting > 0 {
			d.Waiting = []overview.Waiting{{Pod: "a/b", Count: waiting}}
		}
		var b strings.Builder
		if err := Of(d, &floor.Floor{Bound: 600_000, Running: 1_000_000}, "").Write(&b, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "$0.7000/h if each is counted by itself; together at most $0.4000/h, the gap to the floor\n"); got != want {
			t.Errorf("%d pods wait:\n%s", waiting, b.String())
		}
	}
}

func TestACauseHasWhatFollowsFromIt(t *testing.T) {
	d := many()
	d.Problems = []overview.Problem{
		{Code: overview.NotTrue, Level: overview.Bad, Title: "EC2NodeClass a: AMIsReady is not true", Text: "no image", Remedy: "r", Follows: []overview.Problem{{Title: "3 pods wait", Since: d.At.Add(-time.Minute)}}},
		{Code: overview.TakenBack, Level: overview.Warn, Title: "AWS takes back 1 spot instance", Text: "n1: 2 pods still on it", Until: d.At.Add(90 * time.Second), Remedy: "none"},
		{Code: overview.NotAskedOfEC2, Level: overview.Warn, Title: "EC2 refuses spot launches", Since: d.At.Add(-time.Minute), RetryAt: d.At.Add(3 * time.Minute), Remedy: "raise it"},
	}
	var b strings.Builder
	if err := Of(d, nil, "").WriteProblems(&b); err != nil {
		t.Fatal(err)
	}
	want := `PROBLEM  EC2NodeClass a: AMIsReady is not true
         no image
         fix: r
         therefore: 3 pods wait, for 60s
WARNING  AWS takes back 1 spot instance, until 12:01:30 UTC (in 90s)
         n1: 2 pods still on it
         fix: none
WARNING  EC2 refuses spot launches, for 60s; asked again at about 12:03:00 UTC (in 3m)
         fix: raise it
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

// TestAReasonStandsOnce: a list does not say again what a problem says, and says what none does.
func TestAReasonStandsOnce(t *testing.T) {
	d := &overview.Document{
		Problems: []overview.Problem{{Level: overview.Bad, Title: "5 pods wait", Text: "too large", Remedy: "r"}},
		Waiting:  []overview.Waiting{{Pod: "a/b", Count: 3, Why: "too large"}, {Pod: "a/c", Count: 2, Why: "no zone"}},
	}
	var b strings.Builder
	if err := Of(d, nil, "").Write(&b, false); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "too large") != 1 || !strings.Contains(got, "3 x a/b, for 0s: see the problem above\n") || !strings.Contains(got, ": no zone\n") {
		t.Errorf("%s", got)
	}
}

// TestWhatAShortageCostsIsSaid as long as the nodes that it made dear are there.
func TestWhatAShortageCostsIsSaid(t *testing.T) {
	for dear, want := range map[catalog.MicroUSD]bool{0: false, 368_000: true} {
		var b strings.Builder
		if err := Of(&overview.Document{Bill: overview.Bill{Running: 646_000, Dear: dear}}, nil, "").Write(&b, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "$0.3680/h of it is what nodes cost more that were launched while cheaper capacity was refused"); got != want {
			t.Errorf("%d:\n%s", dear, b.String())
		}
	}
}

// AWS charges in yuan in China.
func TestAmountsAreInTheCurrencyOfTheRegion(t *testing.T) {
	var b strings.Builder
	r := Of(&overview.Document{Currency: "CNY", Bill: overview.Bill{Running: 646_000}, Pools: []overview.Pool{{Name: "default", Price: 646_000}}}, nil, "")
	if err := r.Write(&b, true); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); r.Currency != "CNY" || strings.Count(text, "¥0.6460/h") != 2 || strings.Contains(text, "$") {
		t.Error(text)
	}
}
