package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// askAgain is the pause after an attempt to reach AWS at the start.
const askAgain = 10 * time.Second

// startAWS reads what launches need once the process runs, and keeps it fresh.
func (d *deps) startAWS() error {
	start := &awsStart{check: d.provider.Check, warm: d.provider.Warm, log: d.log}
	return errors.Join(
		d.AddReadyzCheck("aws-start", start.ready),
		d.Add(everywhere(func(ctx context.Context) error {
			if err := start.run(ctx); err != nil {
				return err
			}
			d.provider.Refresh(ctx)
			return nil
		})),
	)
}

// awsStart reads from AWS what launches need, after the start of everything else: probes answer, nodes drain and finalizers
// go on while AWS is away.
//
// Concurrency: safe.
type awsStart struct {
	// check and warm are those of the provider.
	check, warm func(context.Context) error
	log         *slog.Logger

	mu      sync.Mutex
	done    bool
	waiting error // why it is not done; nil before the first answer
}

// run returns when AWS has told what is needed.
//
// Errors: what AWS has refused. Waiting does not help there, and the error says what to set.
func (a *awsStart) run(ctx context.Context) error {
	said := ""
	for {
		err := a.ask(ctx)
		a.mu.Lock()
		a.done, a.waiting = err == nil, err
		a.mu.Unlock()
		switch {
		case err == nil:
			if said != "" {
				a.log.Info("AWS answers: launches begin")
			}
			return nil
		case ctx.Err() != nil:
			return nil //nolint:nilerr // being told to stop is no failure
		case final(err):
			return err
		}
		if text := cloud.Lasting(err.Error()); text != said {
			said = text
			a.log.Error("AWS does not tell what launches need: nothing is launched until it does; nodes drain meanwhile", "error", err, "retry_in", askAgain)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(askAgain):
		}
	}
}

func (a *awsStart) ask(ctx context.Context) error {
	if err := a.check(ctx); err != nil {
		return err
	}
	if err := a.warm(ctx); err != nil {
		return fmt.Errorf("reading the region's instance types: %w", err)
	}
	return nil
}

// final reports whether an error is an answer, and not the lack of one.
func final(err error) bool {
	if errors.Is(err, awserr.ErrNoCredentials) {
		return false // who gives them out may be away, too
	}
	switch cloud.ClassOf(err) {
	case cloud.Denied, cloud.NotFound, cloud.Invalid:
		return true
	}
	return false
}

// ready is a check of readyz: what launches still wait for.
func (a *awsStart) ready(*http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.done:
		return nil
	case a.waiting != nil:
		return fmt.Errorf("launches wait for AWS: %w", a.waiting)
	}
	return errors.New("launches wait for AWS: instance types and prices are being read")
}
