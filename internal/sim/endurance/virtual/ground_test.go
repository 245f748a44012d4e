package virtual_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
	"github.com/kerf-sh/kerf/internal/sim/endurance/trial"
	"github.com/kerf-sh/kerf/internal/sim/endurance/virtual"
)

// How much these tests do, by environment variables; "make endurance" sets them.
const (
	points    = "ENDURANCE_POINTS" // how many crash points of the story, spread over all; 0: none
	schedules = "ENDURANCE_N"      // how many random schedules
	seed      = "ENDURANCE_SEED"   // of the first of them
	replay    = "ENDURANCE_REPLAY" // a file with a schedule to play instead
	shrink    = "ENDURANCE_SHRINK" // how many tries to make a schedule that fails shorter
	replays   = "ENDURANCE_DIR"    // where schedules that fail are written; empty: a folder of the test
	logFile   = "ENDURANCE_LOG"    // gets what the controller of the last trial logs
)

// TestMain lets garbage pile up: trials leave little behind, and it is collected four times as often otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// number is a setting's value.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func handler(t *testing.T) slog.Handler {
	t.Helper()
	path := os.Getenv(logFile)
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelInfo})
}

// play plays a schedule, and fails with what is needed to play it again.
func play(t *testing.T, s *trial.Schedule, logf func(string, ...any)) *trial.Result {
	t.Helper()
	r, err := virtual.Play(t, s, virtual.Options{Log: handler(t), Logf: logf, Stalled: stalled(t, s)})
	if err != nil {
		t.Errorf("%s could not be played: %v", s.Name, err)
	}
	if r == nil || len(r.Violations) == 0 {
		return r
	}
	for _, v := range r.Violations {
		t.Errorf("%s: %s", s.Name, v)
	}
	t.Log(keep(t, s))
	if tries := number(t, shrink, 0); tries > 0 {
		shorter := trial.Shrink(s, tries, func(s *trial.Schedule) bool {
			r, err := virtual.Play(t, s, virtual.Options{Logf: quiet, Stalled: stalled(t, s)})
			return err == nil && len(r.Violations) > 0
		})
		shorter.Name += ", shortened"
		t.Log(keep(t, shorter))
	}
	return r
}

// stalled keeps a schedule that stands still.
func stalled(t *testing.T, s *trial.Schedule) func() string {
	return func() string { return keep(t, s) }
}

// keep writes a schedule to a file and says how to play it again.
func keep(t *testing.T, s *trial.Schedule) string {
	dir := os.Getenv(replays)
	if dir == "" {
		dir = t.ArtifactDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("seed-%d-kill-%d-%s-steps-%d.json", s.Seed, s.KillAt, s.Moment, len(s.Steps)))
	if err := errors.Join(os.MkdirAll(dir, 0o755), s.Write(path)); err != nil {
		return fmt.Sprintf("%s could not be kept: %v", s.Name, err)
	}
	return fmt.Sprintf("to play %s again: make endurance REPLAY=%s", s.Name, path)
}

func quiet(string, ...any) {}

func TestStory(t *testing.T) {
	r := play(t, trial.Story(), t.Logf)
	t.Logf("%s, %d calls counted, %+v, bill %d, floor %d", r.Took, len(r.Calls), r.Figures, r.Bill, r.Floor)
	if r.Figures.Instances < 5 || r.Figures.Voluntary == 0 || r.Figures.Evictions == 0 {
		t.Errorf("the story is not told: %+v", r.Figures)
	}
}

// TestCrashPoints plays the story once per call to either API, and ends the controller at that call.
func TestCrashPoints(t *testing.T) {
	n := number(t, points, 6)
	if n == 0 {
		t.Skip("no crash points are asked for")
	}
	recorded := play(t, trial.Story(), quiet)
	all := 2 * len(recorded.Calls)
	n = min(n, all)
	missed := 0
	for i := range n {
		point := i * all / n
		at, moment := 1+point/2, []gate.Moment{gate.Before, gate.After}[point%2]
		t.Run(fmt.Sprintf("%03d-%s", at, moment), func(t *testing.T) {
			if r := play(t, trial.Story().At(at, moment), quiet); r != nil && !r.Killed {
				missed++
			}
		})
	}
	t.Logf("%d of %d crash points, %d of them not reached because that run made fewer calls", n, all, missed)
	if missed > n/5 {
		t.Errorf("%d of %d points were not reached", missed, n)
	}
}

// enough is the time in which a schedule ends even on a busy instance.
const enough = 2 * time.Minute

// TestSchedules plays what seeds bring. When the tests' timeout is near it plays no more of them, and fails: a run that
// plays less than it says proves less than it says.
func TestSchedules(t *testing.T) {
	first := number(t, seed, 1)
	n := number(t, schedules, 20)
	var left atomic.Int32
	t.Cleanup(func() {
		if left := left.Load(); left > 0 {
			t.Errorf("of %d schedules %d were not played, because the tests' timeout was near: give more time (-timeout), or ask for fewer (%s)", n, left, schedules)
		}
	})
	deadline, limited := t.Deadline()
	for i := range n {
		t.Run(strconv.Itoa(first+i), func(t *testing.T) {
			t.Parallel()
			if limited && time.Until(deadline) < enough {
				left.Add(1)
				return
			}
			if r := play(t, trial.Draw(uint64(first+i)), logger(t)); r != nil {
				t.Logf("%s, %d calls counted, killed at a call: %v, %+v, bill %d, floor %d", r.Took, len(r.Calls), r.Killed, r.Figures, r.Bill, r.Floor)
			}
		})
	}
}

// TestReplay plays the schedule of a file.
func TestReplay(t *testing.T) {
	path := os.Getenv(replay)
	if path == "" {
		t.Skip("no schedule is given")
	}
	s, err := trial.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	r := play(t, s, t.Logf)
	t.Logf("%s, %d calls counted, %+v, bill %d, floor %d", r.Took, len(r.Calls), r.Figures, r.Bill, r.Floor)
}

// logger tells of the steps when tests are verbose.
func logger(t *testing.T) func(string, ...any) {
	if testing.Verbose() {
		return t.Logf
	}
	return quiet
}
