package world

import "strings"

const serviceRolePath = "/aws-service-role/"

// serviceRoles are the names of the roles that services have in every account that uses them. Those with a true value
// may be made more than once, with a suffix.
//
// Source: user guides of the services, checked 2026-11.
var serviceRoles = map[string]struct {
	name   string
	suffix bool
}{
	"spot.amazonaws.com":          {"AWSServiceRoleForEC2Spot", false},
	"spotfleet.amazonaws.com":     {"AWSServiceRoleForEC2SpotFleet", false},
	"ec2fleet.amazonaws.com":      {"AWSServiceRoleForEC2Fleet", false},
	"autoscaling.amazonaws.com":   {"AWSServiceRoleForAutoScaling", true},
	"eks.amazonaws.com":           {"AWSServiceRoleForAmazonEKS", false},
	"eks-nodegroup.amazonaws.com": {"AWSServiceRoleForAmazonEKSNodegroup", false},
	"events.amazonaws.com":        {"AWSServiceRoleForCloudWatchEvents", false},
}

// CreateServiceLinkedRole makes the role by which a service, such as spot.amazonaws.com, acts in the account.
func (w *World) CreateServiceLinkedRole(service, suffix, description string) (Role, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.createServiceLinkedRoleLocked(service, suffix, description)
	if err != nil {
		return Role{}, err
	}
	return r.clone(), nil
}

func (w *World) createServiceLinkedRoleLocked(service, suffix, description string) (*roleState, error) {
	known, ok := serviceRoles[service]
	switch {
	case !ok:
		return nil, Errorf("InvalidInput", "Invalid service principal %s: it has no service-linked role.", service)
	case suffix != "" && !known.suffix:
		return nil, Errorf("InvalidInput", "Custom suffix is not allowed for %s", service)
	}
	name := known.name
	if suffix != "" {
		name += "_" + suffix
	}
	if w.iam.roles[name] != nil {
		return nil, Errorf("InvalidInput", "Service role name %s has been taken in this account, please try a different suffix.", name)
	}
	r := w.furnishRoleLocked(name, serviceRolePath+service+"/", `{"Service":"`+service+`"}`)
	r.service, r.Description = service, description
	return r, nil
}

// DeleteServiceLinkedRole removes such a role.
func (w *World) DeleteServiceLinkedRole(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(name)
	if err != nil {
		return err
	}
	if r.service == "" || !strings.HasPrefix(r.Path, serviceRolePath) {
		return Errorf("InvalidInput", "The role %s is not linked to a service.", name)
	}
	delete(w.iam.roles, name)
	w.iamChangedLocked()
	return nil
}
