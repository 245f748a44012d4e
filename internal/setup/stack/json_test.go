package stack

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// The template in JSON gives what the one in YAML gives, with every option that writes something of its own.
func TestTheTemplateAsJSONIsTheSame(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"default": func(*Options) {},
		"v0.32":   func(o *Options) { *o = Defaults(V032) },
		"all":     func(o *Options) { o.Controller, o.KMS, o.AccessEntry = PodIdentity, true, "EC2_LINUX" },
	} {
		o := Defaults(Latest)
		change(&o)
		o.ClusterName = "demo"
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		evaluated := func(write func() ([]byte, error)) any {
			text, err := write()
			if err != nil {
				t.Fatal(err)
			}
			template, err := cfn.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return propertiesOf(t, template)
		}
		if diff := cmp.Diff(evaluated(s.CloudFormation), evaluated(s.CloudFormationJSON)); diff != "" {
			t.Errorf("%s (-yaml +json):\n%s", name, diff)
		}
		text, err := s.CloudFormationJSON()
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: it is no JSON (%v)", name, err)
		}
	}
}

// propertiesOf are the properties of every resource, in one account and region.
func propertiesOf(t *testing.T, template *cfn.Template) map[string]any {
	t.Helper()
	e, err := template.In(cfn.Scope{
		Pseudo:     cfn.Pseudo{Region: "eu-west-1", AccountID: "111122223333", StackName: "stack"},
		Parameters: map[string]any{"ClusterName": "demo"},
		Ref:        func(resource string) (any, error) { return "ref-" + resource, nil },
		GetAtt:     func(resource, attribute string) (any, error) { return resource + "." + attribute, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, r := range template.Resources {
		properties, err := e.Properties(r)
		if err != nil {
			t.Fatal(err)
		}
		out[r.ID] = properties
	}
	return out
}
