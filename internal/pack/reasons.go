package pack

import "github.com/kerf-sh/kerf/internal/plan"

func (s *solver) reasons(c *class) []plan.Reason {
	if c.broken != "" {
		return []plan.Reason{{Code: plan.Unplaceable, Detail: c.broken}}
	}
	return nil
}
