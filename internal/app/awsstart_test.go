package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestTheStartWaitsForAWSAndSaysSo(t *testing.T) {
	away := &cloud.Error{Op: "asking EC2", Class: cloud.Unavailable, Err: errors.New("connection refused")}
	for name, tt := range map[string]struct {
		check, warm error // until a minute has passed
		ends        bool  // with the error
	}{
		"EC2 is away":                       {check: away},
		"types can't be read":               {warm: fmt.Errorf("listing: %w", away)},
		"calls are throttled":               {check: &cloud.Error{Class: cloud.Throttled, Err: errors.New("slow down")}},
		"who gives credentials is away":     {check: awserr.ErrNoCredentials},
		"the credentials are refused":       {check: &cloud.Error{Class: cloud.Denied, Err: errors.New("AWS refuses the credentials")}, ends: true},
		"the cluster is not there":          {check: &cloud.Error{Class: cloud.NotFound, Err: errors.New("no such cluster")}, ends: true},
		"a permission for types is lacking": {warm: &cloud.Error{Class: cloud.Denied, Err: errors.New("not allowed")}, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(time.Minute)
				until := func(err error) func(context.Context) error {
					return func(context.Context) error {
						if time.Now().Before(back) {
							return err
						}
						return nil
					}
				}
				a := &awsStart{check: until(tt.check), warm: until(tt.warm), log: slog.New(slog.DiscardHandler)}
				if err := a.ready(nil); err == nil {
					t.Error("ready before AWS was asked")
				}
				ended := make(chan error, 1)
				go func() { ended <- a.run(t.Context()) }()
				time.Sleep(30 * time.Second)
				want := errors.Join(tt.check, tt.warm).Error()
				if tt.ends {
					if err := <-ended; err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("it ended with %v, want %s", err, want)
					}
					return
				}
				if err := a.ready(nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "launches wait for AWS") {
					t.Errorf("readiness says %v", err)
				}
				if err := <-ended; err != nil || time.Since(back) > askAgain || a.ready(nil) != nil {
					t.Errorf("%s after AWS was back: %v, %v", time.Since(back), err, a.ready(nil))
				}
			})
		})
	}
}
