package event_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestEveryKindHasItsRule sends one event of each kind to the rules that an account without a stack has.
func TestEveryKindHasItsRule(t *testing.T) {
	w, err := world.NewDefault(world.Options{Types: []string{"m5.large"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.FurnishInterruption("kerf"); err != nil {
		t.Fatal(err)
	}
	b := event.NewBus(w, "kerf")
	rules := map[string]string{
		event.SpotInterruption: "SpotInterruptionRule", event.Rebalance: "RebalanceRule", event.StateChange: "InstanceStateChangeRule",
		event.ScheduledChange: "ScheduledChangeRule", event.ReservationInterrupted: "CapacityReservationInterruptionRule",
	}
	for _, kind := range event.Kinds() {
		e, d, err := b.Emit(event.Request{Kind: kind, Instance: "i-1", State: "stopping", Account: "210987654321"})
		if err != nil || len(d.Rules) != 1 || d.Rules[0] != rules[kind] || d.Delivered != 1 || len(d.Failed) != 0 {
			t.Errorf("%s: %+v, %v", kind, d, err)
		}
		if e.Version != "0" || e.ID == "" || e.Account != "210987654321" || e.Region != "us-east-1" || len(e.Resources) != 1 {
			t.Errorf("%s: %+v", kind, e)
		}
	}
	if got, err := w.Messages("kerf"); err != nil || len(got) != len(rules) {
		t.Errorf("%d messages, %v", len(got), err)
	}
	for name, r := range map[string]event.Request{
		"a kind that there is not": {Kind: "flood"}, "a state that there is not": {Kind: event.StateChange, Instance: "i-1", State: "asleep"},
		"maintenance of nothing": {Kind: event.ScheduledChange},
	} {
		if _, err := b.Make(r); err == nil {
			t.Errorf("%s is made", name)
		}
	}
}

func BenchmarkEmit(b *testing.B) {
	w, err := world.NewDefault(world.Options{Types: []string{"m5.large"}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.FurnishInterruption("kerf"); err != nil {
		b.Fatal(err)
	}
	bus := event.NewBus(w, "kerf")
	for b.Loop() {
		if _, _, err := bus.Emit(event.Request{Kind: event.StateChange, Instance: "i-1", State: "running"}); err != nil {
			b.Fatal(err)
		}
	}
}
