package rehearsal

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	all   = flag.Bool("all", false, "rehearse the migration, some ten minutes for each way")
	still = flag.Duration("rest", 3*time.Minute, "how long nothing may happen after each swap; make rehearse-migration takes 15 minutes")
)

// TestMigration moves a cluster to Kerf and back. With Kerf's own defaults the reservation is the same, though Kerf may find
// savings that upstream does not: the fleet is packed so that there are none.
func TestMigration(t *testing.T) {
	if !*all {
		t.Skip("takes some twenty minutes; make rehearse-migration plays it, and make release-check")
	}
	binaries, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, compat      string
		crash, oneRelease bool
	}{
		{"rolled out with the behaviour of Karpenter", "karpenter", false, false},
		{"killed and started with the defaults of Kerf", "kerf", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			findings, err := Run(t.Context(), Options{Compat: tc.compat, Crash: tc.crash, OneRelease: tc.oneRelease, Rest: *still, Binaries: binaries, Folder: t.TempDir(), Say: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				t.Error(f)
			}
		})
	}
}

func TestTheJudgeFindsWhatWasNotUnderWay(t *testing.T) {
	u := &underway{drifted: map[string]bool{"d": true}, leaving: map[string]bool{"l": true}, replacements: map[string]bool{"r": true}}
	finished := []event{
		{kind: nodeDisrupted, claim: "d"}, {kind: claimCreated, claim: "new"}, {kind: podRemoved, claim: "d", pod: "p"},
		{kind: podRemoved, claim: "l", pod: "q"}, {kind: claimRemoved, claim: "l"}, {kind: claimRemoved, claim: "d"},
	}
	for name, tc := range map[string]struct {
		more   []event
		rest   int
		strict bool
		want   string // part of the only finding; empty: none
	}{
		"what was under way is finished": {nil, 6, true, ""},
		"a replacement is given up":      {[]event{{kind: claimRemoved, claim: "r"}}, 7, true, ""},
		"another node is removed":        {[]event{{kind: claimRemoved, claim: "x"}}, 7, true, "NodeClaim x of pool  () was removed"},
		"another node is tainted":        {[]event{{kind: nodeDisrupted, claim: "x"}}, 7, true, "x of pool  was disrupted"},
		"another node drifts":            {[]event{{kind: claimDrifted, claim: "x", detail: "AMIDrift"}}, 7, true, "drifted after the swap: AMIDrift"},
		"a pod of another node is moved": {[]event{{kind: podRemoved, claim: "x", pod: "z"}}, 7, true, "pod z was removed"},
		"a pod is restarted":             {[]event{{kind: podRestarted, claim: "x", pod: "z"}}, 7, true, "pod z was restarted"},
		"too many nodes are launched":    {[]event{{kind: claimCreated}, {kind: claimCreated}}, 8, true, "3 nodes were launched for 2"},
		"a node too many is removed":     {[]event{{kind: claimCreated, claim: "n"}, {kind: claimCreated, claim: "m"}, {kind: nodeDisrupted, claim: "n"}, {kind: claimRemoved, claim: "n"}}, 10, false, ""},
		"and pods are moved from it":     {[]event{{kind: claimCreated, claim: "n"}, {kind: podRemoved, claim: "n", pod: "z"}}, 8, false, "pod z was removed"},
		"something happens at rest":      {nil, 5, true, `at rest: NodeClaim "d"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := u.judge(append(slices.Clone(finished), tc.more...), tc.rest, tc.strict)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("found %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("found %q, want one with %q", got, tc.want)
			}
		})
	}
}
