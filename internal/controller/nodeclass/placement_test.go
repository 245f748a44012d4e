package nodeclass

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestTheGroupOfAClassIsForgottenOnlyWhenItIsGone(t *testing.T) {
	h := newTestCluster(t, newClass())
	group := &awsv1.PlacementGroup{ID: "pg-1", Name: "g", Strategy: "partition", PartitionCount: 3}
	for _, step := range []struct {
		what    string
		finding cloud.Finding
		found   *awsv1.PlacementGroup
		want    string
		ready   bool
	}{
		{"found", cloud.Finding{OK: true}, group, "pg-1", true},
		{"not known", cloud.Finding{Unknown: true, Reason: awsv1.ReasonPlacementGroupResolutionFailed, Message: "EC2 is silent"}, nil, "pg-1", true},
		{"gone", cloud.Finding{Reason: awsv1.ReasonPlacementGroupNotFound, Message: "there is none"}, nil, "", false},
		{"made again", cloud.Finding{OK: true}, &awsv1.PlacementGroup{ID: "pg-2", Name: "g", Strategy: "cluster"}, "pg-2", true},
	} {
		step.finding.Condition = awsv1.ConditionTypePlacementGroupReady
		h.cloud.resolution = good(step.finding)
		h.cloud.resolution.PlacementGroup = step.found
		if _, err := h.look(); err != nil {
			t.Fatal(err)
		}
		class, got := h.class(), ""
		if g := class.Status.PlacementGroup; g != nil {
			got = g.ID
		}
		if got != step.want || class.StatusConditions(true).IsTrue() != step.ready {
			t.Errorf("%s: the status has group %q, want %q; ready: %t, want %t", step.what, got, step.want, !step.ready, step.ready)
		}
	}
}
