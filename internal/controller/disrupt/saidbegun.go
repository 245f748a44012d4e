package disrupt

import "strings"

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

// comingNode is a replacement as a log line has it.
type comingNode struct {
	NodeClaim objectName `json:"NodeClaim"`
}

// said is what the line on the begin of a command says, under the keys that log pipelines know.
func (f *execution) said() []any {
	going, coming, pods := []goingNode{}, []comingNode{}, 0
	for i := range f.Placements {
		pods += len(f.Placements[i].Pods)
	}
	for _, g := range f.Nodes {
		going = append(going, goingNode{Node: objectName{g.Node}, NodeClaim: objectName{g.Claim}, CapacityType: g.CapacityType, InstanceType: g.InstanceType})
	}
	for i := range f.NewNodes {
		pods += len(f.NewNodes[i].Pods)
	}
	for _, name := range f.claims {
		coming = append(coming, comingNode{NodeClaim: objectName{name}})
	}
	return []any{
		"command-id", f.id, "reason", strings.ToLower(string(f.Cause)), "decision", f.decision(), "disrupted-node-count", len(going),
		"replacement-node-count", len(coming), "pod-count", pods, "disrupted-nodes", going, "replacement-nodes", coming, "what", f.Command.String(), "why", f.Why,
	}
}
