package simulate

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// The snapshot of an audit can be simulated, names hashed or not: its pools launch where they do in the cluster, and the pods of Karpenter
// itself, which no NodePool may take, are no pods that are refused.
func TestASnapshotOfAnAuditCanBeSimulated(t *testing.T) {
	path := filepath.Join("..", "audit", "testdata", "karpenter.json.gz")
	s, err := snapshot.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*snapshot.Snapshot{s, s.Anonymize()} {
		file, err := PoolsOf(path, s)
		if err != nil || file == nil {
			t.Fatal(file, err)
		}
		c, err := Configure("", []File{*file})
		if err != nil {
			t.Fatal(err)
		}
		pools := 0
		for _, m := range c.Manifests {
			if strings.Contains(m.JSON, `"kind":"NodePool"`) {
				pools++
				if !strings.Contains(m.JSON, `{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-west-1a","eu-west-1b"]}`) {
					t.Errorf("it may launch elsewhere: %s", m.JSON)
				}
			}
		}
		if pools != 2 || c.Region != "eu-west-1" {
			t.Errorf("%d pools in %q", pools, c.Region)
		}
		w, err := workload.FromSnapshot(path, s)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, n := range w.Notes {
			notes = append(notes, n.What)
		}
		if all := strings.Join(notes, "\n"); !strings.Contains(all, "pods that ask to stay off the nodes of NodePools") || !strings.Contains(all, "the cluster begins without nodes") {
			t.Errorf("notes: %s", all)
		}
		if pods := w.Peak(0); pods != 10 { // of 18, 7 are of DaemonSets and 1 is Karpenter's
			t.Errorf("%d pods", pods)
		}
	}
}

func TestNodeOverlaysOfASnapshotAreSaidToBeLeftOut(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"},"spec":{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"a"},"requirements":[]}}}},
		{"apiVersion":"karpenter.k8s.aws/v1","kind":"EC2NodeClass","metadata":{"name":"a"}},
		{"apiVersion":"karpenter.sh/v1alpha1","kind":"NodeOverlay","metadata":{"name":"dear"},"spec":{"priceAdjustment":"+50%"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	file, err := PoolsOf("cluster.json", s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Configure("", []File{*file})
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprint(c.Notes); !strings.Contains(all, "left out") || !strings.Contains(all, "dear") {
		t.Errorf("notes: %s", all)
	}
}

// NodePools in a version that is not read are no reason to play those of the quick start.
func TestNodePoolsOfOtherVersionsAreNotLeftOut(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"a"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PoolsOf("cluster.json", s); err == nil || !strings.Contains(err.Error(), "cluster.json: 1 NodePool of karpenter.sh/v1beta1") || !strings.Contains(err.Error(), "-f") {
		t.Errorf("error %v", err)
	}
}
