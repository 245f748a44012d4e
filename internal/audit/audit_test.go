package audit_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

func run(t testing.TB, s *snapshot.Snapshot, o audit.Options) *audit.Report {
	t.Helper()
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	o.Facts = facts
	r, err := audit.Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScratch(t *testing.T) {
	for _, s := range []*builder{withAutoscaler(), withKarpenter()} {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", " ")
		_ = e.Encode(run(t, s.Snapshot, audit.Options{}))
	}
}
