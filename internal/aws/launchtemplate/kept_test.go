package launchtemplate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// passing is an API in which the templates of a class are there until they are deleted.
type passing struct {
	API
	names []string
}

func (p *passing) DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	out := &ec2.DescribeLaunchTemplatesOutput{}
	for _, n := range p.names {
		out.LaunchTemplates = append(out.LaunchTemplates, types.LaunchTemplate{LaunchTemplateName: &n, LaunchTemplateId: &n})
	}
	return out, nil
}

func (p *passing) DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error) {
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

// A template has another name with each new image and each change of a class.
func TestNothingIsKeptOfTemplatesThatAreDeleted(t *testing.T) {
	now := time.Unix(1000, 0)
	api := &passing{}
	s := NewStore(api, "kerf", func() time.Time { return now })
	if n, err := s.Collect(t.Context(), time.Hour); n != 0 || err != nil {
		t.Fatalf("%d were collected: %v", n, err)
	}
	for i := range 100 {
		api.names = []string{fmt.Sprintf("%s%d", namePrefix, i)}
		s.use(api.names[0])
		s.markExisting(api.names[0])
		now = now.Add(2 * time.Hour)
		if n, err := s.Collect(t.Context(), time.Hour); n != 1 || err != nil {
			t.Fatalf("%d were collected: %v", n, err)
		}
	}
	if len(s.entries) != 0 {
		t.Errorf("%d are left", len(s.entries))
	}
}

// A standby that takes over has not seen which templates the leader before it used.
func TestWhoTakesOverDeletesNothingAtFirst(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewStore(&passing{names: []string{namePrefix + "used-by-the-former-leader"}}, "kerf", func() time.Time { return now })
	for _, step := range []struct {
		wait    time.Duration
		deleted int
	}{
		{100 * time.Hour, 0}, // as a standby
		{time.Hour, 0},
		{time.Second, 1},
	} {
		now = now.Add(step.wait)
		if n, err := s.Collect(t.Context(), time.Hour); n != step.deleted || err != nil {
			t.Errorf("after %s more %d were deleted, want %d: %v", step.wait, n, step.deleted, err)
		}
	}
}
