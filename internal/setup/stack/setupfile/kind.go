// Package setupfile reads files that hold the AWS side of a cluster into one form: CloudFormation templates, Terraform plans and plain
// IAM policies.
package setupfile

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Kind is what a set-up was read from.
type Kind string

// The kinds.
const (
	KindCloudFormation Kind = "CloudFormation template"
	KindTerraform      Kind = "Terraform plan"
	KindIAM            Kind = "IAM policies"
	KindLive           Kind = "live account"
)

// Detect tells what kind of file data is. The error says which kinds there are and how to get one.
func Detect(name string, data []byte) (Kind, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("%s is empty", name)
	case bytes.HasPrefix(text, []byte("PK\x03\x04")):
		return "", fmt.Errorf("%s is a binary plan of Terraform; give the output of: terraform show -json %s", name, name)
	case text[0] == '{':
		return detectJSON(name, text)
	case bytes.Contains(text, []byte("Resources:")):
		return KindCloudFormation, nil
	case bytes.Contains(text, []byte("resource \"aws_")) || bytes.Contains(text, []byte("module \"")):
		return "", fmt.Errorf("%s is Terraform source, whose values are known only to Terraform; give a plan: terraform plan -out plan.bin && terraform show -json plan.bin > plan.json", name)
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return "", fmt.Errorf("%s is neither a CloudFormation template (it has no Resources), nor a Terraform plan in JSON, nor an IAM policy", name)
}

func detectJSON(name string, text []byte) (Kind, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		if bytes.Contains(text, []byte("Resources")) {
			return KindCloudFormation, nil // YAML in flow style, or a template whose fault is better told by its parser
		}
		return "", fmt.Errorf("%s is not JSON: %w", name, err)
	}
	has := func(key string) bool { _, ok := top[key]; return ok }
	switch {
	case has("planned_values") || has("resource_changes"):
		return KindTerraform, nil
	case has("values") && has("terraform_version"):
		return KindTerraform, nil // terraform show -json of a state
	case has("Resources"):
		return KindCloudFormation, nil
	case has("Statement") || has("policies") || has("Policies") || has("PolicyVersion"):
		return KindIAM, nil
	}
	return "", fmt.Errorf("%s has none of the members by which it would be known: Resources (CloudFormation), planned_values (terraform show -json), Statement (IAM policy)", name)
}
