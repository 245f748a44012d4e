package awssim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
)

func TestAZoneIsShiftedThroughThePage(t *testing.T) {
	s, _ := start(t, awssim.Options{})
	w, page := s.World, client.New(s.URL())
	cluster, ok := w.Cluster(w.ClusterName())
	if !ok {
		t.Fatal("there is no cluster")
	}
	id := w.Zones()[0].ID
	if err := page.ShiftZone(t.Context(), control.ZonalShiftRequest{Enabled: true, ZoneID: id, For: "10m"}); err != nil {
		t.Fatal(err)
	}
	shifts, ok := w.ZonalShifts(cluster.ARN)
	if !ok || len(shifts) != 1 || shifts[0].ZoneID != id || shifts[0].Expires.Sub(w.Now()) > 10*time.Minute {
		t.Fatalf("shifts are %+v, registered %t", shifts, ok)
	}
	resp, err := http.Post(s.URL()+"/_kerf/zonal-shift", "application/json", strings.NewReader(`{"enabled": true, "zone": "`+id+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "zone") {
		t.Errorf("a field that does not exist: %d %s", resp.StatusCode, text)
	}
	if shifts, _ := w.ZonalShifts(cluster.ARN); len(shifts) != 1 {
		t.Errorf("what could not be read ended the shift: %+v", shifts)
	}
	if err := page.ShiftZone(t.Context(), control.ZonalShiftRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.ZonalShifts(cluster.ARN); ok {
		t.Error("the cluster is still registered")
	}
}
