package iampolicy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStringsAndListsReadTheSame(t *testing.T) {
	one := parse(t, `{"Version":"2012-10-17","Id":"x","Statement":{"Sid":"A","Effect":"Allow","Principal":{"AWS":"1"},"Action":"sqs:*","Resource":"*","Condition":{"Bool":{"b":true},"NumericLessThan":{"n":5}}}}`)
	list := parse(t, `{"Statement":[{"Condition":{"NumericLessThan":{"n":["5"]},"Bool":{"b":["true"]}},"Resource":["*"],"Action":["sqs:*"],"Principal":{"AWS":["1"]},"Effect":"Allow","Sid":"A"}],"Id":"x","Version":"2012-10-17"}`)
	want := &Document{Version: Version2012, ID: "x", Statements: []Statement{{
		Sid: "A", Effect: Allow, Principal: &Principals{AWS: []string{"1"}}, Actions: []string{"sqs:*"}, Resources: []string{"*"},
		Conditions: []Condition{{"Bool", "b", []string{"true"}}, {"NumericLessThan", "n", []string{"5"}}},
	}}}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("with strings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("with lists (-want +got):\n%s", diff)
	}
	const text = `{"Version":"2012-10-17","Id":"x","Statement":[{"Sid":"A","Effect":"Allow","Principal":{"AWS":"1"},"Action":"sqs:*","Resource":"*","Condition":{"Bool":{"b":"true"},"NumericLessThan":{"n":"5"}}}]}`
	if got := string(list.JSON()); got != text {
		t.Errorf("written:\n%s\nwant\n%s", got, text)
	}
	var through Document
	if err := json.Unmarshal([]byte(text), &through); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(&through); err != nil || string(again) != text {
		t.Errorf("through encoding/json: %s, %v", again, err)
	}
	if Size(one.Indent()) != Size(one.JSON()) || Size([]byte("{ \"a b\\\" c\" : 1 }\n")) != len(`{"a b\" c":1}`) {
		t.Error("white space between tokens counts, or that inside of them does not")
	}
}

func TestMalformedPoliciesAreRefusedByName(t *testing.T) {
	statement := func(members string) string { return `{"Version":"2012-10-17","Statement":[{` + members + `}]}` }
	const rest = `"Effect":"Allow","Action":"s3:*","Resource":"*"`
	for sentence, c := range map[string]struct{ text, want string }{
		"no JSON":                           {`{"Version"`, "not JSON"},
		"nothing":                           {``, "not JSON"},
		"a list":                            {`[]`, "a list"},
		"more after the end":                {`{"Version":"2012-10-17","Statement":{` + rest + `}} {}`, "more text"},
		"nested without end":                {strings.Repeat("[", 100000), "nested"},
		"an unknown version":                {`{"Version":"2012-10-18","Statement":{` + rest + `}}`, `Version is "2012-10-18"`},
		"an unknown member":                 {`{"Version":"2012-10-17","Statements":[]}`, `"Statements"`},
		"no statement":                      {`{"Version":"2012-10-17"}`, "Statement is missing"},
		"an empty list of statements":       {`{"Version":"2012-10-17","Statement":[]}`, "Statement is missing"},
		"a statement that is a string":      {`{"Version":"2012-10-17","Statement":"x"}`, "statement 1"},
		"an unknown member of a statement":  {statement(`"Sid":"S","Actions":"x",` + rest), `statement S: "Actions"`},
		"no effect":                         {statement(`"Action":"s3:*","Resource":"*"`), "statement 1: Effect is missing"},
		"an effect in lower case":           {statement(`"Effect":"allow","Action":"s3:*","Resource":"*"`), `Effect is "allow"`},
		"no action":                         {statement(`"Effect":"Allow","Resource":"*"`), "Action is missing"},
		"an empty list of actions":          {statement(`"Effect":"Allow","Action":[],"Resource":"*"`), "Action is an empty list"},
		"Action and NotAction":              {statement(`"NotAction":"s3:*",` + rest), "NotAction are both there"},
		"Resource and NotResource":          {statement(`"NotResource":"*",` + rest), "NotResource are both there"},
		"Principal and NotPrincipal":        {statement(`"Principal":"*","NotPrincipal":{"AWS":"1"},` + rest), "NotPrincipal are both there"},
		"an action without service":         {statement(`"Effect":"Allow","Action":"RunInstances","Resource":"*"`), `Action "RunInstances"`},
		"an action that is a number":        {statement(`"Effect":"Allow","Action":[1],"Resource":"*"`), "a number"},
		"a resource that is empty":          {statement(`"Effect":"Allow","Action":"s3:*","Resource":""`), "Resource holds an empty string"},
		"a principal that is a name":        {statement(`"Principal":"root",` + rest), `Principal is "root"`},
		"a principal of no kind":            {statement(`"Principal":{"Role":"x"},` + rest), "Principal.Role"},
		"a principal that is empty":         {statement(`"Principal":{},` + rest), "Principal is empty"},
		"a condition that is a list":        {statement(`"Condition":[],` + rest), "Condition is a list"},
		"an unknown operator":               {statement(`"Condition":{"StringMatches":{"a":"b"}},` + rest), `no operator "StringMatches"`},
		"an operator in wrong case":         {statement(`"Condition":{"stringLike":{"a":"b"}},` + rest), `"StringLike" is meant`},
		"an operator with both ends":        {statement(`"Condition":{"NullIfExists":{"a":"b"}},` + rest), `"NullIfExists"`},
		"an operator that is no object":     {statement(`"Condition":{"Bool":"x"},` + rest), "Condition.Bool is a string"},
		"a condition value that is nested":  {statement(`"Condition":{"Bool":{"k":{}}},` + rest), "Condition.Bool.k holds an object"},
		"a condition value that is null":    {statement(`"Condition":{"Bool":{"k":null}},` + rest), "Condition.Bool.k holds null"},
		"a member twice":                    {statement(`"Sid":"a","Sid":"b",` + rest), `"Sid" twice`},
		"a Sid twice":                       {`{"Version":"2012-10-17","Statement":[{"Sid":"S",` + rest + `},{"Sid":"S",` + rest + `}]}`, `"S" is that of statement 1`},
		"a Sid that is a number":            {statement(`"Sid":1,` + rest), "Sid is a number"},
		"a version that is a number":        {`{"Version":20121017,"Statement":{` + rest + `}}`, "Version is a number"},
		"an action with two colons":         {statement(`"Effect":"Allow","Action":"s3:Get:Object","Resource":"*"`), "s3:Get:Object"},
		"an action of a service's pattern":  {statement(`"Effect":"Allow","Action":"s*:Get","Resource":"*"`), "s*:Get"},
		"a negated operator with two words": {statement(`"Condition":{"NotStringEquals":{"a":"b"}},` + rest), "NotStringEquals"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that says %q", err, c.want)
			}
		})
	}
}

