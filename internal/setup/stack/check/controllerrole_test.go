package check_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
)

// A trust policy on a cluster's identity provider must let the controller's own service account in.
func TestIRSATrustThatCanNotWorkIsMissing(t *testing.T) {
	const issuer = "oidc.eks.eu-west-1.amazonaws.com/id/1"
	equals := func(key string, values ...string) iampolicy.Condition {
		return iampolicy.Condition{Operator: "StringEquals", Key: key, Values: values}
	}
	aud, sub := equals(issuer+":aud", "sts.amazonaws.com"), equals(issuer+":sub", "system:serviceaccount:kube-system:karpenter")
	for name, c := range map[string]struct {
		conditions []iampolicy.Condition
		want       []string // of the finding; nil: none
	}{
		"as Kerf writes it":                   {[]iampolicy.Condition{aud, sub}, nil},
		"with something of the user":          {[]iampolicy.Condition{aud, sub, equals("aws:SourceVpc", "vpc-1")}, nil},
		"by a pattern":                        {[]iampolicy.Condition{{Operator: "StringLike", Key: issuer + ":sub", Values: []string{"system:serviceaccount:kube-system:karp*"}}}, nil},
		"another namespace, and none is said": {[]iampolicy.Condition{aud, equals(issuer+":sub", "system:serviceaccount:karpenter:karpenter")}, nil},
		"another service account":             {[]iampolicy.Condition{aud, equals(issuer+":sub", "system:serviceaccount:kube-system:kerf")}, []string{":sub", "--service-account"}},
		"another audience":                    {[]iampolicy.Condition{equals(issuer+":aud", "sts.cn-north-1.amazonaws.com"), sub}, []string{":aud"}},
		"another issuer's key":                {[]iampolicy.Condition{aud, equals("oidc.eks.eu-west-1.amazonaws.com/id/2:sub", sub.Values...)}, []string{"/id/2:sub"}},
	} {
		t.Run(name, func(t *testing.T) {
			irsa := func(o *stack.Options) { o.Controller, o.OIDCProvider = stack.IRSA, "https://"+issuer }
			r := changed(t, irsa, func(s *awssetup.Setup) { s.Roles[1].Trust.Statements[0].Conditions = c.conditions }, nil)
			if c.want == nil && r.Wrong() || c.want != nil && !checktest.Names(r, append(c.want, "missing", "sts:AssumeRoleWithWebIdentity")) {
				t.Errorf("want %q, got\n%s", c.want, checktest.Text(t, r))
			}
		})
	}
}
