package plan_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func TestEveryReasonIsWorded(t *testing.T) {
	cases := map[plan.Code]struct {
		reason plan.Reason
		want   string
	}{
		plan.PoolNotReady:      {plan.Reason{Pool: "p", Detail: "no subnet matches"}, "pool p: is not ready: no subnet matches"},
		plan.TaintNotTolerated: {plan.Reason{Pool: "p", Key: "team", Value: "blue:NoSchedule"}, "pool p: the pod does not tolerate its taint team=blue:NoSchedule"},
		plan.LabelMismatch:     {plan.Reason{Pool: "p", Key: "team", Want: "team In red", Have: "team In blue"}, "pool p: the pod wants team In red, its nodes have team In blue"},
		plan.LabelUnknown:      {plan.Reason{Pool: "p", Key: "teem", Want: "teem In red", Nearest: "team"}, "pool p: the pod wants teem In red, but its nodes do not have the label teem; did you mean team?"},
		plan.NoTypeMatches:     {plan.Reason{Pool: "p", Key: "arch", Want: "arch In amd46", Nearest: "amd64", Types: 7}, "pool p: none of 7 instance types has arch In amd46; did you mean amd64?"},
		plan.TooLarge: {plan.Reason{Pool: "p", Resource: "cpu", Want: "400", Have: "192", Nearest: "u.large", Types: 9},
			"pool p: asks for 400 cpu, daemons included; the largest of 9 types, u.large, has 192"},
		plan.NoOffering: {plan.Reason{Pool: "p", Types: 3, Detail: "insufficient capacity"}, "pool p: none of 3 instance types can be launched now: insufficient capacity"},
		plan.NoAddresses: {plan.Reason{Pool: "p", Want: "1", Detail: "zone a has 0 left, zone b has 0 left"},
			"pool p: its subnets have too few addresses for another node, which takes at least 1: zone a has 0 left, zone b has 0 left"},
		plan.LimitReached:      {plan.Reason{Pool: "p", Resource: "cpu", Want: "4", Have: "2"}, "pool p: its limit on cpu leaves 2, the smallest node that would do adds 4"},
		plan.HostPortTaken:     {plan.Reason{Pool: "p", Key: "9100/TCP"}, "pool p: host port 9100/TCP is taken by a daemon on every node"},
		plan.TopologyUnmet:     {plan.Reason{Pool: "p", Key: "zone", Detail: "maxSkew 1"}, "pool p: no zone is left that keeps the spread even enough: maxSkew 1"},
		plan.AntiAffinityUnmet: {plan.Reason{Pool: "p", Key: "zone", Detail: "all pods"}, "pool p: every zone holds a pod that must be kept apart: all pods"},
		plan.AffinityUnmet:     {plan.Reason{Pool: "p", Key: "zone"}, "pool p: no zone with room holds a pod that it must be with"},
		plan.MinValuesUnmet:    {plan.Reason{Pool: "p", Key: "family", Want: "3", Have: "2"}, "pool p: 3 values of family must stay possible, 2 would"},
		plan.Contradiction:     {plan.Reason{Key: "zone", Detail: "zone In a and zone In b"}, "the pod's own demands on zone exclude each other: zone In a and zone In b"},
		plan.NoPools:           {plan.Reason{}, "there is no pool that could launch a node"},
		plan.Unplaceable:       {plan.Reason{Detail: "its claim does not exist"}, "can't run on any node: its claim does not exist"},
		plan.NodesFull: {plan.Reason{Resource: "cpu", Want: "2", Have: "1", Nearest: "n1"},
			"existing nodes are full: cpu is short on the roomiest, n1, which has 1 of the 2 asked for"},
		plan.TooDear: {plan.Reason{Pool: "p", Nearest: "spot c6i.large in a", Resource: "10:00:20 UTC", Want: "$0.3800/h for spot c7gd.metal", Have: "$0.0416/h", Value: "9.1", Key: "5", Detail: "10:09:00 UTC"},
			"pool p: EC2 is short of spot c6i.large in a, next try at 10:00:20 UTC; what is left costs $0.3800/h for spot c7gd.metal, 9.1 times the usual $0.0416/h: up to 5 times are paid until 10:09:00 UTC, twice as much from then on (KERF_PRICE_GUARD)"},
		plan.ReservationPending: {plan.Reason{Pool: "p"}, "pool p: waits until it is settled who gets the reserved capacity"},
		plan.AskedAgain:         {plan.Reason{Pool: "p"}, "pool p: EC2 is asked again with one NodeClaim first"},
		plan.CheckFailed:        {plan.Reason{}, "the plan failed its check"},
	}
	for code, tc := range cases {
		t.Run(string(code), func(t *testing.T) {
			tc.reason.Code = code
			if got := tc.reason.Text(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
