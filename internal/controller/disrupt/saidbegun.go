package disrupt

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/controller/story"
)

// typesSaid is how many instance types of a replacement a log line names.
const typesSaid = 5

// line is what the line on the begin of a command says, under the keys that log pipelines know. A replacement's NodeClaim has no name yet.
func (f *execution) line() []any {
	named := func(name string) map[string]string { return map[string]string{"name": name} }
	going, coming, pods := []map[string]any{}, []map[string]any{}, 0
	for i := range f.Placements {
		pods += len(f.Placements[i].Pods)
	}
	for _, g := range f.Nodes {
		going = append(going, map[string]any{"Node": named(g.Node), "NodeClaim": named(g.Claim), "capacity-type": g.CapacityType, "instance-type": g.InstanceType})
	}
	for i := range f.NewNodes {
		n := &f.NewNodes[i]
		pods += len(n.Pods)
		types := story.List(len(n.Types), typesSaid, func(i int) string { return n.Types[i].Name })
		coming = append(coming, map[string]any{"NodePool": named(n.Pool), "capacity-type": n.Types[0].CapacityType, "instance-types": types})
	}
	return []any{
		"command-id", f.ID, "reason", strings.ToLower(string(f.Cause)), "decision", f.decision(), "disrupted-node-count", len(going),
		"replacement-node-count", len(coming), "pod-count", pods, "disrupted-nodes", going, "replacement-nodes", coming, "what", f.Command.String(), "why", f.Why,
	}
}
