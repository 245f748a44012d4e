package invariant

// seeCall judges one call of the controller.
func (j *Judge) seeCall(c *Call) {
	if c.Resource == "leases" || c.Resource == "events" {
		return
	}
	j.figures.Calls++
	call := *c
	j.last = &call
	if !c.took() {
		return
	}
	switch {
	case c.API == "aws" && c.Verb == "TerminateInstances":
		for _, id := range c.Instances {
			j.ended(&call, id)
		}
	case c.API == "aws":
	case c.Resource == "pods" && c.Verb == "evict":
		j.evicted(&call)
	case c.Resource == "pods" && c.Verb == "delete":
		j.deleted(&call)
	case c.Resource == "nodeclaims" && c.Verb == "delete":
		j.claimDeleted(&call)
	}
}
