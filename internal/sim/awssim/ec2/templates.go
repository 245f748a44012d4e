package ec2

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type createLaunchTemplateInput struct {
	ClientToken string                   `query:"ClientToken"`
	Name        string                   `query:"LaunchTemplateName"`
	Description string                   `query:"VersionDescription"`
	Data        world.LaunchData         `query:"LaunchTemplateData"`
	Tags        []world.TagSpecification `query:"TagSpecification"`
}

type launchTemplateOutput struct {
	Template launchTemplate `xml:"launchTemplate"`
}

type launchTemplate struct {
	ID             string    `xml:"launchTemplateId"`
	Name           string    `xml:"launchTemplateName"`
	CreateTime     string    `xml:"createTime"`
	CreatedBy      string    `xml:"createdBy"`
	DefaultVersion int64     `xml:"defaultVersionNumber"`
	LatestVersion  int64     `xml:"latestVersionNumber"`
	Tags           []tagItem `xml:"tagSet>item"`
}

func showTemplate(t *world.LaunchTemplate) launchTemplate {
	return launchTemplate{t.ID, t.Name, stamp(t.Created), t.CreatedBy, t.Default, t.Latest(), tagItems(t.Tags)}
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,125}$`)

func (s *service) createLaunchTemplate(r *wire.Request, in *createLaunchTemplateInput) (any, error) {
	if !templateName.MatchString(in.Name) {
		return nil, wire.Errorf("InvalidLaunchTemplateName.MalformedException",
			"A launch template name must be between 3 and 125 characters of a-z, A-Z, 0-9, and ()./-_ ; it is %q", in.Name)
	}
	tags, err := world.CheckTags(in.Tags, "launch-template")
	if err != nil {
		return nil, err
	}
	if err := checkTemplateTags(&in.Data); err != nil {
		return nil, err
	}
	if r.DryRun() {
		return nil, wire.DryRunOperation()
	}
	t, err := s.world.CreateTemplate(in.Name, in.Description, r.Principal.PrincipalARN, in.ClientToken, in.Data, tags)
	if err != nil {
		return nil, err
	}
	r.Detail = t.ID
	return launchTemplateOutput{showTemplate(&t)}, nil
}

func checkTemplateTags(d *world.LaunchData) error {
	allowed := []string{"instance", "volume", "network-interface", "spot-instances-request", "elastic-gpu"}
	for _, spec := range d.TagSpecifications {
		if !slices.Contains(allowed, spec.ResourceType) {
			return wire.Errorf("InvalidParameterValue", "'%s' is not a valid taggable resource type for a launch template", spec.ResourceType)
		}
		if _, err := world.CheckTags([]world.TagSpecification{spec}, spec.ResourceType); err != nil {
			return err
		}
	}
	return nil
}

type createLaunchTemplateVersionInput struct {
	ClientToken string           `query:"ClientToken"`
	ID          string           `query:"LaunchTemplateId"`
	Name        string           `query:"LaunchTemplateName"`
	Description string           `query:"VersionDescription"`
	Data        world.LaunchData `query:"LaunchTemplateData"`
}

type launchTemplateVersionOutput struct {
	Version launchTemplateVersion `xml:"launchTemplateVersion"`
}

type launchTemplateVersion struct {
	ID          string           `xml:"launchTemplateId"`
	Name        string           `xml:"launchTemplateName"`
	Number      int64            `xml:"versionNumber"`
	Description string           `xml:"versionDescription,omitempty"`
	CreateTime  string           `xml:"createTime"`
	CreatedBy   string           `xml:"createdBy"`
	Default     bool             `xml:"defaultVersion"`
	Data        world.LaunchData `xml:"launchTemplateData"`
}

func showVersion(t *world.LaunchTemplate, v world.TemplateVersion) launchTemplateVersion {
	return launchTemplateVersion{t.ID, t.Name, v.Number, v.Description, stamp(v.Created), v.CreatedBy, v.Number == t.Default, v.Data}
}

func (s *service) createLaunchTemplateVersion(r *wire.Request, in *createLaunchTemplateVersionInput) (any, error) {
	if r.DryRun() {
		return nil, wire.DryRunOperation()
	}
	v, t, err := s.world.AddTemplateVersion(world.TemplateRef{ID: in.ID, Name: in.Name}, in.Description, r.Principal.PrincipalARN, in.Data)
	if err != nil {
		return nil, err
	}
	return launchTemplateVersionOutput{showVersion(&t, v)}, nil
}

type deleteLaunchTemplateInput struct {
	ID   string `query:"LaunchTemplateId"`
	Name string `query:"LaunchTemplateName"`
}

func (s *service) deleteLaunchTemplate(r *wire.Request, in *deleteLaunchTemplateInput) (any, error) {
	ref := world.TemplateRef{ID: in.ID, Name: in.Name}
	if r.DryRun() {
		if _, err := s.world.Template(ref); err != nil {
			return nil, err
		}
		return nil, wire.DryRunOperation()
	}
	t, err := s.world.DeleteTemplate(ref)
	if err != nil {
		return nil, err
	}
	r.Detail = t.ID
	return launchTemplateOutput{showTemplate(&t)}, nil
}

type describeLaunchTemplatesInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"LaunchTemplateId"`
	Names   []string `query:"LaunchTemplateName"`
}

type describeLaunchTemplatesOutput struct {
	Templates []launchTemplate `xml:"launchTemplates>item"`
	NextToken string           `xml:"nextToken,omitempty"`
}

