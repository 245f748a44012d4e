package changeplan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/crds"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// ReasonUnchecked is why an object was not judged by the API server.
const ReasonUnchecked = "you may not write it, so the API server was not asked; its form was checked by the definitions that this kerf brings, the rules of the definitions in the cluster were not"

// admit has the API server judge an object in a dry run and fills in its defaults. live is the object as it is, nil for a new
// one. Without the right to write it, the form is checked here. unchecked says so.
//
// Errors: *At, joined.
func (d *Document) admit(ctx context.Context, api client.Client, live client.Object, into client.Object) (unchecked string, err error) {
	want := d.merged(live)
	got := want.DeepCopy()
	strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
	if live == nil {
		err = strict.Create(ctx, got, client.DryRunAll)
	} else {
		err = strict.Update(ctx, got, client.DryRunAll)
	}
	switch {
	case err == nil:
	case apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		if err := d.checkHere(want, into); err != nil {
			return "", err
		}
		return ReasonUnchecked, nil
	default:
		return "", d.located(err)
	}
	return "", d.read(got, into)
}

// merged is the object as it would be sent: the spec is the file's alone, labels and annotations are those of both.
func (d *Document) merged(live client.Object) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": versions[d.Kind], "kind": d.Kind}}
	meta, _ := d.Tree["metadata"].(map[string]any)
	if live != nil {
		was := tree(live)
		out.Object = was
		out.SetAPIVersion(versions[d.Kind])
		out.SetKind(d.Kind)
		out.SetManagedFields(nil)
	}
	out.SetName(d.Name)
	texts := func(key string, have map[string]string) map[string]string {
		own, _ := meta[key].(map[string]any)
		if len(own) == 0 {
			return have
		}
		merged := maps.Clone(have)
		if merged == nil {
			merged = map[string]string{}
		}
		for k, v := range own {
			merged[k] = fmt.Sprint(v)
		}
		return merged
	}
	out.SetLabels(texts("labels", out.GetLabels()))
	out.SetAnnotations(texts("annotations", out.GetAnnotations()))
	for k, v := range d.Tree {
		if k != "metadata" && k != "status" && k != "apiVersion" && k != "kind" {
			out.Object[k] = v
		}
	}
	return out
}

func (d *Document) read(from *unstructured.Unstructured, into client.Object) error {
	text, err := json.Marshal(from.Object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return d.where("", err.Error())
	}
	return nil
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	ofField      = regexp.MustCompile(`^([A-Za-z][\w.\[\]/-]*): (.*)$`)
)

// located is what the API server says, each cause with its line.
func (d *Document) located(err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return fmt.Errorf("asking the API server about %s %s: %w", d.Kind, d.Name, err)
	}
	var out []error
	if details := status.Status().Details; details != nil {
		for _, c := range details.Causes {
			if c.Field != "" && c.Field != "<nil>" {
				out = append(out, d.where(c.Field, c.Message))
			}
		}
	}
	if len(out) == 0 {
		out = d.unknown(err)
	}
	if len(out) == 0 {
		text := status.Status().Message
		if m := ofField.FindStringSubmatch(text); m != nil {
			return d.where(m[1], m[2])
		}
		return d.where("", text)
	}
	return errors.Join(out...)
}

// unknown are the fields that an error says are not known.
func (d *Document) unknown(err error) []error {
	var out []error
	for _, m := range unknownField.FindAllStringSubmatch(err.Error(), -1) {
		text := "there is no such field"
		if meant := d.meant(m[1]); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		out = append(out, d.where(m[1], text))
	}
	return out
}

// checkHere judges the object without the API server: its fields, and what the controller checks.
func (d *Document) checkHere(want *unstructured.Unstructured, into client.Object) error {
	if err := setDefaults(d.Kind, want.Object); err != nil {
		return err
	}
	text, err := json.Marshal(want.Object)
	if err != nil {
		return d.where("", err.Error())
	}
	unknown, err := kjson.UnmarshalStrict(text, into) // as the API server does: names in another case are other names
	if err != nil {
		return d.where("", err.Error())
	}
	if len(unknown) > 0 {
		return errors.Join(d.unknown(errors.Join(unknown...))...)
	}
	return d.judge(into)
}

