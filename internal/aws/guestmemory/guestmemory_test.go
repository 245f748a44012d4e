package guestmemory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newBook() (*Book, *clock) {
	c := &clock{time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)}
	return NewBook(c.now), c
}

func known(b *Book, instanceType, image string) int64 {
	n, _ := b.Snapshot().Bytes(instanceType, image)
	return n
}

func TestTheLeastAmountCountsAtOnce(t *testing.T) {
	b, _ := newBook()
	for _, step := range []struct {
		reported, want int64
		changed        bool
	}{{8000, 8000, true}, {8100, 8000, false}, {7900, 7900, true}, {7900, 7900, false}, {0, 7900, false}, {-5, 7900, false}} {
		before := b.Snapshot()
		if got := b.Learn("m5.large", "ami-1", "n", step.reported); got != step.changed {
			t.Errorf("a node reports %d: changed %v, want %v", step.reported, got, step.changed)
		}
		if got := known(b, "m5.large", "ami-1"); got != step.want {
			t.Errorf("a node reports %d: known is %d, want %d", step.reported, got, step.want)
		}
		if grown := b.Snapshot().Generation > before.Generation; grown != step.changed {
			t.Errorf("a node reports %d: new generation %v, want %v", step.reported, grown, step.changed)
		}
	}
	if known(b, "m5.large", "ami-2") != 0 || known(b, "m5.xlarge", "ami-1") != 0 {
		t.Error("another image or type is known too")
	}
}

func TestWhatNobodyConfirmsIsForgotten(t *testing.T) {
	b, c := newBook()
	b.Learn("m5.large", "ami-1", "n", 7000)
	b.Learn("c5.large", "ami-1", "n", 3000)
	c.t = c.t.Add(Age - 24*time.Hour)
	b.Learn("m5.large", "ami-1", "n", 7050)
	c.t = c.t.Add(3 * 24 * time.Hour)
	b.Learn("r5.large", "ami-1", "n", 15000)
	if got := known(b, "m5.large", "ami-1"); got != 7000 {
		t.Errorf("what was confirmed is %d", got)
	}
	if got := known(b, "c5.large", "ami-1"); got != 0 {
		t.Errorf("what nobody confirmed for 62 days is %d", got)
	}
	c.t = c.t.Add(Age)
	b.Learn("m5.large", "ami-1", "n", 7500)
	if got := known(b, "m5.large", "ami-1"); got != 7500 {
		t.Errorf("an amount of long ago still counts: %d", got)
	}
}

