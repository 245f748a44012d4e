package cli

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// seedsOf is what --seeds comes to.
func seedsOf(t *testing.T, text string) ([]uint64, error) {
	t.Helper()
	return (&simulateFlags{seeds: text}).seedList(newSimulateCommand())
}

// There is no number behind the largest seed at which to stop.
func TestTheLargestSeedIsOneSeed(t *testing.T) {
	for text, want := range map[string][]uint64{
		"18446744073709551615":                      {math.MaxUint64},
		"18446744073709551614-18446744073709551615": {math.MaxUint64 - 1, math.MaxUint64},
		"0,3-5": {0, 3, 4, 5},
	} {
		if got, err := seedsOf(t, text); err != nil || !slices.Equal(got, want) {
			t.Errorf("--seeds %s: %d, %v", text, got, err)
		}
	}
}

// So many seeds are too many, however they are written.
func TestAThousandSeedsAreTheMost(t *testing.T) {
	if got, err := seedsOf(t, "1-400,401-1000"); err != nil || len(got) != 1000 {
		t.Errorf("%d seeds, %v", len(got), err)
	}
	for _, text := range []string{"1-1001", "1-1000,1001-2000", "1-1000,5000", "0-18446744073709551615"} {
		if got, err := seedsOf(t, text); err == nil || !strings.Contains(err.Error(), "at most 1000 of them") {
			t.Errorf("--seeds %s: %d seeds, %v", text, len(got), err)
		}
	}
}
