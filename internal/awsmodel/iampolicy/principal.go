package iampolicy

import "strings"

// directness is how a resource policy names a caller.
type directness int

const (
	notNamed  directness = iota
	byAccount            // only through the account, which leaves it to the caller's own policies
	byRole               // the role of the session that calls, or everybody
	byItself             // the very user, session, service or provider
)

// names tells how the principals of a statement name a caller.
//
// Source: IAM User Guide, "AWS JSON policy elements: Principal", checked 2026-11.
func (p *Principals) names(c Caller) directness {
	if p.Any {
		return byRole
	}
	best := notNamed
	for _, a := range p.AWS {
		best = max(best, c.namedBy(a))
	}
	if c.Service != "" && contains(p.Service, c.Service) || c.Federated != "" && contains(p.Federated, c.Federated) {
		best = byItself
	}
	return best
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == "*" || e == s {
			return true
		}
	}
	return false
}

func (c Caller) namedBy(principal string) directness {
	switch {
	case principal == "*":
		return byRole
	case c.ARN == "":
		return notNamed
	case principal == c.ARN:
		if isRole(c.ARN) {
			return byRole
		}
		return byItself
	case c.Account != "" && (principal == c.Account || accountRoot(principal) == c.Account):
		return byAccount
	}
	if role, ok := cutRole(principal); ok && c.isSessionOf(role) {
		return byRole
	}
	return notNamed
}

// accountRoot is the account that arn:aws:iam::123456789012:root stands for, or empty.
func accountRoot(principal string) string {
	var parts [arnParts]string
	if !cutARN(principal, &parts) || parts[0] != "arn" || parts[2] != "iam" || parts[5] != "root" {
		return ""
	}
	return parts[4]
}

func isRole(arn string) bool {
	_, ok := cutRole(arn)
	return ok
}

type roleName struct{ partition, account, name string }

// cutRole reads arn:aws:iam::123456789012:role/path/name.
func cutRole(arn string) (roleName, bool) {
	var parts [arnParts]string
	if !cutARN(arn, &parts) || parts[2] != "iam" {
		return roleName{}, false
	}
	path, ok := strings.CutPrefix(parts[5], "role/")
	return roleName{parts[1], parts[4], path[strings.LastIndex(path, "/")+1:]}, ok
}

// isSessionOf tells whether the caller is a session of a role. Its ARN has the role's name without the path.
func (c Caller) isSessionOf(r roleName) bool {
	var parts [arnParts]string
	if !cutARN(c.ARN, &parts) || parts[1] != r.partition || parts[2] != "sts" || parts[4] != r.account {
		return false
	}
	rest, ok := strings.CutPrefix(parts[5], "assumed-role/")
	name, _, hasSession := strings.Cut(rest, "/")
	return ok && hasSession && name == r.name
}

// RoleOf is the ARN of the role that a session (arn:aws:sts::123456789012:assumed-role/Name/session) belongs to, as if
// the role had no path; empty if the ARN is not of a session.
func RoleOf(session string) string {
	var parts [arnParts]string
	if !cutARN(session, &parts) || parts[2] != "sts" {
		return ""
	}
	rest, ok := strings.CutPrefix(parts[5], "assumed-role/")
	name, _, hasSession := strings.Cut(rest, "/")
	if !ok || !hasSession {
		return ""
	}
	return "arn:" + parts[1] + ":iam::" + parts[4] + ":role/" + name
}
