package obs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

func TestRoundsGoOnWhateverHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		wake := make(chan struct{})
		r := obs.Rounds{
			Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock.RealClock{},
			Name: "test", Doing: "testing", Every: 10 * time.Second, Wake: wake,
		}
		ctx, cancel := context.WithCancel(t.Context())
		began, at := time.Now(), []time.Duration(nil)
		done := make(chan error)
		go func() {
			done <- r.RunPaced(ctx, func(context.Context) (time.Duration, error) {
				at = append(at, time.Since(began))
				switch len(at) {
				case 1:
					return 0, errors.New("no answer")
				case 2:
					panic("oh")
				case 3:
					return time.Second, nil
				}
				return 0, nil
			})
		}()
		time.Sleep(25 * time.Second)
		wake <- struct{}{}
		time.Sleep(12 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var want []time.Duration
		for _, s := range []int{0, 10, 20, 21, 25, 35} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(at, want) {
			t.Errorf("rounds after %v, want %v", at, want)
		}
		for _, said := range []string{"testing", "no answer", "oh"} {
			if !strings.Contains(log.String(), said) {
				t.Errorf("the log does not say %q:\n%s", said, log.String())
			}
		}
	})
}
