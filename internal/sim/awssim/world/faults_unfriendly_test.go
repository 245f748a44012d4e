package world

import (
	"slices"
	"testing"
	"time"
)

func TestSwitchesAreOnAndOffByName(t *testing.T) {
	w, _ := testWorld(t, nil)
	for _, s := range Switches() {
		if w.SwitchOff(s.Name) {
			t.Errorf("%s was on", s.Name)
		}
		for range 2 {
			if !w.SwitchOn(s.Name) {
				t.Errorf("%s can't be switched on", s.Name)
			}
		}
		if n := len(w.Faults()); n != len(s.Faults) {
			t.Errorf("%s switched on twice is %d faults, want %d", s.Name, n, len(s.Faults))
		}
		if !w.SwitchOff(s.Name) || len(w.Faults()) != 0 {
			t.Errorf("%s leaves %v behind", s.Name, w.Faults())
		}
		for _, f := range s.Faults {
			if !slices.Contains(FaultKinds(), f.Kind) {
				t.Errorf("%s has a fault of kind %q, which does not exist", s.Name, f.Kind)
			}
		}
	}
	if w.SwitchOn("rain") || w.SwitchOff("rain") {
		t.Error("there is a switch that nobody knows")
	}
}

func TestWhatAWSLeavesOut(t *testing.T) {
	w, clock := testWorld(t, nil)
	image := w.Images()[0].ID
	w.AddFault(Fault{Kind: FaultMissingImages, Resource: image, Count: 1})
	gone := func() bool {
		return !slices.ContainsFunc(w.Images(), func(i Image) bool { return i.ID == image })
	}
	if !gone() || gone() {
		t.Error("the image is not missing once, and then there again")
	}
	prices := func(zone string) int {
		return len(w.SpotPrices([]string{"m5.large"}, []string{zone}, clock.Now(), clock.Now()))
	}
	w.AddFault(Fault{Kind: FaultMissingSpotPrices, Zone: "us-east-1a"})
	if prices("us-east-1a") != 0 || prices("us-east-1b") != 1 {
		t.Errorf("prices: %d in the zone without, %d in the other", prices("us-east-1a"), prices("us-east-1b"))
	}
	if _, err := w.CreateInstanceProfile("p", "/", nil); err != nil {
		t.Fatal(err)
	}
	w.AddFault(Fault{Kind: FaultLateProfiles, Delay: 10 * time.Second})
	known := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, ok := w.launchProfileLocked("p")
		return ok
	}
	before := known()
	clock.Advance(11 * time.Second)
	if before || !known() {
		t.Errorf("the profile is known at once: %v, later: %v", before, known())
	}
}

func TestAQueueMayHandOutTheNewestFirst(t *testing.T) {
	w, _ := testWorld(t, nil)
	w.AddFault(Fault{Kind: FaultDisorderedMessages, Count: 1})
	q := &queue{name: "q", messages: []*message{{}, {}, {}}}
	first := q.messages[0]
	if got := w.handOutLocked(q); got[2] != first || q.messages[0] != first {
		t.Error("the order is not turned around, or that of the queue itself is")
	}
	if got := w.handOutLocked(q); got[0] != first {
		t.Error("the order is still turned around")
	}
}
