package check

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

func TestOutsiders(t *testing.T) {
	const provider = `"Federated":"arn:aws:iam::123456789012:oidc-provider/oidc.example.com/id/1"`
	for name, tt := range map[string]struct{ statement, want string }{
		"everybody":                               {`"Principal":"*"`, "everybody"},
		"every user":                              {`"Principal":{"AWS":"*"}`, "everybody"},
		"everybody of the account":                {`"Principal":"*","Condition":{"StringEquals":{"aws:PrincipalAccount":"123456789012"}}`, ""},
		"everybody of another account":            {`"Principal":"*","Condition":{"StringEquals":{"kms:CallerAccount":"444455556666"}}`, "everybody"},
		"everybody of the organization":           {`"Principal":"*","Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-abc"}}`, ""},
		"everybody of any organization":           {`"Principal":"*","Condition":{"StringLike":{"aws:PrincipalOrgID":"*"}}`, "everybody"},
		"everybody who is not of an account":      {`"Principal":"*","Condition":{"StringNotEquals":{"aws:PrincipalAccount":"123456789012"}}`, "everybody"},
		"everybody but one":                       {`"NotPrincipal":{"AWS":"arn:aws:iam::123456789012:root"}`, "everybody but some"},
		"the account":                             {`"Principal":{"AWS":"arn:aws:iam::123456789012:root"}`, ""},
		"the account by its number":               {`"Principal":{"AWS":"123456789012"}`, ""},
		"a role of the account":                   {`"Principal":{"AWS":"arn:aws:iam::123456789012:role/x"}`, ""},
		"a deleted role":                          {`"Principal":{"AWS":"AROAEXAMPLE"}`, ""},
		"another account":                         {`"Principal":{"AWS":"arn:aws:iam::444455556666:root"}`, "account 444455556666"},
		"another account by its number":           {`"Principal":{"AWS":"444455556666"}`, "account 444455556666"},
		"the service":                             {`"Principal":{"Service":"events.amazonaws.com"}`, ""},
		"another service":                         {`"Principal":{"Service":"sns.amazonaws.com"}`, "the service sns.amazonaws.com, for whomever it acts"},
		"another service for the account":         {`"Principal":{"Service":"sns.amazonaws.com"},"Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:sns:eu-west-1:123456789012:x"}}`, ""},
		"another service for others":              {`"Principal":{"Service":"sns.amazonaws.com"},"Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:sns:*:*:*"}}`, "the service sns.amazonaws.com, for whomever it acts"},
		"logs of the account":                     {`"Principal":{"Service":"logs.eu-west-1.amazonaws.com"},"Condition":{"ArnLike":{"kms:EncryptionContext:aws:logs:arn":"arn:aws:logs:eu-west-1:123456789012:*"}}`, ""},
		"anybody, for logs of the account":        {`"Principal":"*","Condition":{"ArnLike":{"kms:EncryptionContext:aws:logs:arn":"arn:aws:logs:eu-west-1:123456789012:*"}}`, "everybody"},
		"logs of anybody":                         {`"Principal":{"Service":"logs.eu-west-1.amazonaws.com"},"Condition":{"ArnLike":{"kms:EncryptionContext:aws:logs:arn":"arn:aws:logs:eu-west-1:*:*"}}`, "the service logs.eu-west-1.amazonaws.com, for whomever it acts"},
		"a service account":                       {`"Principal":{` + provider + `},"Condition":{"StringEquals":{"oidc.example.com/id/1:sub":"system:serviceaccount:kube-system:karpenter"}}`, ""},
		"a service account of any namespace":      {`"Principal":{` + provider + `},"Condition":{"StringLike":{"oidc.example.com/id/1:sub":"system:serviceaccount:*:karpenter"}}`, "every service account of the cluster"},
		"any service account":                     {`"Principal":{` + provider + `},"Condition":{"StringLike":{"oidc.example.com/id/1:sub":"system:serviceaccount:*:*"}}`, "every service account of the cluster"},
		"service accounts of a namespace's part":  {`"Principal":{` + provider + `},"Condition":{"StringLike":{"oidc.example.com/id/1:sub":"system:serviceaccount:kube-system:karp*"}}`, ""},
		"a service account without a subject":     {`"Principal":{` + provider + `},"Condition":{"StringEquals":{"oidc.example.com/id/1:aud":"sts.amazonaws.com"}}`, "every service account of the cluster"},
		"somebody who signs in in some other way": {`"Principal":{"Federated":"arn:aws:iam::123456789012:saml-provider/x"}`, ""},
	} {
		d, err := iampolicy.Parse([]byte(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*",` + tt.statement + `}]}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		if found := Outsiders(d, "123456789012", "events.amazonaws.com"); len(found) > 0 {
			got = found[0].who
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
