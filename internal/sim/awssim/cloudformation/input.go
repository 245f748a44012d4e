package cloudformation

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var stackName = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9]{0,127}$`)

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

// body reads the template of a request; previous is that of the stack, for UsePreviousTemplate.
func (svc *service) body(in url.Values, previous *plan) (string, *cfn.Template, error) {
	text := in.Get("TemplateBody")
	switch {
	case in.Get("UsePreviousTemplate") == "true" && previous != nil:
		return previous.body, previous.template, nil
	case in.Get("TemplateURL") != "":
		return "", nil, invalid("Templates in S3 are not simulated; give TemplateBody.")
	case text == "":
		return "", nil, invalid("Either Template URL or Template Body must be specified.")
	case len(text) > cfn.MaxInlineBody:
		return "", nil, invalid("1 validation error detected: Value at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to %d (it has %d)", cfn.MaxInlineBody, len(text))
	}
	t, err := cfn.Parse([]byte(text))
	if err != nil {
		return "", nil, invalid("Template format error: %s", title(err.Error()))
	}
	if err := checkTypes(t); err != nil {
		return "", nil, err
	}
	return text, t, nil
}

// checkTypes checks that the types of resources and their attributes are ones that can be deployed.
func checkTypes(t *cfn.Template) error {
	unknown := map[string]bool{}
	for _, r := range t.Resources {
		if kinds[r.Type] == nil {
			unknown[r.Type] = true
		}
	}
	if len(unknown) > 0 {
		return invalid("Template format error: Unrecognized resource types: [%s]; the simulator knows %s", strings.Join(slices.Sorted(maps.Keys(unknown)), ", "), knownTypes())
	}
	for _, use := range t.AttributeUses() {
		r := t.Resource(use.Resource)
		if !slices.Contains(kinds[r.Type].readOnly, use.Attribute) {
			e := cfn.Error{Pos: use.Pos, Path: use.Path, Message: fmt.Sprintf("resource %s does not support attribute type %s in Fn::GetAtt", r.ID, use.Attribute)}
			return invalid("Template error: %v", &e)
		}
	}
	return nil
}

// planOf reads what a stack is to be from a request. previous is what the stack is, nil for a new one.
func (svc *service) planOf(in url.Values, previous *plan) (plan, error) {
	p := plan{
		capabilities: wire.List(in, "Capabilities.member"), notify: wire.List(in, "NotificationARNs.member"), role: in.Get("RoleARN"),
	}
	var err error
	if p.body, p.template, err = svc.body(in, previous); err != nil {
		return plan{}, err
	}
	if err := checkCapabilities(p.template, p.capabilities); err != nil {
		return plan{}, err
	}
	if p.tags, err = stackTagsIn(in, previous); err != nil {
		return plan{}, err
	}
	if p.given, err = parametersIn(in, p.template, previous); err != nil {
		return plan{}, err
	}
	if p.values, err = p.template.ParameterValues(p.given, svc.parameter); err != nil {
		return plan{}, invalid("%s", title(err.Error()))
	}
	return p, nil
}

func stackTagsIn(in url.Values, previous *plan) ([]tag, error) {
	given := wire.Structs(in, "Tags.member")
	if len(given) == 0 && previous != nil {
		return previous.tags, nil
	}
	all := map[string]string{}
	for _, t := range given {
		k, v := t.Get("Key"), t.Get("Value")
		if k == "" || len(k) > 128 || len(v) > 256 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return nil, invalid("The tag key %q is empty, too long or begins with the reserved prefix aws:, or its value is too long.", k)
		}
		all[k] = v
	}
	const most = 50
	if len(all) > most {
		return nil, invalid("A stack takes at most %d tags.", most)
	}
	return sortedTags(all), nil
}

func parametersIn(in url.Values, t *cfn.Template, previous *plan) (map[string]string, error) {
	given := map[string]string{}
	for _, f := range wire.Structs(in, "Parameters.member") {
		key := f.Get("ParameterKey")
		if f.Get("UsePreviousValue") != "true" {
			given[key] = f.Get("ParameterValue")
			continue
		}
		if previous == nil {
			return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", key)
		}
		before := previous.template.Parameter(key)
		if before == nil {
			return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", key)
		}
		if v, ok := previous.given[key]; ok {
			given[key] = v
		} else if before.Default != nil {
			given[key] = *before.Default
		}
	}
	return given, nil
}

// needed are the capabilities that a template needs, with the types that need them.
func needed(t *cfn.Template) (capability string, types []string) {
	seen := map[string]bool{}
	for _, r := range t.Resources {
		k := kinds[r.Type]
		if k == nil || !k.iam {
			continue
		}
		seen[r.Type] = true
		if capability == "" {
			capability = "CAPABILITY_IAM"
		}
		// Names of inline policies are no names of resources.
		if k.name != "" && k.name != "PolicyName" && r.Properties.Get(k.name) != nil {
			capability = "CAPABILITY_NAMED_IAM"
		}
	}
	return capability, slices.Sorted(maps.Keys(seen))
}

func checkCapabilities(t *cfn.Template, have []string) error {
	want, _ := needed(t)
	if want == "" || slices.Contains(have, "CAPABILITY_NAMED_IAM") || (want == "CAPABILITY_IAM" && slices.Contains(have, want)) {
		return nil
	}
	return wire.Errorf("InsufficientCapabilitiesException", "Requires capabilities : [%s]", want)
}

// nothingToDo tells errNothing from other errors.
func nothingToDo(err error) bool { return errors.Is(err, errNothing) }
