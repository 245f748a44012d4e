package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

func TestALoopThatPanicsIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		starts, began := 0, time.Now()
		r := &restarted{where: "test", after: time.After, loop: manager.RunnableFunc(func(ctx context.Context) error {
			if starts++; starts < 4 {
				panic("planted")
			}
			<-ctx.Done()
			return nil
		})}
		done := make(chan error)
		go func() { done <- r.Start(ctx) }()
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		if took := time.Since(began); starts != 4 || took != time.Hour {
			t.Errorf("%d starts in %s", starts, took)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !r.NeedLeaderElection() {
			t.Error("a loop that says nothing runs on the leader only")
		}
	})
}