// TestOneOddNodeDoesNotRuleForLong has a node that reports much less than those that come after it.
func TestOneOddNodeDoesNotRuleForLong(t *testing.T) {
	b, c := newBook()
	for i, step := range []struct {
		node           string
		reported, want int64
	}{
		{"a", 7000, 7000}, {"odd", 2000, 2000}, {"b", 7000, 2000}, {"c", 7000, 2000}, {"odd", 2010, 2000}, {"d", 7000, 2000}, {"e", 7000, 2000},
		{"e", 7000, 2000}, {"f", 7000, 7000}, {"g", 6950, 6950}, // e counts once, however often it is ready
	} {
		b.Learn("m5.large", "ami-1", step.node, step.reported)
		if got := known(b, "m5.large", "ami-1"); got != step.want {
			t.Errorf("node %d reports %d: known is %d, want %d", i, step.reported, got, step.want)
		}
	}
	b.Learn("c5.large", "ami-1", "n", 1000)
	c.t = c.t.Add(Age - 24*time.Hour)
	b.Learn("c5.large", "ami-1", "n", 3000)
	c.t = c.t.Add(3 * 24 * time.Hour)
	b.Learn("r5.large", "ami-1", "n", 15000)
	if got := known(b, "c5.large", "ami-1"); got != 0 {
		t.Errorf("what the only node since has contradicted is still %d", got)
	}
	_, _ = b.Text()
	b.Learn("r5.large", "ami-2", "n", 15000)
	b.Forget()
	if n := b.Snapshot().Len(); n != 1 || known(b, "r5.large", "ami-2") != 15000 {
		t.Errorf("%d amounts are known, want the one that is new", n)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	b, c := newBook()
	for i := range MaxEntries {
		b.Learn("m5.large", fmt.Sprintf("ami-%04d", i), "n", 7000)
	}
	c.t = c.t.Add(48 * time.Hour)
	b.Learn("m5.large", "ami-0000", "n", 7000)
	b.Learn("m5.large", "ami-new", "n", 7000)
	if n := b.Snapshot().Len(); n != MaxEntries {
		t.Errorf("%d entries", n)
	}
	if known(b, "m5.large", "ami-new") == 0 || known(b, "m5.large", "ami-0000") == 0 || known(b, "m5.large", fmt.Sprintf("ami-%04d", MaxEntries-1)) != 0 {
		t.Error("something else than the longest unconfirmed went")
	}
	if text, _ := b.Text(); len(text) > 400<<10 {
		t.Errorf("as text that is %d bytes", len(text))
	}
}

func TestARestartForgetsNothing(t *testing.T) {
	first, c := newBook()
	first.Learn("m5.large", "ami-1", "n", 8000)
	first.Learn("c5.large", "ami-1", "n", 3900)
	first.Learn("m5.large", "ami-2", "n", 8050)
	text, version := first.Text()
	if want := `{"c5.large":{"ami-1":{"bytes":3900,"seen":"2026-11-21"}},"m5.large":{"ami-1":{"bytes":8000,"seen":"2026-11-21"},"ami-2":{"bytes":8050,"seen":"2026-11-21"}}}`; text != want || version == 0 {
		t.Errorf("text is %s, version %d", text, version)
	}
	second := NewBook(c.now)
	second.Learn("m5.large", "ami-1", "n", 8010) // a node spoke before the text was read
	second.Learn("m5.large", "ami-2", "n", 8040)
	before := second.Snapshot()
	if err := second.Take(text); err != nil {
		t.Fatal(err)
	}
	got := []int64{known(second, "m5.large", "ami-1"), known(second, "m5.large", "ami-2"), known(second, "c5.large", "ami-1")}
	if diff := cmp.Diff([]int64{8000, 8040, 3900}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c5.large", "m5.large"}, second.Snapshot().Changed(before)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

func TestTextThatMakesNoSense(t *testing.T) {
	b, _ := newBook()
	for _, text := range []string{"", "{", "[]", `{"m5.large":7}`} {
		if b.Take(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for _, text := range []string{
		`{"m5.large":{"ami-1":{"bytes":-1,"seen":"2026-11-21"}}}`, `{"m5.large":{"ami-1":{"bytes":8000,"seen":"today"}}}`,
		`{"m5.large":{"":{"bytes":8000,"seen":"2026-11-21"}}}`, `{"m5.large":{"ami-1":{"bytes":8000,"seen":"2036-11-21"}}}`, `{"m5.large":{"ami-1":{"bytes":8000,"seen":"2020-01-01"}}}`,
	} {
		if err := b.Take(text); err != nil || b.Snapshot().Len() > 0 {
			t.Errorf("%s: %v, %d entries", text, err, b.Snapshot().Len())
		}
	}
}

// What kubelets leave to pods is known where one left less than was planned, and then of all types, until the class changes.
func TestWhatIsLeftToPods(t *testing.T) {
	b, c := newBook()
	of := Left{Resource: "memory", Class: "1"}
	for _, step := range []struct {
		what, instanceType, class string
		amount, planned           int64
		changed                   bool
	}{
		{"as much as planned", "m5.large", "1", 7000, 7000, false},
		{"less", "c5.large", "1", 2500, 3000, true},
		{"less again", "c5.large", "1", 2400, 2500, true},
		{"more than the least", "c5.large", "1", 2600, 2400, false},
		{"as much as planned, after others left less", "m5.large", "1", 7000, 7000, true},
		{"as much as planned, under other settings", "m5.large", "2", 7000, 7000, false},
	} {
		if got := b.LearnLeft(step.instanceType, "ami-1", step.class, "n", "memory", step.amount, step.planned); got != step.changed {
			t.Errorf("%s: changed %v, want %v", step.what, got, step.changed)
		}
	}
	want := map[string]int64{"m5.large": 7000, "c5.large": 2400}
	if diff := cmp.Diff(want, b.Snapshot().AllLeft("ami-1", of)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if known(b, "c5.large", "ami-1") != 0 {
		t.Error("it counts as the memory of the node")
	}
	text, _ := b.Text()
	heir := NewBook(c.now)
	if err := heir.Take(text); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, heir.Snapshot().AllLeft("ami-1", of)); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s\n%s", diff, text)
	}
}
