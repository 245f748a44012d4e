package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// schema is what is read of a CRD's schema.
type schema struct {
	Description          string            `json:"description"`
	Type                 string            `json:"type"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	Default              json.RawMessage   `json:"default"`
	Enum                 []string          `json:"enum"`
	Pattern              string            `json:"pattern"`
	Minimum              *int64            `json:"minimum"`
	Maximum              *int64            `json:"maximum"`
	MinLength            *int64            `json:"minLength"`
	MaxLength            *int64            `json:"maxLength"`
	MinItems             *int64            `json:"minItems"`
	MaxItems             *int64            `json:"maxItems"`
	MaxProperties        *int64            `json:"maxProperties"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Rules                []struct {
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// fieldsPage is a page with every field of a kind.
type fieldsPage struct {
	file  string // in api/crds
	intro string
}

var nodeClassFields = fieldsPage{"karpenter.k8s.aws_ec2nodeclasses.yaml", `# EC2NodeClass

` + "`karpenter.k8s.aws/v1`" + `, cluster-scoped; short names ` + "`ec2nc`, `ec2ncs`" + `. Every field of the spec and the status, with its default and
what is refused. An object that the API accepts and that makes no sense nevertheless is reported in its conditions, and affects
no other class.

How they work together: [images, user data and disks](../images.md), [images and launch templates of your
own](../custom-images-and-launch-templates.md), [network](../networking.md), [capacity reservations and
placement groups](../capacity-reservations.md), [what conditions mean](../troubleshooting.md). [NodePools](nodepool.md) name the class of their nodes.
`}

var nodePoolFields = fieldsPage{"karpenter.sh_nodepools.yaml", `# NodePool

` + "`karpenter.sh/v1`" + `, cluster-scoped. Every field of the spec and the status, with its default and what is refused. A NodePool
that the API accepts and that nothing can be launched for is reported in its [conditions](conditions.md).

How they work together: [which pods get which node](../scheduling.md), [which instance is launched](../launching.md),
[consolidateAfter, consolidationPolicy and budgets](../consolidation.md#when-a-node-may-be-removed), [what a change of the
template does](../drift.md), [expireAfter and replicas](../nodes.md), [terminationGracePeriod](../draining.md). What the
cloud needs to know is in the [EC2NodeClass](ec2nodeclass.md); each node is a [NodeClaim](nodeclaim.md). ` + "[`kerf plan`](../plan.md)" + ` says what
a change would do, and ` + "[`kerf simulate`](../simulate.md)" + ` what it would cost.
`}

var nodeClaimFields = fieldsPage{"karpenter.sh_nodeclaims.yaml", `# NodeClaim

` + "`karpenter.sh/v1`" + `, cluster-scoped. One node that was asked for, from before it is launched until it is gone. The controller makes NodeClaims
from the template of their [NodePool](nodepool.md), and their spec can't change; to delete one drains its node and terminates the instance.
[Conditions](conditions.md) lists what they say of themselves.
`}

// write describes every field of the kind from its schema, so that what a user reads is what the API checks.
func (p fieldsPage) write(b *bytes.Buffer, root string) error {
	b.WriteString(p.intro)
	text, err := os.ReadFile(filepath.Join(root, "api", "crds", p.file))
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Object schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	if len(crd.Spec.Versions) != 1 {
		return fmt.Errorf("%d versions in %s, want 1", len(crd.Spec.Versions), p.file)
	}
	object := crd.Spec.Versions[0].Schema.Object
	for _, part := range []string{"spec", "status"} {
		s := object.Properties[part]
		if err := fieldsSection(b, part, &s); err != nil {
			return err
		}
	}
	return nil
}

// fieldsSection writes the fields of an object, and after them those of the objects in it.
func fieldsSection(b *bytes.Buffer, path string, s *schema) error {
	fmt.Fprintf(b, "\n## %s\n\n", path)
	var excluded []string
	for _, r := range s.Rules {
		// A launch template decides on many fields; the API has a rule for each, so that it can name the field.
		if rest, ok := strings.CutPrefix(r.Message, "'launchTemplate' excludes '"); ok {
			field, how, _ := strings.Cut(rest, "'")
			how, _, _ = strings.Cut(how, ":")
			if how = strings.TrimSpace(how); how != "" {
				how = " (" + how + ")"
			}
			excluded = append(excluded, code(field)+how)
			continue
		}
		fmt.Fprintf(b, "- %s\n", r.Message)
	}
	if len(excluded) > 0 {
		fmt.Fprintf(b, "- 'launchTemplate' excludes, because the template decides: %s\n", strings.Join(excluded, ", "))
	}
	if len(s.Rules) > 0 {
		b.WriteString("\n")
	}
	head(b, "field", "type", "default", "limits", "what it does")
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range names {
		f := s.Properties[name]
		if f.Description == "" {
			return fmt.Errorf("%s.%s has no description", path, name)
		}
		limits := f.limits()
		if slices.Contains(s.Required, name) {
			limits = append([]string{"required"}, limits...)
		}
		row(b, code(name), f.kind(), code(string(f.Default)), strings.Join(limits, "; "), strings.ReplaceAll(f.Description, "\n", " "))
	}
	for _, name := range names {
		f := s.Properties[name]
		inner, at := &f, path+"."+name
		if f.Items != nil {
			inner, at = f.Items, at+"[]"
		}
		if len(inner.Properties) == 0 || at == "status.conditions[]" {
			continue
		}
		if err := fieldsSection(b, at, inner); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) kind() string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.kind()
	}
	return s.Type
}

// limits are what the schema checks, in words. Rules on objects stand at the objects.
func (s *schema) limits() (out []string) {
	if len(s.Enum) > 0 {
		out = append(out, "one of "+code(strings.Join(s.Enum, "`, `")))
	}
	if s.Pattern != "" {
		out = append(out, "matches "+code(s.Pattern))
	}
	for _, r := range []struct {
		low, high *int64
		of        string
	}{{s.Minimum, s.Maximum, ""}, {s.MinLength, s.MaxLength, " characters"}, {s.MinItems, s.MaxItems, " items"}, {nil, s.MaxProperties, " entries"}} {
		switch {
		case r.low != nil && r.high != nil:
			out = append(out, fmt.Sprintf("%d to %d%s", *r.low, *r.high, r.of))
		case r.low != nil:
			out = append(out, "at least "+strconv.FormatInt(*r.low, 10)+r.of)
		case r.high != nil:
			out = append(out, "at most "+strconv.FormatInt(*r.high, 10)+r.of)
		}
	}
	for _, inner := range []*schema{s.Items, s.AdditionalProperties} {
		if inner != nil && len(inner.Properties) == 0 {
			for _, l := range inner.limits() {
				out = append(out, "each "+l)
			}
		}
	}
	if len(s.Properties) == 0 || s.Items != nil {
		for _, r := range s.Rules {
			out = append(out, r.Message)
		}
	}
	return out
}