// judge is what the controller checks of an object beyond the definitions, each with its line.
func (d *Document) judge(o client.Object) error {
	var out []error
	for _, e := range Problems(o) {
		text := e.ErrorBody()
		if strings.HasSuffix(e.Detail, noNodeGoes) { // it names the value itself
			text = e.Detail
		}
		out = append(out, d.where(e.Field, text))
	}
	return errors.Join(out...)
}

// noNodeGoes is what follows from a budget that can't be read.
const noNodeGoes = ": the controller would let no node go"

// Problems are what the controller refuses in an object beyond what the definitions refuse: in NodePools, EC2NodeClasses and
// NodeClaims. Of other kinds there are none.
func Problems(o client.Object) field.ErrorList {
	rules := karpv1.CoreLabelRules().With(awsv1.WellKnownLabels(), awsv1.RestrictedLabelDomains(), awsv1.LabelAliases())
	var found field.ErrorList
	switch o := o.(type) {
	case *karpv1.NodePool:
		found, _ = o.Validate(rules)
		// The definition's pattern lets schedules pass that no clock has.
		for i, b := range o.Spec.Disruption.Budgets {
			if err := intake.CheckBudget(b); err != nil {
				found = append(found, field.Invalid(field.NewPath("spec", "disruption", "budgets").Index(i), b.Nodes, err.Error()+noNodeGoes))
			}
		}
	case *karpv1.NodeClaim:
		found, _ = o.Validate(rules)
	case *awsv1.EC2NodeClass:
		found, _ = o.Validate()
	}
	return found
}

// setDefaults fills in the defaults of the definition.
func setDefaults(kind string, object map[string]any) error {
	schema, err := schemaOf(kind)
	if err != nil {
		return err
	}
	return fill(object, schema)
}

// schemaOf is the schema of a kind.
func schemaOf(kind string) (*apiextensionsv1.JSONSchemaProps, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	for _, crd := range all {
		if crd.Spec.Names.Kind != kind {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Storage && v.Schema != nil {
				return v.Schema.OpenAPIV3Schema, nil
			}
		}
	}
	return nil, fmt.Errorf("there is no definition of %s", kind)
}

// meant is the field that somebody meant who wrote the last name of a path; empty where none is near.
func (d *Document) meant(path string) string {
	schema, err := schemaOf(d.Kind)
	if err != nil {
		return ""
	}
	names := steps(path)
	for _, name := range names[:max(0, len(names)-1)] {
		if schema.Items != nil && schema.Items.Schema != nil {
			schema = schema.Items.Schema // name is a number
			continue
		}
		below, ok := schema.Properties[name]
		if !ok {
			return ""
		}
		schema = &below
	}
	if len(names) == 0 {
		return ""
	}
	return requirement.Nearest(names[len(names)-1], slices.Collect(maps.Keys(schema.Properties)))
}

// fill does for a value what the API server does with the defaults of its schema.
func fill(value any, schema *apiextensionsv1.JSONSchemaProps) error {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			p := schema.Properties[name]
			if _, has := v[name]; !has && p.Default != nil {
				var d any
				if err := json.Unmarshal(p.Default.Raw, &d); err != nil {
					return fmt.Errorf("default of %s: %w", name, err)
				}
				v[name] = d
			}
			if v[name] != nil {
				if err := fill(v[name], &p); err != nil {
					return err
				}
			}
		}
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			for _, item := range v {
				if err := fill(item, schema.AdditionalProperties.Schema); err != nil {
					return err
				}
			}
		}
	case []any:
		if schema.Items == nil || schema.Items.Schema == nil {
			return nil
		}
		for _, item := range v {
			if err := fill(item, schema.Items.Schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// from says where a document stands.
func (d *Document) from() string { return fmt.Sprintf("%s:%d", cmp.Or(d.File, "-"), d.Line()) }

// title is an object as people call it.
func title(kind, name string) string { return strings.TrimSpace(kind + " " + name) }
