package fix

import (
	"encoding/json"
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// documents writes the changed policies as JSON, in the form of "kerf stack iam". If one policy was read by itself and
// nothing but it changes, it is written by itself, as the aws command takes it.
func (m *fixer) documents(data []byte) ([]byte, error) {
	var one struct{ Statement json.RawMessage }
	if json.Unmarshal(data, &one) == nil && one.Statement != nil && len(m.changes) == 1 && m.changes[0].part == policyPart && !m.changes[0].added {
		if m.changes[0].has("drop") {
			return nil, nil
		}
		return append(m.s.Policies[m.changes[0].index].Document.Indent(), '\n'), nil
	}
	out := struct {
		Policies map[string]*iampolicy.Document
		Roles    map[string]any `json:",omitempty"`
	}{map[string]*iampolicy.Document{}, map[string]any{}}
	for _, c := range m.changes {
		switch c.part {
		case policyPart:
			if p := m.s.Policies[c.index]; p.Document != nil {
				out.Policies[p.Name] = p.Document
			}
		case rolePart:
			r := m.s.Roles[c.index]
			out.Roles[r.Name] = struct {
				Path                     string
				AssumeRolePolicyDocument *iampolicy.Document `json:",omitempty"`
				ManagedPolicyArns        []string
			}{r.Path, r.Trust, r.ManagedPolicyARNs}
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write policies: %w", err)
	}
	return append(b, '\n'), nil
}
