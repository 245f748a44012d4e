package awscli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsAreReadAsAShellReadsThem(t *testing.T) {
	const script = `#!/bin/sh
set -eu # 'not a quote
aws sqs tag-queue --tags '{"a": "it'\''s
b"}' --queue-url https://x/y#z
if ! aws iam get-policy --policy-arn p >/dev/null 2>&1; then
  aws iam create-policy --policy-name "n m"
fi
for v in $(aws iam list-policy-versions --output text); do
  [ "$v" = None ] || aws iam delete-policy-version --version-id "$v"
done
  aws eks update-pod-identity-association --association-id "$association"
aws events enable-rule \
  --name r
`
	tag := []string{"aws", "sqs", "tag-queue", "--tags", "{\"a\": \"it's\nb\"}", "--queue-url", "https://x/y#z"}
	create := []string{"aws", "iam", "create-policy", "--policy-name", "n m"}
	enable := []string{"aws", "events", "enable-rule", "--name", "r"}
	for name, c := range map[string]struct {
		unindented bool
		want       [][]string
	}{"all": {false, [][]string{tag, create, enable}}, "those without a condition": {true, [][]string{tag, enable}}} {
		got, err := commands(script, c.unindented)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := commands("aws 'x", false); err == nil {
		t.Error("an open quote is no error")
	}
}
