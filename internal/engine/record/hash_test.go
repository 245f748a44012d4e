package record_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// TestHashedDecisionsAreTheSameDecisions hashes the names of every story, solves again, and compares with the hashed plan.
func TestHashedDecisionsAreTheSameDecisions(t *testing.T) {
	stories(t, func(name string, p *pack.Problem) {
		t.Run(name, func(t *testing.T) {
			d := &record.Decision{Kerf: "v1", Problem: p, Plan: pack.Solve(p)}
			before := asJSON(t, d.Problem)
			hashed := record.HashNames(d)
			if asJSON(t, d.Problem) != before {
				t.Fatal("hashing changed the original")
			}
			if again := pack.Solve(hashed.Problem); !record.SamePlan(again, hashed.Plan) {
				t.Errorf("solved to another plan:\n%s\nwant:\n%s", asJSON(t, again), asJSON(t, hashed.Plan))
			}
			if hashed.Plan.Price != d.Plan.Price {
				t.Errorf("price %d, want %d", hashed.Plan.Price, d.Plan.Price)
			}
			text := asJSON(t, hashed.Problem)
			for _, pod := range p.Pending {
				if strings.Contains(text, `"`+pod.Name+`"`) {
					t.Errorf("pod name %s is still there", pod.Name)
				}
			}
			var file bytes.Buffer
			if err := record.Write(&file, hashed); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestNamesAreHashedWhereverTheyStand(t *testing.T) {
	class := &cluster.Class{Namespace: "shop", Labels: map[string]string{"statefulset.kubernetes.io/pod-name": "db-0"}, Unplaceable: `persistentvolumeclaim "data-db-0" does not exist; create it`}
	class.Selector = scenarioTerms("kubernetes.io/hostname", "ip-10-0-0-1")
	class.Shared = []cluster.SharedVolume{{Driver: "efs", Volume: "pv-secret"}}
	class.AntiAffinity = []cluster.PodAffinity{{Key: "zone", Namespaces: []string{"shop", "bank"}}}
	d := &record.Decision{
		Problem: &pack.Problem{
			Pending: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "shop", Name: "db-0", UID: "u-1"}, Class: class}},
			Nodes: []*cluster.Node{{Name: "ip-10-0-0-1", Hostname: "ip-10-0-0-1", Claim: "default-x", ProviderID: "aws:///a/i-1", Labels: map[string]string{"kubernetes.io/hostname": "ip-10-0-0-1"},
				Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "bank", Name: "till-1", UID: "u-2"}, Class: class, Node: "ip-10-0-0-1"}}}},
			Daemons: []cluster.Daemon{{Name: "shop/logs", Class: &cluster.Class{Namespace: "shop"}}},
		},
		Plan: &plan.Plan{
			Placements: []plan.Placement{{Node: "ip-10-0-0-1", Pods: []cluster.PodRef{{Namespace: "shop", Name: "db-0", UID: "u-1"}}}},
			Unplaced: []plan.Unplaced{{ClassID: class.Hash(), Pods: []cluster.PodRef{{Namespace: "shop", Name: "db-0", UID: "u-1"}}, Reasons: []plan.Reason{
				{Code: plan.NodesFull, Nearest: "ip-10-0-0-1"}, {Code: plan.Unplaceable, Detail: class.Unplaceable},
				{Code: plan.LabelMismatch, Key: "kubernetes.io/hostname", Want: "kubernetes.io/hostname In ip-10-0-0-1"}}}},
		},
		Claims: []record.Claim{}, Dropped: []string{"resources: ip-10-0-0-1: too much"}, Disruption: &disrupt.Decision{Kept: []disrupt.Kept{{Node: "ip-10-0-0-1"}}},
	}
	out := record.HashNames(d)
	text := asJSON(t, out)
	for _, name := range []string{"shop", "bank", "db-0", "till", "ip-10", "default-x", "i-1", "u-1", "u-2", "logs", "secret", class.Hash()} {
		if strings.Contains(text, name) {
			t.Errorf("%s is still there: %s", name, text)
		}
	}
	if got, want := out.Plan.Placements[0].Node, out.Problem.Nodes[0].Name; got != want || out.Problem.Pending[0].Class.Selector[0].Values[0] != want {
		t.Errorf("node is %s here and %s there", got, want)
	}
	if got, want := out.Plan.Unplaced[0].Reasons[1].Detail, out.Problem.Pending[0].Class.Unplaceable; got != want || !strings.Contains(got, "does not exist") {
		t.Errorf("reason %q, class %q", got, want)
	}
	if asJSON(t, out.Problem.Pending[0].PodRef) != asJSON(t, out.Plan.Unplaced[0].Pods[0]) {
		t.Error("the pod has two names")
	}
}
