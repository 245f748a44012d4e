package image_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

// start makes a simulated account that ends with the test, and clients that call it and do not try again.
func start(t *testing.T, o awssim.Options) (*awssim.Server, *session.Session) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	sim, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, v := range append(sim.Env(), "AWS_MAX_ATTEMPTS=1", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PROFILE=") {
		key, value, _ := strings.Cut(v, "=")
		t.Setenv(key, value)
	}
	s, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sim, s
}
