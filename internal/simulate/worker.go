package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// message is a line that a worker writes.
type message struct {
	Progress *Progress `json:"progress,omitempty"`
	Result   *Result   `json:"result,omitempty"`
	Events   []string  `json:"events,omitempty"`
	Error    string    `json:"error,omitempty"`
	// Refused says that the error is of what was to be simulated.
	Refused bool `json:"refused,omitempty"`
}

// RefusedError is that what was to be simulated can't be: an object is refused, no NodePool can launch anything.
type RefusedError struct{ Text string }

// Error is part of error.
func (e *RefusedError) Error() string { return e.Text }

// unchecked is what the API says besides of an object that is refused, and what says nothing.
var unchecked = regexp.MustCompile(`(, )?<nil>: Invalid value: null: some validation rules were not checked[^,\]]*`)

// Work is the whole of a worker: it reads a Spec, runs it, and writes messages. Virtual time belongs to package testing, so a run is
// a test that package testing is asked to run, outside of go test; it takes the process for itself, its flags, arguments and
// standard output, so Work is called once, by a process that does nothing else.
//
// A SIGINT or SIGTERM ends the run early, with the result of what there is.
func Work(in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read what to simulate: %w", err)
	}
	if err := s.Check(); err != nil {
		return err
	}
	var stop atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	guard.Go("simulate.stop", func() {
		<-signals
		stop.Store(true)
	})
	simcluster.DrawAlike(s.Seed)
	write := json.NewEncoder(out)
	var result *Result
	var failed error
	said, err := asTest("simulate", func(t *testing.T) {
		result, failed = Play(t, &s, &stop, func(p Progress) { _ = write.Encode(message{Progress: &p}) })
	})
	m := message{Result: result}
	switch {
	case failed != nil:
		m = message{Error: unchecked.ReplaceAllString(failed.Error(), ""), Refused: true}
	case err != nil:
		m = message{Error: fmt.Sprintf("%v: %s", err, said)}
	default:
		m.Events = result.Events
	}
	return write.Encode(m)
}

// asTest runs a function as a test of package testing, and returns what that wrote.
//
// Errors: the test failed.
func asTest(name string, f func(t *testing.T)) (said string, err error) {
	args, flags, stdout := os.Args, flag.CommandLine, os.Stdout
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	done := make(chan struct{})
	guard.Go("simulate.said", func() {
		defer close(done)
		_, _ = io.Copy(&b, read)
	})
	os.Args, flag.CommandLine, os.Stdout = args[:1], flag.NewFlagSet(args[0], flag.ContinueOnError), write
	testing.Init()
	code := testing.MainStart(noDeps{}, []testing.InternalTest{{Name: name, F: f}}, nil, nil, nil).Run()
	os.Args, flag.CommandLine, os.Stdout = args, flags, stdout
	write.Close()
	<-done
	read.Close()
	if code != 0 {
		err = errors.New("the simulated cluster failed")
	}
	return plainly(b.String()), err
}

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// plainly leaves of what package testing writes what was said.
func plainly(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if t := strings.TrimSpace(line); t == "" || t == "FAIL" || t == "PASS" || strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "=== ") {
			continue
		}
		out = append(out, strings.TrimSpace(place.ReplaceAllString(line, "")))
	}
	return strings.Join(out, "; ")
}

// noDeps is what package testing wants of go test, and which does nothing here.
type noDeps struct{}

type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

func (noDeps) ImportPath() string                                       { return "" }
func (noDeps) ModulePath() string                                       { return "" }
func (noDeps) MatchString(string, string) (bool, error)                 { return true, nil }
func (noDeps) SetPanicOnExit0(bool)                                     {}
func (noDeps) StartCPUProfile(io.Writer) error                          { return nil }
func (noDeps) StopCPUProfile()                                          {}
func (noDeps) StartTestLog(io.Writer)                                   {}
func (noDeps) StopTestLog() error                                       { return nil }
func (noDeps) WriteProfileTo(string, io.Writer, int) error              { return nil }
func (noDeps) RunFuzzWorker(func(corpusEntry) error) error              { return nil }
func (noDeps) ReadCorpus(string, []reflect.Type) ([]corpusEntry, error) { return nil, nil }
func (noDeps) CheckCorpus([]any, []reflect.Type) error                  { return nil }
func (noDeps) ResetCoverage()                                           {}
func (noDeps) SnapshotCoverage()                                        {}

func (noDeps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []corpusEntry, []reflect.Type, string, string) error {
	return nil
}

func (noDeps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {
	return "", nil, nil
}
