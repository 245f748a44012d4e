package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (run with -update if this is meant):\n%s", file, d)
	}
}

// broken is a set-up with several mistakes at once.
func broken(t *testing.T) *Input {
	in := healthy(t, nil)
	encrypt(in, "alias/aws/sqs")
	in.AWS.Queues[0].Retention = 14 * 24 * 3600e9
	drop(in, "sqs:ReceiveMessage")
	in.Kube.Handlers = []Handler{{Kind: "DaemonSet", Namespace: "kube-system", Name: "aws-node-termination-handler", Spot: true, Rebalance: true, Pods: 12}}
	in.Metrics.Rules[in.AWS.Rules[1].Name] = account.RuleMetrics{Matched: 3, Invocations: 3, Failed: 3}
	in.AWS.Gaps = []awssetup.Gap{{What: "access entries", Why: "arn:aws:iam::111122223333:user/night lacks eks:ListAccessEntries"}}
	in.AWS.AccessEntries = nil
	return in
}

// proof is a healthy set-up whose delivery was asked to be proven.
func proof(t *testing.T) *Input {
	in := healthy(t, nil)
	in.Proof = &account.Proof{Sent: 1, Delivered: true, Witness: account.SeenInQueue, Took: 500 * time.Millisecond}
	return in
}

func TestReportsReadWell(t *testing.T) {
	for name, test := range map[string]struct {
		in      *Input
		verbose bool
	}{
		"proven.txt":  {proof(t), false},
		"healthy.txt": {healthy(t, nil), false}, "healthy-verbose.txt": {healthy(t, nil), true}, "broken.txt": {broken(t), false},
	} {
		var b bytes.Buffer
		if err := Examine(test.in).Write(&b, test.verbose); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestReportAsJSON(t *testing.T) {
	b, err := json.MarshalIndent(Examine(broken(t)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "broken.json", append(b, '\n'))
}
