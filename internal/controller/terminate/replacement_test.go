package terminate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// awaited is what the cache says of a node's pods.
type awaited struct{ homeless, coming, turn bool }

func (a awaited) AwaitingReplacement(string) (homeless, coming bool) { return a.homeless, a.coming }

func (a awaited) AwaitsTurn(types.UID) bool { return a.turn }

func TestPodsWaitForTheTurnOfTheirNewNode(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		turn  bool // has not come
		after time.Duration
		goes  bool
	}{
		"it has come":           {false, 0, true},
		"it has not come":       {true, awaitTurnFor - time.Second, false},
		"it takes all too long": {true, awaitTurnFor, true},
	} {
		r := &round{Nodes: &Nodes{Replacements: awaited{turn: tc.turn}, Clock: clocktesting.NewFakeClock(begun.Add(tc.after))}, now: begun.Add(tc.after),
			memory: &memory{begun: begun, asked: map[types.UID]time.Time{}, deleted: map[types.UID]deletion{}}}
		if got := r.mayGo(&corev1.Pod{}); got != tc.goes || !got && r.after() != othersAgain {
			t.Errorf("%s: goes %v, want %v; again after %s", name, got, tc.goes, r.after())
		}
	}
}

func TestADrainWaitsForReplacementsOnlySoLong(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: begun}}}
	homeless, coming := awaited{homeless: true}, awaited{coming: true}
	for name, tc := range map[string]struct {
		annotation string
		pods       awaited
		deadline   time.Duration // from the beginning; 0: none
		want       time.Duration
	}{
		"three minutes where no end is near":                                      {index.InterruptedAnnotation, coming, 0, 3 * time.Minute},
		"three minutes before an end in days":                                     {index.InterruptedAnnotation, homeless, 24 * time.Hour, 3 * time.Minute},
		"so that the pods can still leave":                                        {index.InterruptedAnnotation, coming, 2 * time.Minute, 45 * time.Second},
		"not at all where nothing is awaited":                                     {index.InterruptedAnnotation, awaited{}, 0, 0},
		"an expired node waits as long as an instance may take":                   {index.ExpiredAnnotation, coming, 0, 15 * time.Minute},
		"an expired node does not wait so long for what nobody sells":             {index.ExpiredAnnotation, homeless, 0, 3 * time.Minute},
		"an expired node leaves its pods time before its grace period ends":       {index.ExpiredAnnotation, coming, 5 * time.Minute, 225 * time.Second},
		"an expired node without grace does not wait":                             {index.ExpiredAnnotation, coming, time.Millisecond, 0},
		"a node that a person deletes does not wait":                              {"", coming, 0, 0},
		"an expired node that waits for both waits for the instance that is sold": {index.ExpiredAnnotation, awaited{true, true, false}, 0, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x": "y"}}}
			if tc.annotation != "" {
				claim.Annotations[tc.annotation] = "because"
			}
			deadline := time.Time{}
			if tc.deadline != 0 {
				deadline = begun.Add(tc.deadline)
			}
			n := &Nodes{Replacements: tc.pods}
			waited := time.Duration(0)
			for n.held(node, claim, deadline, begun.Add(waited)) && waited < time.Hour {
				waited += time.Second
			}
			if waited != tc.want {
				t.Errorf("waited %s, want %s", waited, tc.want)
			}
		})
	}
}
