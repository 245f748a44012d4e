package simulate

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

func TestANegativeWarmUpIsRefused(t *testing.T) {
	s := &Spec{Workload: &workload.Workload{}, Horizon: time.Hour, Boot: DefaultBoot, Warmup: -5 * time.Minute}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "a warm-up of -5m0s: want 0s or more") {
		t.Errorf("it is told %v", err)
	}
	s.Warmup = 0
	if err := s.Check(); err != nil && strings.Contains(err.Error(), "warm-up") {
		t.Error(err)
	}
}
