package disrupt

import (
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestANodeIsLeftAloneForLongerEachTimeAConsolidationOfItFails(t *testing.T) {
	now := time.Unix(1000, 0)
	var s Setbacks
	c := Command{Cause: karpv1.DisruptionReasonUnderutilized, Nodes: []Going{{Claim: "a"}}}
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		s.Finished(c, "no capacity", now)
		r, until := s.blocks("a", now)
		if r.Code == "" || until.Sub(now) != want {
			t.Errorf("failure %d: left alone for %v, want %v", i+1, until.Sub(now), want)
		}
		now = until
		if r, _ := s.blocks("a", now); r.Code != "" {
			t.Errorf("failure %d: it is left alone for ever", i+1)
		}
	}
	s.Finished(c, "", now)
	s.Finished(c, "no capacity", now)
	if _, until := s.blocks("a", now); until.Sub(now) != leastPause {
		t.Errorf("after a success it begins with %v, want %v", until.Sub(now), leastPause)
	}
	c.Cause, c.Nodes[0].Claim = karpv1.DisruptionReasonEmpty, "e"
	s.Finished(c, "its claim can't be written to", now)
	if r, _ := s.blocks("e", now); r.Code == "" {
		t.Error("an empty node that can't go is tried each second")
	}
	c.Cause, c.Nodes[0].Claim = karpv1.DisruptionReasonDrifted, "b"
	s.Finished(c, "no capacity", now)
	if r, _ := s.blocks("b", now); r.Code != "" {
		t.Error("drift has a pause of its own")
	}
}
