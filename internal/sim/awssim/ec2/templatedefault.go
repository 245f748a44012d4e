package ec2

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type modifyLaunchTemplateInput struct {
	ClientToken string `query:"ClientToken"`
	ID          string `query:"LaunchTemplateId"`
	Name        string `query:"LaunchTemplateName"`
	Default     string `query:"SetDefaultVersion"`
}

// modifyLaunchTemplate makes another version the default one, which is all that the operation can do.
func (s *service) modifyLaunchTemplate(r *wire.Request, in *modifyLaunchTemplateInput) (any, error) {
	number, err := strconv.ParseInt(in.Default, 10, 64)
	if err != nil {
		return nil, wire.Errorf("InvalidParameterValue", "SetDefaultVersion must be the number of a version, not %q", in.Default)
	}
	ref := world.TemplateRef{ID: in.ID, Name: in.Name}
	if r.DryRun() {
		if _, err := s.world.Template(ref); err != nil {
			return nil, err
		}
		return nil, wire.DryRunOperation()
	}
	t, err := s.world.SetDefaultVersion(ref, number)
	if err != nil {
		return nil, err
	}
	r.Detail = t.ID
	return launchTemplateOutput{showTemplate(&t)}, nil
}
