package world

import "slices"

// DeleteSecurityGroup removes a security group that no instance uses. One that is not there is no error.
func (w *World) DeleteSecurityGroup(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range w.ec2.instances {
		if slices.Contains(i.SecurityGroupIDs, id) {
			return Errorf("DependencyViolation", "resource %s has a dependent object", id)
		}
	}
	delete(w.ec2.net.groups, id)
	return nil
}

// TagByStack adds, changes and removes tags of an EC2 resource, those that CloudFormation itself sets included.
func (w *World) TagByStack(id string, set map[string]string, unset []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.resourceLocked(id)
	if !ok {
		return notFound(id)
	}
	w.setTagsLocked(r, set, unset)
	return nil
}
