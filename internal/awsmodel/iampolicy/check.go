package iampolicy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// CheckIdentity tells what keeps a document from being a policy of a user or role: those name resources and no
// principals, and their Sids are letters and digits.
func (d *Document) CheckIdentity() error {
	return d.each(func(s *Statement) error {
		switch {
		case s.Principal != nil || s.NotPrincipal != nil:
			return errors.New("Principal has no place in a policy that is attached to a user or role")
		case s.Resources == nil && s.NotResources == nil:
			return errors.New(`Resource is missing, as is NotResource: want one of them, "*" for all`)
		case !identitySid.MatchString(s.Sid):
			return errors.New("Sid may have letters and digits only")
		}
		for _, r := range append(append([]string{}, s.Resources...), s.NotResources...) {
			if err := checkResource(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckTrust tells what keeps a document from being the trust policy of a role: those name principals and no resources,
// and allow or deny actions of STS only.
func (d *Document) CheckTrust() error {
	return d.each(func(s *Statement) error {
		switch {
		case s.Resources != nil || s.NotResources != nil:
			return errors.New("Resource has no place in a trust policy: the role is the resource")
		case s.NotActions != nil:
			return errors.New("NotAction has no place in a trust policy")
		}
		for _, a := range s.Actions {
			if a != "*" && !strings.HasPrefix(strings.ToLower(a), "sts:") {
				return fmt.Errorf("Action %q is not of STS, such as sts:AssumeRole", a)
			}
		}
		return s.checkPrincipals()
	})
}

// CheckResource tells what keeps a document from being the policy of a resource such as a queue or key: those name
// principals and resources.
func (d *Document) CheckResource() error {
	return d.each(func(s *Statement) error {
		if s.Resources == nil && s.NotResources == nil {
			return errors.New("Resource is missing, as is NotResource: want one of them")
		}
		return s.checkPrincipals()
	})
}

var identitySid = regexp.MustCompile(`^[A-Za-z0-9]*$`)

func (d *Document) each(check func(*Statement) error) error {
	for n := range d.Statements {
		if err := check(&d.Statements[n]); err != nil {
			return fmt.Errorf("%s: %w", place(d.Statements[n].Sid, n), err)
		}
	}
	return nil
}

// checkResource wants an ARN, of which wildcards may hide all but the beginning.
func checkResource(r string) error {
	if r == "*" || strings.HasPrefix(r, "${") {
		return nil
	}
	var parts [arnParts]string
	if !cutARN(r, &parts) || parts[0] != "arn" {
		return fmt.Errorf(`Resource %q is neither "*" nor an ARN with six parts between colons`, r)
	}
	if strings.ContainsAny(parts[1], "*?") && parts[1] != "*" {
		return fmt.Errorf("Resource %q: the partition %q has a wildcard in it", r, parts[1])
	}
	if parts[2] == "" {
		return fmt.Errorf("Resource %q: the service is empty", r)
	}
	return nil
}

var accountID = regexp.MustCompile(`^\d{12}$`)

func (s *Statement) checkPrincipals() error {
	p := s.Principal
	if p == nil {
		p = s.NotPrincipal
	}
	if p == nil {
		return errors.New("Principal is missing")
	}
	if s.NotPrincipal != nil && p.Any {
		return errors.New(`NotPrincipal "*" leaves nobody`)
	}
	for _, a := range p.AWS {
		if err := checkAWSPrincipal(a); err != nil {
			return err
		}
	}
	for _, v := range p.Service {
		if strings.ContainsAny(v, "*?") || !strings.Contains(v, ".") {
			return fmt.Errorf("Principal.Service %q is not the name of a service such as events.amazonaws.com", v)
		}
	}
	for _, f := range p.Federated {
		if strings.ContainsAny(f, "*?") {
			return fmt.Errorf("Principal.Federated %q has a wildcard in it", f)
		}
	}
	return nil
}

// checkAWSPrincipal takes *, accounts, ARNs, and the ids that IAM puts in the place of roles that are gone.
func checkAWSPrincipal(a string) error {
	if a == "*" || accountID.MatchString(a) || strings.HasPrefix(a, "AROA") || strings.HasPrefix(a, "AIDA") {
		return nil
	}
	var parts [arnParts]string
	if !cutARN(a, &parts) || parts[0] != "arn" || parts[2] != "iam" && parts[2] != "sts" || !accountID.MatchString(parts[4]) {
		return fmt.Errorf("Principal.AWS %q is no account, user, role or session", a)
	}
	if strings.ContainsAny(a, "*?") {
		return fmt.Errorf(`Principal.AWS %q has a wildcard in it; only "*" alone may stand there`, a)
	}
	return nil
}