func TestKindsOfPoliciesWantTheirMembers(t *testing.T) {
	const effect = `"Effect":"Allow",`
	for sentence, c := range map[string]struct {
		check     func(*Document) error
		statement string
		want      string // empty: well
	}{
		"an identity policy":                        {(*Document).CheckIdentity, `"Action":"s3:*","Resource":["*","arn:aws:s3:::b/*","arn:${aws:Partition}:s3:::b"]`, ""},
		"an identity policy with a principal":       {(*Document).CheckIdentity, `"Principal":"*","Action":"s3:*","Resource":"*"`, "Principal"},
		"an identity policy without resources":      {(*Document).CheckIdentity, `"Action":"s3:*"`, "Resource is missing"},
		"an identity policy with a Sid in words":    {(*Document).CheckIdentity, `"Sid":"a b","Action":"s3:*","Resource":"*"`, "Sid"},
		"an identity policy for a name":             {(*Document).CheckIdentity, `"Action":"s3:*","Resource":"bucket"`, `"bucket"`},
		"an identity policy for an ARN without end": {(*Document).CheckIdentity, `"Action":"s3:*","NotResource":"arn:aws:s3"`, `"arn:aws:s3"`},
		"an identity policy for no service":         {(*Document).CheckIdentity, `"Action":"s3:*","Resource":"arn:aws::::x"`, "service"},
		"a trust policy":                            {(*Document).CheckTrust, `"Principal":{"Service":"ec2.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]`, ""},
		"a trust policy without principal":          {(*Document).CheckTrust, `"Action":"sts:AssumeRole"`, "Principal is missing"},
		"a trust policy with a resource":            {(*Document).CheckTrust, `"Principal":"*","Action":"sts:AssumeRole","Resource":"*"`, "Resource"},
		"a trust policy for another service":        {(*Document).CheckTrust, `"Principal":"*","Action":"ec2:RunInstances"`, "ec2:RunInstances"},
		"a trust policy for a role by pattern":      {(*Document).CheckTrust, `"Principal":{"AWS":"arn:aws:iam::111122223333:role/*"},"Action":"sts:AssumeRole"`, "wildcard"},
		"a trust policy for a name":                 {(*Document).CheckTrust, `"Principal":{"AWS":"me"},"Action":"sts:AssumeRole"`, `"me"`},
		"a trust policy for half a service":         {(*Document).CheckTrust, `"Principal":{"Service":"ec2"},"Action":"sts:AssumeRole"`, `"ec2"`},
		"a queue policy":                            {(*Document).CheckResource, `"Sid":"a b","Principal":{"AWS":"111122223333"},"Action":"sqs:*","Resource":"*"`, ""},
		"a queue policy without resource":           {(*Document).CheckResource, `"Principal":"*","Action":"sqs:*"`, "Resource is missing"},
		"a queue policy for nobody":                 {(*Document).CheckResource, `"NotPrincipal":"*","Action":"sqs:*","Resource":"*"`, "nobody"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := parse(t, `{"Version":"2012-10-17","Statement":{`+effect+c.statement+`}}`)
			err := c.check(d)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
