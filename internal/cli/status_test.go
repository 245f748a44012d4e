package cli

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/status"
)

// TestWhatFollowsFromAProblemIsAFindingToo: its rule did not hold either.
func TestWhatFollowsFromAProblemIsAFindingToo(t *testing.T) {
	got := statusFindings(&status.Report{Problems: []overview.Problem{{
		Code: overview.NotTrue, Level: overview.Bad, Title: "EC2NodeClass a: AMIsReady is not true", Kind: "EC2NodeClass", Object: "a",
		Follows: []overview.Problem{{Code: overview.NoNodeComing, Level: overview.Bad, Title: "3 pods wait", Kind: "Pod", Object: "b/c"}},
	}}})
	if len(got.found) != 2 || got.found[1].rule != overview.NoNodeComing || got.found[1].object != "Pod b/c" {
		t.Errorf("%+v", got.found)
	}
}
