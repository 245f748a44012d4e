package interruption

import (
	"context"
	"errors"
	"testing"
)

func TestWhoOnlyAsksDoesNotWaitForWhoActs(t *testing.T) {
	var l ledger
	d := l.of("a")
	if err := d.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.deleted.Store(true)
	if !l.begun("a") || l.begun("b") {
		t.Error("what was begun is not what was asked for")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.take(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that has ended gave %v", err)
	}
	d.leave()
	if err := d.take(t.Context()); err != nil {
		t.Error(err)
	}
}
