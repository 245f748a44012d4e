package v1

import "slices"

// SecurityGroupIDs are the IDs of the security groups in the class's status, sorted, each once.
func (c *EC2NodeClass) SecurityGroupIDs() []string {
	var out []string
	for _, g := range c.Status.SecurityGroups {
		out = append(out, g.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