var templateFilters = filterable[world.LaunchTemplate]{
	attributes: map[string]func(*world.LaunchTemplate) []string{
		"create-time":          one(func(t *world.LaunchTemplate) string { return stamp(t.Created) }),
		"launch-template-name": one(func(t *world.LaunchTemplate) string { return t.Name }),
	},
	tags: func(t *world.LaunchTemplate) map[string]string { return t.Tags },
}

// templateLimits are pages of at most 200 launch templates.
var templateLimits = limits{min: 1, max: 200, size: 200}

func (s *service) describeLaunchTemplates(_ *wire.Request, in *describeLaunchTemplatesInput) (any, error) {
	all := s.world.Templates()
	if len(in.Names) > 0 {
		// one name that does not exist refuses the call; there is no answer for the others
		if missing := without(in.Names, all, func(t world.LaunchTemplate) string { return t.Name }); len(missing) > 0 {
			return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException",
				"At least one of the launch templates specified in the request does not exist.")
		}
		all = slices.DeleteFunc(all, func(t world.LaunchTemplate) bool { return !slices.Contains(in.Names, t.Name) })
	}
	all, token, err := describe(all, in.IDs, in.Filters, in.paging, describing[world.LaunchTemplate]{
		id: func(t *world.LaunchTemplate) string { return t.ID }, filters: templateFilters, limits: templateLimits,
		missing: "InvalidLaunchTemplateId.NotFound", what: "launch template ID",
	})
	if err != nil {
		return nil, err
	}
	out := describeLaunchTemplatesOutput{NextToken: token}
	for _, t := range all {
		out.Templates = append(out.Templates, showTemplate(&t))
	}
	return out, nil
}

type describeLaunchTemplateVersionsInput struct {
	paging
	Filters    []filter `query:"Filter"`
	ID         string   `query:"LaunchTemplateId"`
	Name       string   `query:"LaunchTemplateName"`
	Versions   []string `query:"LaunchTemplateVersion"`
	MinVersion string   `query:"MinVersion"`
	MaxVersion string   `query:"MaxVersion"`
}

type describeLaunchTemplateVersionsOutput struct {
	Versions  []launchTemplateVersion `xml:"launchTemplateVersionSet>item"`
	NextToken string                  `xml:"nextToken,omitempty"`
}

var versionFilters = filterable[launchTemplateVersion]{attributes: map[string]func(*launchTemplateVersion) []string{
	"create-time":        one(func(v *launchTemplateVersion) string { return v.CreateTime }),
	"image-id":           one(func(v *launchTemplateVersion) string { return v.Data.ImageID }),
	"instance-type":      one(func(v *launchTemplateVersion) string { return v.Data.InstanceType }),
	"is-default-version": yesNo(func(v *launchTemplateVersion) bool { return v.Default }),
}}

func (s *service) describeLaunchTemplateVersions(_ *wire.Request, in *describeLaunchTemplateVersionsInput) (any, error) {
	var all []launchTemplateVersion
	if in.ID == "" && in.Name == "" {
		var err error
		if all, err = s.everyVersion(in.Versions); err != nil {
			return nil, err
		}
	} else {
		t, err := s.world.Template(world.TemplateRef{ID: in.ID, Name: in.Name})
		if err != nil {
			return nil, err
		}
		if all, err = chosenVersions(&t, in); err != nil {
			return nil, err
		}
	}
	all, err := versionFilters.choose(all, in.Filters)
	if err != nil {
		return nil, err
	}
	all, token, err := page(all, func(v *launchTemplateVersion) string { return fmt.Sprintf("%s/%012d", v.ID, v.Number) }, in.paging, templateLimits)
	if err != nil {
		return nil, err
	}
	return describeLaunchTemplateVersionsOutput{all, token}, nil
}

// everyVersion answers a question without a template: of all templates, the latest or default versions.
func (s *service) everyVersion(versions []string) ([]launchTemplateVersion, error) {
	var out []launchTemplateVersion
	if len(versions) == 0 {
		return nil, wire.Errorf("MissingParameter", "Without a launch template the request must contain the version $Latest or $Default")
	}
	for _, t := range s.world.Templates() {
		for _, ref := range versions {
			if ref != "$Latest" && ref != "$Default" {
				return nil, wire.Errorf("InvalidParameterCombination",
					"Without a launch template only the versions $Latest and $Default can be named, not %q", ref)
			}
			v, err := t.Version(ref)
			if err != nil {
				return nil, err
			}
			shown := showVersion(&t, v)
			same := func(o launchTemplateVersion) bool { return o.ID == shown.ID && o.Number == shown.Number }
			if !slices.ContainsFunc(out, same) {
				out = append(out, shown)
			}
		}
	}
	return out, nil
}

func chosenVersions(t *world.LaunchTemplate, in *describeLaunchTemplateVersionsInput) ([]launchTemplateVersion, error) {
	var out []launchTemplateVersion
	for _, ref := range in.Versions {
		v, err := t.Version(ref)
		if err != nil {
			return nil, err
		}
		out = append(out, showVersion(t, v))
	}
	if len(in.Versions) > 0 {
		return out, nil
	}
	low, high := int64(1), t.Latest()
	for _, b := range []struct {
		text string
		to   *int64
	}{{in.MinVersion, &low}, {in.MaxVersion, &high}} {
		if b.text == "" {
			continue
		}
		n, err := strconv.ParseInt(b.text, 10, 64)
		if err != nil {
			return nil, wire.Errorf("InvalidParameterValue", "%q is not a launch template version", b.text)
		}
		*b.to = n
	}
	for _, v := range t.Versions {
		if low <= v.Number && v.Number <= high {
			out = append(out, showVersion(t, v))
		}
	}
	return out, nil
}
