package decisions_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// TestADecisionSaysWhatBecameOfIt: a launch that was refused does not look like one that succeeded.
func TestADecisionSaysWhatBecameOfIt(t *testing.T) {
	const short = `launching NodeClaim "default-1": creating a fleet: VcpuLimitExceeded for 3 pools (m5.large in us-east-1a, …): You have requested more vCPU capacity than your current vCPU limit of 32 allows`
	type event struct{ reason, message string }
	launched, gone := event{"Launched", "launched spot m5.large in us-east-1a for $0.0400/h"}, event{"Finalized", "Finalized karpenter.sh/termination"}
	for name, tt := range map[string]struct {
		heard [2][]event // of the two NodeClaims
		want  *decisions.Outcome
		text  string
	}{
		"nothing is known yet":        {[2][]event{}, &decisions.Outcome{Asked: 2}, "2 asked for now"},
		"one is there":                {[2][]event{{launched}}, &decisions.Outcome{Asked: 1, Launched: 1}, "1 launched, 1 asked for now"},
		"a condition is no launch":    {[2][]event{{{"Launched", "Status condition transitioned, Type: Launched, Status: Unknown -> False"}}}, &decisions.Outcome{Asked: 2}, "2 asked for now"},
		"one is refused":              {[2][]event{{launched}, {{"InsufficientCapacityError", short}, gone}}, &decisions.Outcome{Launched: 1, Refused: 1, Why: "VcpuLimitExceeded"}, "1 launched, 1 refused: VcpuLimitExceeded"},
		"one is refused without code": {[2][]event{{launched}, {{"InsufficientCapacityError", `launching NodeClaim "x": creating a fleet: EC2 launched fewer instances than it was asked for; more`}}}, &decisions.Outcome{Launched: 1, Refused: 1, Why: "EC2 launched fewer instances than it was asked for"}, "1 launched, 1 refused: EC2 launched fewer instances than it was asked for"},
		"one has ended":               {[2][]event{{launched}, {launched, gone}}, &decisions.Outcome{Launched: 1, Ended: 1}, "1 launched, 1 ended since"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decisions.NewRing(1, 1<<30, slog.New(slog.DiscardHandler))
			d := decision(1, scenario.GenerateTypes(50, 1), 10)
			d.Claims = nil
			for i, events := range tt.heard {
				claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("default-", i)}}
				d.Claims = append(d.Claims, record.Claim{Name: claim.Name})
				for _, e := range events {
					r.Heard(claim, e.reason, e.message)
				}
			}
			r.Heard(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "default-0"}}, gone.reason, gone.message) // of a node, not of its claim
			r.Add(d)
			s := r.List()[0]
			if diff := cmp.Diff(tt.want, s.Outcome); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(s.Text(), "/h ("+tt.text+")") {
				t.Errorf("%q does not say %q", s.Text(), tt.text)
			}
		})
	}
}
