package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// outsider is whom a statement of a trust policy, a queue's or a key's lets in though nothing of this set-up needs it.
type outsider struct {
	who string
	st  iampolicy.Statement
}

// service tells whether none but a service is let in.
func (o *outsider) service() bool { return strings.HasPrefix(o.who, "the service ") }

// Outsiders goes through the statements of a document that belongs to a resource of an account. services are those that
// may be let in; another is no outsider either where conditions tie it to the account.
func Outsiders(d *iampolicy.Document, account string, services ...string) []outsider {
	var out []outsider
	if d == nil {
		return nil
	}
	for _, st := range d.Statements {
		if st.Effect != iampolicy.Allow {
			continue
		}
		if who := Outside(st, account, services); who != "" {
			out = append(out, outsider{who, st})
		}
	}
	return out
}

// Outside is whom a statement lets in from outside of the account, besides the services; empty for nobody.
func Outside(st iampolicy.Statement, account string, services []string) string {
	switch p := st.Principal; {
	case st.NotPrincipal != nil && !tied(st, account):
		return "everybody but some"
	case p == nil:
		return ""
	case (p.Any || slices.Contains(p.AWS, "*")) && !tied(st, account):
		return "everybody"
	default:
		for _, a := range p.AWS {
			if a != "*" && accountOf(a) != account && strings.Trim(accountOf(a), "0123456789") == "" && !tied(st, account) {
				return "account " + accountOf(a)
			}
		}
		for _, s := range p.Service {
			if !slices.Contains(services, s) && !tied(st, account) {
				return "the service " + s + ", for whomever it acts"
			}
		}
		for _, f := range p.Federated {
			if who := federated(st, f); who != "" {
				return who
			}
		}
	}
	return ""
}

// accountOf is the account of a principal: an ARN's, or the principal itself.
func accountOf(principal string) string {
	if parts := strings.SplitN(principal, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return principal
}

// tied tells whether conditions keep a statement to callers, or to callers' resources, of the account or its organization.
func tied(st iampolicy.Statement, account string) bool {
	return slices.ContainsFunc(st.Conditions, func(c iampolicy.Condition) bool {
		op := strings.ToLower(c.Operator)
		equals := op == "stringequals" || op == "stringlike" || op == "stringequalsignorecase" || op == "arnequals" || op == "arnlike"
		if !equals || len(c.Values) == 0 {
			return false
		}
		all := func(is func(v string) bool) bool {
			return !slices.ContainsFunc(c.Values, func(v string) bool { return !is(v) })
		}
		key := strings.ToLower(c.Key)
		if strings.HasPrefix(key, "kms:encryptioncontext:") {
			// What a key is used for, as the log groups of the account. A service says that truly; others say what they like.
			p := st.Principal
			onlyServices := p != nil && !p.Any && len(p.AWS)+len(p.Federated)+len(p.CanonicalUser) == 0
			return onlyServices && all(func(v string) bool { return strings.HasPrefix(v, "arn:") && accountOf(v) == account })
		}
		switch key {
		case "aws:sourceaccount", "aws:principalaccount", "kms:calleraccount":
			return all(func(v string) bool { return v == account })
		case "aws:sourcearn", "aws:principalarn":
			return all(func(v string) bool { return accountOf(v) == account })
		case "aws:principalorgid", "aws:sourceorgid":
			return all(func(v string) bool { return v != "" && !strings.ContainsAny(v, "*?") })
		}
		return false
	})
}

// federated tells whom a statement on an identity provider of a cluster lets in beside named service accounts. Other
// providers are their owner's.
func federated(st iampolicy.Statement, provider string) string {
	if !strings.Contains(provider, ":oidc-provider/") {
		return ""
	}
	for _, c := range st.Conditions {
		if !strings.HasSuffix(strings.ToLower(c.Key), ":sub") {
			continue
		}
		op := strings.ToLower(c.Operator)
		if op == "stringequals" {
			return "" // a * stands for itself there
		}
		if op == "stringlike" && !slices.ContainsFunc(c.Values, openSubject) {
			return ""
		}
	}
	return "every service account of the cluster"
}

// openSubject tells whether a pattern of an identity provider's subjects leaves the namespace or the account open.
func openSubject(pattern string) bool {
	parts := strings.Split(pattern, ":")
	if len(parts) != 4 {
		return true
	}
	return strings.Trim(parts[2], "*?") == "" || strings.Trim(parts[3], "*?") == ""
}

// report tells of each outsider, unless the statement is reported already. doing is what they may do, why what comes of it.
func (c *Comparison) reportOutsiders(base Finding, found []outsider, doing, why, fix string) {
	for _, o := range found {
		known := slices.ContainsFunc(c.Report.Findings, func(f Finding) bool {
			return f.Area == base.Area && f.Thing == base.Thing && f.Severity == TooWide && f.Sid == o.st.Sid && f.Key != "aws:SecureTransport"
		})
		if known {
			continue
		}
		f := base
		f.Severity, f.Sid, f.Why, f.Fix = TooWide, o.st.Sid, why, fix
		if base.Area == AreaEncryption && o.service() {
			f.Severity = Advice // AWS's own guides have such statements, for alarms and topics; they say nothing of who is behind
			f.Fix = "add a condition on aws:SourceAccount, if the service tells it"
		}
		f.What = fmt.Sprintf("it lets %s %s (%s)", o.who, doing, List(o.st.Actions))
		if f.Action == "" && len(o.st.Actions) > 0 {
			f.Action = o.st.Actions[0]
		}
		c.add(f)
	}
}
