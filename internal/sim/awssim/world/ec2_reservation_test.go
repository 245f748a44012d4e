package world

import (
	"strings"
	"testing"
	"time"
)

// reserved is launch data that takes instances out of a reservation only.
func reserved(w *World, r Reservation, market string) LaunchData {
	data := w.Templates()[0].Versions[0].Data.merge(LaunchData{InstanceType: r.Type})
	data.CapacityReservation = &CapacityReservationSpec{Preference: "capacity-reservations-only", Target: &CapacityReservationTarget{ID: r.ID}}
	if market != "" {
		data.MarketOptions = &MarketOptions{MarketType: market}
	}
	return data
}

func TestABlockIsReclaimedHalfAnHourBeforeItsEnd(t *testing.T) {
	w, clock := testWorld(t, func(o *Options) { o.Types = []string{"p5.48xlarge"} })
	s := setUp(t, w)[0]
	for _, x := range w.Subnets() {
		if !x.Public && w.Offered("p5.48xlarge", x.Zone) {
			s = x
		}
	}
	r, err := w.AddReservation(Reservation{Type: "p5.48xlarge", Zone: s.Zone, Total: 2, Kind: CapacityBlock, MatchCriteria: "targeted", End: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	run := func() ([]Instance, error) {
		return w.Run(RunRequest{Min: 1, Max: 1, Data: reserved(w, r, CapacityBlock), SubnetID: s.ID})
	}
	made, err := run()
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(29 * time.Minute)
	if i, _ := w.Instance(made[0].ID); i.State != StateRunning {
		t.Errorf("31 minutes before the end the instance is %s", i.State)
	}
	clock.Advance(2 * time.Minute)
	if i, _ := w.Instance(made[0].ID); i.State == StateRunning || i.StateReasonCode != "Server.CapacityBlockExpired" {
		t.Errorf("29 minutes before the end the instance is %s (%s)", i.State, i.StateReasonCode)
	}
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "no capacity left") {
		t.Errorf("another launch out of it: %v", err)
	}
}

func TestEachKindOfReservationIsAMarketOfItsOwn(t *testing.T) {
	w, _ := testWorld(t, nil)
	s := setUp(t, w)[0]
	add := func(interruptible bool) Reservation {
		r, err := w.AddReservation(Reservation{Type: "m5.large", Zone: s.Zone, Total: 5, MatchCriteria: "targeted", Interruptible: interruptible})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain, lent := add(false), add(true)
	for _, c := range []struct {
		r      Reservation
		market string
		ok     bool
	}{{plain, "", true}, {lent, InterruptibleMarket, true}, {plain, InterruptibleMarket, false}, {lent, "", false}, {plain, CapacityBlock, false}} {
		if _, err := w.Run(RunRequest{Min: 1, Max: 1, Data: reserved(w, c.r, c.market), SubnetID: s.ID}); (err == nil) != c.ok {
			t.Errorf("interruptible %v, market %q: %v", c.r.Interruptible, c.market, err)
		}
	}
	if err := w.TakeBack(plain.ID); err == nil {
		t.Error("a reservation that is not interruptible was taken back")
	}
	if err := w.TakeBack(lent.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Run(RunRequest{Min: 1, Max: 1, Data: reserved(w, lent, InterruptibleMarket), SubnetID: s.ID}); err == nil {
		t.Error("a reservation that was taken back still has instances")
	}
}

func TestAReservationTakesInstancesOfItsPlatformAndTenancy(t *testing.T) {
	for name, c := range map[string]struct {
		platform, tenancy, launched string
		ok                          bool
	}{
		"as by default":                   {ok: true},
		"another platform":                {platform: PlatformWindows},
		"another tenancy":                 {tenancy: "dedicated"},
		"dedicated":                       {tenancy: "dedicated", launched: "dedicated", ok: true},
		"dedicated out of a default one":  {launched: "dedicated"},
		"default out of a default one":    {tenancy: "default", launched: "default", ok: true},
		"Linux out of one for Linux/UNIX": {platform: PlatformLinux, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := testWorld(t, nil)
			s := setUp(t, w)[0]
			r, err := w.AddReservation(Reservation{Type: "m5.large", Zone: s.Zone, Total: 5, Platform: c.platform, Tenancy: c.tenancy})
			if err != nil {
				t.Fatal(err)
			}
			data := reserved(w, r, "")
			if c.launched != "" {
				data.Placement = &Placement{Tenancy: c.launched}
			}
			if _, err := w.Run(RunRequest{Min: 1, Max: 1, Data: data, SubnetID: s.ID}); (err == nil) != c.ok {
				t.Errorf("targeted: %v", err)
			}
			data.CapacityReservation = &CapacityReservationSpec{Preference: "open"}
			made, err := w.Run(RunRequest{Min: 1, Max: 1, Data: data, SubnetID: s.ID})
			if err != nil || (made[0].CapacityReservationID == r.ID) != c.ok {
				t.Errorf("open: %+v, %v", made, err)
			}
		})
	}
}

func TestACancelledReservationLeavesItsInstancesOnDemand(t *testing.T) {
	w, _ := testWorld(t, nil)
	s := setUp(t, w)[0]
	r, err := w.AddReservation(Reservation{Type: "m5.large", Zone: s.Zone, Total: 1, MatchCriteria: "targeted"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.Run(RunRequest{Min: 1, Max: 1, Data: reserved(w, r, ""), SubnetID: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := w.ReservationInstances(r.ID); err != nil || len(ids) != 1 || ids[0] != made[0].ID {
		t.Errorf("%v, %v", ids, err)
	}
	if err := w.CancelReservation(r.ID); err != nil {
		t.Fatal(err)
	}
	if i, _ := w.Instance(made[0].ID); !i.Live() || i.CapacityReservationID != "" {
		t.Errorf("%s, reservation %q", i.State, i.CapacityReservationID)
	}
	if got := w.Reservations()[0]; got.State != "cancelled" {
		t.Errorf("%+v", got)
	}
}
