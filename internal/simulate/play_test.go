package simulate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// asWorker makes this test binary a worker.
const asWorker = "KERF_TEST_SIMULATE_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(asStub) != "" {
		stub()
		os.Exit(0)
	}
	if os.Getenv(asWorker) != "" {
		if err := simulate.Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runner() *simulate.Runner {
	return &simulate.Runner{Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(c.Env, asWorker+"=1")
		return c
	}}
}

var few = []string{"c6i.large", "c6i.xlarge", "c6i.2xlarge", "m6i.large", "m6i.xlarge", "m6i.2xlarge", "r6i.large", "r6i.xlarge", "r6i.2xlarge"}

func specOf(t *testing.T, w *workload.Workload, horizon time.Duration, seed uint64, files ...simulate.File) *simulate.Spec {
	t.Helper()
	c, err := simulate.Configure("test", files)
	if err != nil {
		t.Fatal(err)
	}
	return &simulate.Spec{
		Configuration: "test", Manifests: c.Manifests, Workload: w, Horizon: horizon, Warmup: 5 * time.Minute, Seed: seed, Region: "us-east-1", Types: few,
		Volatility: 0.5, Boot: 40 * time.Second, Events: true,
	}
}

func play(t *testing.T, specs ...*simulate.Spec) []*simulate.Result {
	t.Helper()
	out, err := runner().Run(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const trace = `arrival_s,workload,replicas,duration_s,cpu_millicores,memory_mib
0,web,6,,900,1800
600,web,12,,,
900,,4,300,1500,2000
1500,web,4,,,
1800,huge,1,,500000,1000
2400,web,8,,,
`

// One seed is one report, byte for byte, its log included.
func TestOneSeedIsOneReport(t *testing.T) {
	w, err := workload.Read("trace.csv", strings.NewReader(trace), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, time.Hour, 7)
	s.Interruptions, s.Start = 1, 33*time.Hour
	results := play(t, s, s)
	var first []byte
	for i, r := range results {
		text, err := json.Marshal(struct {
			*simulate.Result
			Events []string
		}{r, r.Events})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if !bytes.Equal(first, text) {
			t.Errorf("run %d differs:\n%s\n%s", i, first, text)
		}
	}
	r := results[0]
	if r.Played != "Tuesday 09:00 to 10:00 UTC" || r.Totals.Disrupted == 0 {
		t.Errorf("played %q, %d nodes were disrupted", r.Played, r.Totals.Disrupted)
	}
	if r.Totals.Bill <= r.Totals.Floor || r.Totals.Floor <= 0 || r.Totals.Pods < 16 || r.Totals.Launches == 0 || len(r.Series) != 61 || r.SimulatedSeconds != 3600 {
		t.Errorf("%+v, %d points", r.Totals, len(r.Series))
	}
	if *r.Totals.P50 > 300 || *r.Totals.P95 < 30 || *r.Totals.Max < 1790 { // huge waits from 1800 s to the end
		t.Errorf("pods waited %g s, %g s and at most %g s for instances that boot in 40 s", *r.Totals.P50, *r.Totals.P95, *r.Totals.Max)
	}
	if r.Totals.Interruptions == 0 || r.Totals.SpotHours <= 0 || math.Abs(r.Totals.Expected-r.Totals.SpotHours) > 0.01 { // the rate is 1
		t.Errorf("%d instances were interrupted, and %g were to be expected in %g instance-hours", r.Totals.Interruptions, r.Totals.Expected, r.Totals.SpotHours)
	}
	said := 0
	for _, line := range r.Events {
		if strings.Contains(line, " pod is moved pod=default/") && strings.Contains(line, " workload=default/") && !strings.HasPrefix(line, "-") {
			said++
		}
	}
	if r.Totals.Moved == 0 || said != r.Totals.Moved {
		t.Errorf("%d pods were moved, and the log names %d", r.Totals.Moved, said)
	}
	if r.Totals.Refused != 1 || r.Refused[0].Example != "default/huge" || !strings.Contains(r.Refused[0].Reason, "cpu") {
		t.Errorf("refused: %+v", r.Refused)
	}
}

// The order in which goroutines run is the processors': with several it is another each time. What is reported does not depend on it, but for
// the lines of the log that are of one moment.
func TestOneSeedIsOneReportOnAnyNumberOfProcessors(t *testing.T) {
	text := "arrival_s,workload,replicas,cpu_millicores,memory_mib\n"
	for i := range 12 {
		for n, at := range []int{0, 420, 660, 900} { // up, up, down, up
			text += fmt.Sprintf("%d,app-%d,%d,%d,%d\n", at+7*i, i, []int{20, 45, 9, 30}[n], 200+250*(i%5), 300+700*(i%4))
		}
	}
	w, err := workload.Read("trace.csv", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, 20*time.Minute, 3)
	s.Interruptions = 1
	var want []byte
	for _, processors := range []string{"1", "4"} {
		r := runner()
		alone := r.Command
		r.Command = func() *exec.Cmd {
			c := alone()
			c.Env = append(c.Env, "GOMAXPROCS="+processors, "GODEBUG=randautoseed=0") // preempted whenever the scheduler likes
			return c
		}
		results, err := r.Run(t.Context(), []*simulate.Spec{s})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(results[0])
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
			if all := results[0].Totals; all.Pods < 500 || all.Moved == 0 || all.Launches < 10 {
				t.Errorf("this says little: %+v", all)
			}
		}
		if !bytes.Equal(want, got) {
			t.Errorf("with %s processors:\n%s\nwith one:\n%s", processors, got, want)
		}
	}
}

// A pod of a job that is evicted or lost begins again, and all end.
func TestJobsThatAreInterruptedBeginAgain(t *testing.T) {
	w, err := workload.Read("jobs.csv", strings.NewReader("arrival_s,duration_s,replicas,cpu_millicores,memory_mib\n0,1500,8,1500,2000\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, 2*time.Hour, 1)
	s.Warmup, s.Interruptions = 0, 1.5
	r := play(t, s)[0]
	last := r.Series[len(r.Series)-1]
	if r.Totals.Interruptions == 0 || r.Totals.Pods <= 8 || r.Totals.Moved == 0 || last.Running != 0 || last.Pending != 0 || last.Bill != 0 {
		t.Errorf("%+v, at the end %+v", r.Totals, last)
	}
}

// Pods that find no node are in the figures with their wait so far.
func TestPodsThatNeverRunCount(t *testing.T) {
	w, err := workload.Read("huge.csv", strings.NewReader("arrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,1,100,100\n300,web,2,,\n600,huge,5,500000,1000\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, time.Hour, 1)
	s.Warmup = 0
	if r := play(t, s)[0].Totals; r.Pods != 2 || r.Waiting != 5 || *r.P99 < 2900 || *r.P50 < 2900 {
		t.Errorf("%+v", r)
	}
}

// A pod that is refused from the beginning is refused in what is counted too, however long the warm-up was.
func TestPodsRefusedFromTheStartAreRefused(t *testing.T) {
	w, err := workload.Read("huge.csv", strings.NewReader("arrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,1,100,100\n0,huge,3,500000,1000\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, 10*time.Minute, 1)
	s.Warmup = simulate.DefaultWarmup
	if r := play(t, s)[0]; r.Region != "us-east-1" || r.RegionUnknown || !strings.Contains(r.Prices, "of us-east-1 of 20") || r.Totals.Refused != 3 || r.Totals.Waiting != 3 || r.Refused[0].Example != "default/huge" {
		t.Errorf("%+v, refused %+v", r.Totals, r.Refused)
	}
}

// A pod without a node for ten minutes is refused, and one that came a minute before the end is not, whatever the controller says of it.
// In a run that is too short for ten minutes it is half of the run.
func TestPodsThatComeAtTheEndAreNotRefused(t *testing.T) {
	for _, c := range []struct {
		horizon, warmup time.Duration
		trace           string
		says            string
	}{
		{time.Hour, 0, "2990,huge,2,500000,1000\n3540,late,1,500000,1000\n", ""},
		{5 * time.Minute, time.Minute, "60,huge,2,500000,1000\n180,late,1,500000,1000\n", "REFUSED      2 pods"},
		{5 * time.Minute, time.Minute, "180,late,1,500000,1000\n", "Refused      no pod waited for ten minutes, or for 3 minutes at the end of so short a run"},
	} {
		w, err := workload.Read("late.csv", strings.NewReader("arrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,1,100,100\n"+c.trace), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := specOf(t, w, c.horizon, 1)
		s.Warmup = c.warmup
		r := play(t, s)[0]
		var text strings.Builder
		if err := (&simulate.Report{Runs: []*simulate.Result{r}}).WriteText(&text); err != nil {
			t.Fatal(err)
		}
		want := 2 * strings.Count(c.trace, "huge")
		if r.Totals.Refused != want || r.Totals.Waiting != want+1 || want > 0 && r.Refused[0].Example != "default/huge" || !strings.Contains(text.String(), c.says) {
			t.Errorf("%s after %s: %+v, refused %+v\n%s", c.horizon, c.warmup, r.Totals, r.Refused, text.String())
		}
	}
}

func TestEndedEarlyItSaysWhatThereIs(t *testing.T) {
	w, err := workload.Shape(workload.Steady, 20, 0, 200*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := runner()
	r.Parallel = 1
	r.Told = func(_ int, p simulate.Progress) {
		if p.At >= 10*time.Minute {
			cancel()
		}
	}
	s := specOf(t, w, 200*time.Hour, 1)
	out, err := r.Run(ctx, []*simulate.Spec{s, s})
	if err != nil {
		t.Fatal(err)
	}
	if out[0] == nil || !out[0].Interrupted || out[0].SimulatedSeconds < 600 || out[0].Totals.Bill == 0 || out[1] != nil {
		t.Errorf("%+v", out)
	}
}

func TestEndedInTheWarmUpItSaysWhatThereIs(t *testing.T) {
	w, err := workload.Shape(workload.Steady, 5, 0, 200*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := runner()
	r.Told = func(int, simulate.Progress) { cancel() }
	s := specOf(t, w, 200*time.Hour, 1)
	s.Warmup = 100 * time.Hour
	if out, err := r.Run(ctx, []*simulate.Spec{s}); err != nil || out[0] == nil || !out[0].Interrupted || out[0].SimulatedSeconds > 60 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestWhatIsRefusedIsSaid(t *testing.T) {
	w, err := workload.Shape(workload.Steady, 5, 0, time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, w, time.Hour, 1)
	s.Manifests = append(s.Manifests, s.Manifests[0])
	if _, err := runner().Run(t.Context(), []*simulate.Spec{s}); err == nil || !strings.Contains(err.Error(), "the pool of the quick start:2: NodePool default is refused") {
		t.Error(err)
	}
	s = specOf(t, w, time.Hour, 1, simulate.File{Name: "pool.yaml", Data: []byte("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: mine}\n")})
	_, err = runner().Run(t.Context(), []*simulate.Spec{s})
	if _, refused := errors.AsType[*simulate.RefusedError](err); !refused || strings.Contains(err.Error(), "nil") || !strings.HasPrefix(err.Error(), "test: pool.yaml:1: NodePool web is refused: ") || !strings.Contains(err.Error(), "spec.template.spec.requirements: Required value") {
		t.Error(err)
	}
	crash := &simulate.Runner{Command: func() *exec.Cmd { return exec.Command("false") }}
	if _, err := crash.Run(t.Context(), []*simulate.Spec{specOf(t, w, time.Hour, 1)}); err == nil || !strings.Contains(err.Error(), "its process ended with") {
		t.Error(err)
	}
}
