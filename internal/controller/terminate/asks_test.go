package terminate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// hangs is a cloud that does not answer until it is let.
type hangs struct {
	cloud.Provider
	let   chan struct{}
	err   error
	asked int
}

func (s *hangs) Terminate(context.Context, string) error {
	s.asked++
	<-s.let
	return s.err
}

// TestACloudThatHangsHoldsNoWorker: who asks waits a moment, who asks again does not, and the answer comes to the next.
func TestACloudThatHangsHoldsNoWorker(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want Outcome
		says bool
	}{
		"it ends":    {nil, Ending, true},
		"it is gone": {&cloud.Error{Op: "terminating", Class: cloud.NotFound, Err: errors.New("none")}, Gone, false},
		"no answer":  {errors.New("timeout"), Ending, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, claim, real := &hangs{let: make(chan struct{}), err: tt.err}, &karpv1.NodeClaim{}, clock.RealClock{}
				var a asks
				end := func() (outcome Outcome, took time.Duration, err error) {
					begun := time.Now()
					outcome, err = a.end(t.Context(), s, real, "aws:///a/i-1", claim)
					return outcome, time.Since(begun), err
				}
				if outcome, took, err := end(); outcome != Asked || took != prompt || err != nil {
					t.Errorf("the first gets %v after %s, %v", outcome, took, err)
				}
				if outcome, took, err := end(); outcome != Asked || took != 0 || err != nil {
					t.Errorf("the second gets %v after %s, %v", outcome, took, err)
				}
				close(s.let)
				synctest.Wait()
				outcome, took, err := end()
				if outcome != tt.want || took != 0 || (err != nil) != (tt.want == Ending && tt.err != nil) {
					t.Errorf("once it is answered: %v after %s, %v", outcome, took, err)
				}
				if claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) != tt.says {
					t.Errorf("conditions are %v", claim.Status.Conditions)
				}
				if outcome, took, _ := end(); outcome != tt.want || took != 0 || s.asked != 2 || len(a.of) != 0 {
					t.Errorf("asked again: %v after %s, %d calls, %d kept", outcome, took, s.asked, len(a.of))
				}
			})
		})
	}
}
