package disrupt

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/controller/story"
)

// objectName is an object as a log line has it.
type objectName struct {
	Name string `json:"name"`
}

// goingNode is a node that goes as a log line has it.
type goingNode struct {
	Node         objectName `json:"Node"`
	NodeClaim    objectName `json:"NodeClaim"`
	CapacityType string     `json:"capacity-type"`
	InstanceType string     `json:"instance-type"`
}

// comingNode is a replacement as a log line has it. Its NodeClaim has no name yet.
type comingNode struct {
	NodePool      objectName `json:"NodePool"`
	CapacityType  string     `json:"capacity-type,omitempty"`
	InstanceTypes string     `json:"instance-types"`
}

// typesSaid is how many instance types of a replacement a log line names.
const typesSaid = 5

// line is what the line on the begin of a command says, under the keys that log pipelines know.
func (f *execution) line() []any {
	going, coming, pods := []goingNode{}, []comingNode{}, 0
	for i := range f.Placements {
		pods += len(f.Placements[i].Pods)
	}
	for _, g := range f.Nodes {
		going = append(going, goingNode{Node: objectName{g.Node}, NodeClaim: objectName{g.Claim}, CapacityType: g.CapacityType, InstanceType: g.InstanceType})
	}
	for i := range f.NewNodes {
		n := &f.NewNodes[i]
		pods += len(n.Pods)
		types := story.List(len(n.Types), typesSaid, func(i int) string { return n.Types[i].Name })
		capacityType := ""
		if len(n.Types) > 0 {
			capacityType = n.Types[0].CapacityType
		}
		coming = append(coming, comingNode{NodePool: objectName{n.Pool}, CapacityType: capacityType, InstanceTypes: types})
	}
	return []any{
		"command-id", f.ID, "reason", strings.ToLower(string(f.Cause)), "decision", f.decision(), "disrupted-node-count", len(going),
		"replacement-node-count", len(coming), "pod-count", pods, "disrupted-nodes", going, "replacement-nodes", coming, "what", f.Command.String(), "why", f.Why,
	}
}
