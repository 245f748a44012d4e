package trial

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/gate"
)

// counters of faults are not part of a schedule.
var counters = cmp.Options{cmpopts.IgnoreUnexported(gate.Fault{}, world.Fault{})}

func TestASeedIsASchedule(t *testing.T) {
	for seed := range uint64(200) {
		one, other := Draw(seed), Draw(seed)
		if diff := cmp.Diff(one, other, counters); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		path := filepath.Join(t.TempDir(), "schedule.json")
		if err := one.Write(path); err != nil {
			t.Fatal(err)
		}
		again, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, again, counters); diff != "" {
			t.Fatalf("seed %d changes when it is written: %s", seed, diff)
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	seen := map[Action]int{}
	for seed := range uint64(200) {
		for _, s := range Draw(seed).Steps {
			seen[s.Do]++
		}
	}
	for _, do := range []Action{Deploy, Remove, Interrupt, EndInstance, Price, Disturb, Kill, Restart, Drift, Taint, DeleteNode, DeleteClaim, ForceClaim, Protect, Balk} {
		if seen[do] < 20 {
			t.Errorf("%s happens %d times in 200 schedules", do, seen[do])
		}
	}
}

func TestShrink(t *testing.T) {
	s := Draw(7)
	for len(s.Steps) < 20 {
		s.Steps = append(s.Steps, Step{Do: Restart})
	}
	s.Steps[3].Name, s.Steps[11].Name = "needed", "needed"
	s.KillAt, s.Skew = 9, time.Second
	asked := 0
	got := Shrink(s, 200, func(s *Schedule) bool {
		asked++
		n := 0
		for _, step := range s.Steps {
			if step.Name == "needed" {
				n++
			}
		}
		return n == 2 && s.KillAt == 9
	})
	if len(got.Steps) != 2 || got.KillAt != 9 || got.Skew != 0 {
		t.Errorf("%d steps, kill at %d, skew %s after %d tries", len(got.Steps), got.KillAt, got.Skew, asked)
	}
	if asked := 0; len(Shrink(s, 3, func(*Schedule) bool { asked++; return false }).Steps) != len(s.Steps) || asked > 3 {
		t.Errorf("asked %d times", asked)
	}
}

func TestFloor(t *testing.T) {
	pod := func(cpu, memory string) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}}}}}
	}
	shapes := []shape{{2000, 8 << 30, 96_000}, {2000, 4 << 30, 85_000}}
	for name, tc := range map[string]struct {
		pods []corev1.Pod
		want int64
	}{
		"no pods":                      {nil, 0},
		"pods that fill one shape":     {[]corev1.Pod{pod("1", "4Gi"), pod("1", "4Gi")}, 96_000},
		"pods that fill the other":     {[]corev1.Pod{pod("2", "4Gi")}, 85_000},
		"pods that want little memory": {[]corev1.Pod{pod("4", "1Gi")}, 170_000},
		"pods that fill both":          {[]corev1.Pod{pod("4", "12Gi")}, 181_000},
	} {
		t.Run(name, func(t *testing.T) {
			got := floor(tc.pods, shapes)
			if got > tc.want || got < tc.want*99/100 {
				t.Errorf("floor %d, want at most %d and at least 99%% of it", got, tc.want)
			}
		})
	}
}
