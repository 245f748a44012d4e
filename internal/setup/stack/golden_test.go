package stack

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s, written anew with -update (-want +got):\n%s", file, diff)
	}
}

func TestTemplatesAreAsBefore(t *testing.T) {
	for name, s := range map[string]*Stack{
		"v0.32.yaml":       makeStack(t, V032),
		"v0.32-later.yaml": makeStack(t, V032Later),
		"v1.0.yaml":        makeStack(t, V10),
		"latest.yaml":      makeStack(t, Latest),
		"everything.yaml":  makeStack(t, Latest, everything),
	} {
		text, err := s.CloudFormation()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, text)
		// What "aws cloudformation deploy" sends with the request; larger ones need a bucket.
		if len(text) > 51200 {
			t.Errorf("%s has %d bytes, CloudFormation takes 51200 without a bucket", name, len(text))
		}
	}
}

func TestModulesAreAsBefore(t *testing.T) {
	for name, s := range map[string]*Stack{"v1.0.tf.txt": makeStack(t, V10), "everything.tf.txt": makeStack(t, Latest, everything)} {
		files, err := s.Terraform()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range files {
			b.WriteString("==== " + f.Name + " ====\n" + string(f.Content))
		}
		golden(t, name, []byte(b.String()))
	}
}

func TestPlainPoliciesAreAsBefore(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) {
		o.Region, o.AccountID, o.Controller, o.OIDCProvider = "cn-north-1", testAccount, IRSA, "https://oidc.eks.cn-north-1.amazonaws.com.cn/id/0123"
	})
	text, err := s.IAM()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "iam.json", text)
}
