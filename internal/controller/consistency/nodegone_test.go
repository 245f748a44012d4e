package consistency_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestAnInstanceWhoseNodeWasDeletedIsEnded(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		edit       func(*karpv1.NodeClaim)
		back, away time.Duration // when the node comes back, and goes again
		shifted    time.Duration // until when the instance is left alone
		ended      time.Duration
	}{
		"after five minutes":                            {ended: 5 * time.Minute},
		"initialized or not":                            {edit: func(c *karpv1.NodeClaim) { c.StatusConditions().SetUnknown(karpv1.ConditionTypeInitialized) }, ended: 5 * time.Minute},
		"not when the node is back":                     {back: 4 * time.Minute, ended: never},
		"its time begins anew when the node goes again": {back: 3 * time.Minute, away: 4 * time.Minute, ended: 9 * time.Minute},
		"not while its zone is left alone":              {shifted: 8 * time.Minute, ended: 8 * time.Minute},
		"not before it has had a node": {edit: func(c *karpv1.NodeClaim) {
			c.StatusConditions().SetUnknown(karpv1.ConditionTypeRegistered)
		}, ended: never},
	} {
		t.Run(name, func(t *testing.T) {
			claim, node := instance("c", true)
			if c.edit != nil {
				c.edit(claim)
			}
			other, its := instance("well", true)
			h := newTestCluster(t, claim, other, its)
			at := time.Duration(0)
			h.LeftAlone = func(id string) bool { return id == claim.Status.ProviderID && at < c.shifted }
			ended := time.Duration(never)
			for ; at <= 15*time.Minute && ended == never; at += time.Minute {
				var err error
				switch {
				case at == c.back && at > 0:
					err = h.Client.Create(t.Context(), node.DeepCopy())
				case at == c.away && at > 0:
					err = h.Client.Delete(t.Context(), node.DeepCopy())
				}
				h.clock.SetTime(start.Add(at))
				if err := errors.Join(err, h.Round(t.Context()), h.Round(t.Context())); err != nil {
					t.Fatal(err)
				}
				if !h.claim("c").DeletionTimestamp.IsZero() {
					ended = at
				}
			}
			if ended != c.ended {
				t.Errorf("ended after %s, want %s", ended, c.ended)
			}
			var want []string
			if c.ended != never {
				want = []string{"NodeGone"}
			}
			if d := cmp.Diff(want, h.told()); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}
			if !h.claim("well").DeletionTimestamp.IsZero() {
				t.Error("an instance that has its node was ended")
			}
		})
	}
}
