package audit_test

import (
	"fmt"
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
	for i, s := range []*builder{withAutoscaler(), withKarpenter()} {
		r := run(t, s.Snapshot, audit.Options{})
		_ = r.Write(os.Stdout, false)
		f, _ := os.Create(fmt.Sprintf("/tmp/kerf/audit-page-%d.html", i))
		_ = r.WritePage(f)
		f.Close()
	}
}

// BenchmarkThousandNodes is the time that an audit of 1,000 nodes and 20,000 pods takes, from a snapshot in memory.
func BenchmarkThousandNodes(b *testing.B) {
	s := large(1000)
	b.Logf("%d nodes, %d pods", len(s.Nodes), len(s.Pods))
	for b.Loop() {
		r := run(b, s.Snapshot, audit.Options{})
		b.Logf("bill %.2f, floor %.2f, plan %.2f, %d unplaced", r.Bill.PerHour, r.Floor.PerHour, r.Floor.Plan, r.Floor.WithoutPlace)
		for _, p := range append(r.Difference, r.Asked...) {
			b.Logf("  %-30s %.3f (%d)", p.Code, p.PerHour, p.Count)
		}
		b.Logf("moves %d, save %.2f; not looked at %d", len(r.First.Moves)+r.First.More, r.First.PerHour, r.First.NotLookedAt)
	}
}
