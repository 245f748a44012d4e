package disrupt

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/cluster"
)

func TestANodeIsEmptyWhenNothingOnItNeedsAnotherPlace(t *testing.T) {
	for sentence, tt := range map[string]struct {
		node cluster.Node
		want bool
	}{
		"nothing at all":               {cluster.Node{}, true},
		"a pod":                        {cluster.Node{Pods: []*cluster.Pod{{}}}, false},
		"daemons and static pods":      {cluster.Node{Pods: []*cluster.Pod{{Daemon: true}, {Mirror: true}}}, true},
		"a pod that is ending":         {cluster.Node{Pods: []*cluster.Pod{{Terminating: true}}}, true},
		"only room for virtual pods":   {cluster.Node{Virtual: 1}, false},
		"daemons and room for a spare": {cluster.Node{Virtual: 1, Pods: []*cluster.Pod{{Daemon: true}}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := empty(&tt.node); got != tt.want {
				t.Errorf("empty is %t, want %t", got, tt.want)
			}
		})
	}
}
