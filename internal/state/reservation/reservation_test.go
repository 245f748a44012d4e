package reservation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

var start = time.Unix(1000, 0)

func room(pod string, unit Unit, lasts time.Duration) Reservation {
	return Reservation{Pod: types.NamespacedName{Namespace: "ns", Name: pod}, UID: types.UID(pod), Unit: unit, Until: start.Add(lasts)}
}

// on are the pods with room on units.
func on(t *Table, units ...Unit) []string {
	out := []string{}
	for _, r := range t.On(units...) {
		out = append(out, r.Pod.Name)
	}
	return out
}

// What is done for the pods of a unit in turn is done in the same order each time: two runs of a simulation are alike.
func TestReservationsOfAUnitComeInOneOrder(t *testing.T) {
	table := New()
	var want []string
	for i := range 40 {
		pod := string(rune('a'+i/26)) + string(rune('a'+i%26))
		want = append(want, pod)
		table.Reserve(room(pod, OfClaim("c"), time.Minute))
	}
	if got := on(table, OfClaim("c")); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestAPodHasOneReservationAtMost(t *testing.T) {
	table := New()
	if _, had := table.Reserve(room("p", OfClaim("c"), time.Minute)); had {
		t.Error("the first reservation has one before it")
	}
	before, had := table.Reserve(room("p", OfNode("n"), time.Minute))
	if !had || before.Unit != OfClaim("c") {
		t.Errorf("before it was %+v, %t", before, had)
	}
	if got := on(table, OfClaim("c")); len(got) != 0 {
		t.Errorf("the claim still has %v", got)
	}
	if got := on(table, OfClaim("c"), OfNode("n")); !slices.Equal(got, []string{"p"}) {
		t.Errorf("both units have %v", got)
	}
	if r, ok := table.End("p"); !ok || r.Unit != OfNode("n") || table.Has("p") {
		t.Errorf("ended %+v, %t", r, ok)
	}
	if _, ok := table.End("p"); ok {
		t.Error("a reservation ended twice")
	}
	if got := table.Units(); len(got) != 0 {
		t.Errorf("units are left: %v", got)
	}
}

func TestAReservationIsShortenedNeverLengthened(t *testing.T) {
	table := New()
	table.Reserve(room("p", OfNode("n"), time.Minute))
	for _, step := range []struct{ to, want time.Duration }{{time.Hour, time.Minute}, {time.Second, time.Second}, {2 * time.Second, time.Second}} {
		table.Shorten("p", start.Add(step.to))
		if r, _ := table.Of("p"); !r.Until.Equal(start.Add(step.want)) {
			t.Errorf("shortened to %v, it lasts %v", step.to, r.Until.Sub(start))
		}
	}
	table.Shorten("nobody", start)
	if len(table.Over(start.Add(time.Second-1))) != 0 || len(table.Over(start.Add(time.Second))) != 1 {
		t.Error("a reservation is over at its time, not before")
	}
	if !table.Has("p") {
		t.Error("a reservation that is over lasts until it is ended")
	}
}

func TestExchangedReservationsTakeRoomAndTimeOfTheOther(t *testing.T) {
	table := New()
	table.Reserve(room("a", OfNode("n"), time.Minute))
	table.Reserve(room("b", OfClaim("c"), time.Hour))
	table.Exchange("a", "nobody")
	table.Exchange("a", "b")
	a, _ := table.Of("a")
	b, _ := table.Of("b")
	if diff := cmp.Diff([]Reservation{room("a", OfClaim("c"), time.Hour), room("b", OfNode("n"), time.Minute)}, []Reservation{a, b}); diff != "" {
		t.Error(diff)
	}
	if got := on(table, OfNode("n")); !slices.Equal(got, []string{"b"}) {
		t.Errorf("on the node: %v", got)
	}
}

func TestAClaimCountsUntilItIsConfirmedOrLapses(t *testing.T) {
	table := New()
	expected := intake.Expected{Allocatable: res.List{"cpu": 4}}
	until := start.Add(time.Minute)
	table.ExpectClaim("seen", "1", expected, until, false)
	table.ExpectClaim("seen", "1", intake.Expected{}, until, false) // the same once more
	table.ExpectClaim("lost", "2", expected, until, false)
	table.ExpectClaim("known", "3", expected, until, true)
	table.ConfirmClaim("seen", "1")
	table.ConfirmClaim("lost", "another")
	for name, want := range map[string]bool{"seen": false, "lost": true, "known": false, "never": false} {
		if got := table.Unconfirmed(name); got != want {
			t.Errorf("%s is unconfirmed: %t", name, got)
		}
	}
	if got := table.LapsedClaims(until.Add(-1)); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	if got := table.LapsedClaims(until); len(got) != 1 || got["lost"] != "2" {
		t.Errorf("lapsed: %v", got)
	}
	if table.Expected("seen").Allocatable["cpu"] != 4 || table.Expected("lost").Allocatable != nil {
		t.Error("a confirmed claim keeps what is expected of it, a lapsed one does not")
	}
	table.ExpectClaim("seen", "4", intake.Expected{}, until, false)
	if table.Expected("seen").Allocatable != nil || !table.Unconfirmed("seen") {
		t.Error("another claim of the same name is not the one before")
	}
	for _, name := range []string{"seen", "known"} {
		table.ForgetClaim(name)
	}
	if n := table.Sizes().Claims; n != 0 {
		t.Errorf("%d claims are left", n)
	}
}

func TestSuccessorsTakeWhatWasLeftToThem(t *testing.T) {
	left := func() *Table {
		table := New()
		table.LeaveToSuccessor("web", OfNode("n"), "small", start)
		table.LeaveToSuccessor("web", OfClaim("c"), "small", start.Add(time.Minute))
		table.LeaveToSuccessor("", OfNode("n"), "small", start)
		return table
	}
	for name, tt := range map[string]struct {
		owner     types.UID
		class     string
		at        Unit
		there, ok bool
	}{
		"where it was left":         {"web", "small", OfClaim("c"), true, true},
		"somewhere else":            {"web", "small", OfNode("other"), false, true},
		"a pod of another class":    {"web", "large", OfNode("n"), false, false},
		"a pod of another owner":    {"db", "small", OfNode("n"), false, false},
		"a pod without an owner":    {"", "small", OfNode("n"), false, false},
		"where it was left earlier": {"web", "small", OfNode("n"), true, true},
	} {
		table := left()
		where, ok := table.Succeed(tt.owner, tt.class, []Unit{tt.at})
		if there := ok && where == tt.at; there != tt.there || ok != tt.ok {
			t.Errorf("%s: where %v, ok %t", name, where, ok)
		}
	}
	table := left()
	table.ExpireSuccessions(start.Add(successionTime))
	if where, ok := table.Succeed("web", "small", []Unit{OfNode("n")}); where == OfNode("n") || !ok {
		t.Error("the room that was left first should be over, the other should not")
	}
	if n := table.Sizes().Successions; n != 0 {
		t.Errorf("%d owners are left", n)
	}
}

func TestANominationIsWrittenAgainWhenItIsLostButNotForEver(t *testing.T) {
	table := New()
	if table.LoseNomination("p") {
		t.Error("what was never there was lost")
	}
	for i := range MostNominations {
		if !table.Nominate("p", "n") || !table.Nominated("p", "n") {
			t.Fatalf("nomination %d is not written", i)
		}
		if table.Nominate("p", "n") {
			t.Fatal("a nomination that stands is written again")
		}
		if !table.LoseNomination("p") || table.Nominated("p", "n") {
			t.Fatal("a lost nomination stands")
		}
	}
	if table.Nominate("p", "n") {
		t.Errorf("it is written more than %d times", MostNominations)
	}
	if !table.Nominate("p", "other") || table.Nominated("p", "n") {
		t.Error("another node is another nomination")
	}
	table.ForgetNomination("p")
	if n := table.Sizes().Nominations; n != 0 {
		t.Errorf("%d nominations are left", n)
	}
}

func TestAUnitIsOfANodeOrAClaim(t *testing.T) {
	if name, ok := OfNode("c/x").Node(); !ok || name != "c/x" {
		t.Errorf("node %q, %t", name, ok)
	}
	if name, ok := OfClaim("x").Claim(); !ok || name != "x" {
		t.Errorf("claim %q, %t", name, ok)
	}
	if _, ok := OfClaim("x").Node(); ok {
		t.Error("a claim's unit is a node's")
	}
	if OfClaim("x") == OfNode("x") {
		t.Error("a node and a claim of one name are one unit")
	}
}

func TestNothingIsLookedAtBeforeItsTime(t *testing.T) {
	table := New()
	for i := range 100 {
		table.Reserve(room(fmt.Sprint("p-", i), OfNode("n"), time.Minute))
		table.ExpectClaim(fmt.Sprint("c-", i), "1", intake.Expected{}, start.Add(time.Minute), i > 0)
	}
	ask := func(after time.Duration, over, lapsed, looked int) {
		t.Helper()
		before := table.looked
		if o, l := table.Over(start.Add(after)), table.LapsedClaims(start.Add(after)); len(o) != over || len(l) != lapsed || table.looked-before != looked {
			t.Errorf("after %s %d are over and %d lapsed, at %d was looked; want %d, %d and %d", after, len(o), len(l), table.looked-before, over, lapsed, looked)
		}
	}
	ask(time.Minute-1, 0, 0, 0)
	table.Shorten("p-3", start.Add(time.Second))
	ask(time.Second-1, 0, 0, 0)
	ask(time.Second, 1, 0, 100)
	ask(time.Second, 1, 0, 100) // until it is ended
	table.End("p-3")
	ask(2*time.Second, 0, 0, 99)
	ask(3*time.Second, 0, 0, 0)
	table.ExpectClaim("late", "1", intake.Expected{}, start.Add(time.Hour), false)
	ask(time.Minute, 99, 1, 99+101)
	table.Reserve(room("p-4", OfNode("n"), 2*time.Minute))
	for i := range 100 {
		if i != 4 {
			table.End(types.UID(fmt.Sprint("p-", i)))
		}
	}
	ask(time.Minute, 0, 0, 1)
	ask(2*time.Minute-1, 0, 0, 0)
	ask(2*time.Minute, 1, 0, 1)
	table.End("p-4")
	ask(time.Hour, 0, 1, 100)
	ask(2*time.Hour, 0, 0, 0)
}
