package launchtemplate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// passing is an API in which the templates of a class are there until they are deleted.
type passing struct {
	API
	names, deleted []string
	made           map[string]*time.Time // by name without prefix
}

func (p *passing) DescribeLaunchTemplates(context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	out := &ec2.DescribeLaunchTemplatesOutput{}
	for _, n := range p.names {
		out.LaunchTemplates = append(out.LaunchTemplates, types.LaunchTemplate{LaunchTemplateName: &n, LaunchTemplateId: &n, CreateTime: p.made[strings.TrimPrefix(n, namePrefix)]})
	}
	return out, nil
}

func (p *passing) DeleteLaunchTemplate(_ context.Context, in *ec2.DeleteLaunchTemplateInput, _ ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error) {
	p.deleted = append(p.deleted, *in.LaunchTemplateId)
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

// A template has another name with each new image and each change of a class.
func TestNothingIsKeptOfTemplatesThatAreDeleted(t *testing.T) {
	now := time.Unix(1000, 0)
	api := &passing{}
	s := NewStore(api, "kerf", func() time.Time { return now })
	for i := range 100 {
		api.names = []string{fmt.Sprintf("%s%d", namePrefix, i)}
		s.use(api.names[0])
		s.markExisting(api.names[0])
		now = now.Add(2 * time.Hour)
		if n, err := s.Collect(t.Context(), time.Hour, nil); n != 1 || err != nil {
			t.Fatalf("%d were collected: %v", n, err)
		}
	}
	if len(s.entries) != 0 {
		t.Errorf("%d are left", len(s.entries))
	}
}

// A standby that takes over has not seen which templates the leader before it used. Its instances tell, and no time has to pass first:
// where leaders change often none would live that long.
func TestWhoTakesOverDeletesWhatNoLeaderUsed(t *testing.T) {
	now := time.Unix(1e6, 0)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	api := &passing{made: map[string]*time.Time{"made lately": ago(time.Minute)}}
	for _, n := range []string{"launched from lately", "launched from before", "made lately", "unused", "asked for here"} {
		api.names = append(api.names, namePrefix+n)
		if api.made[n] == nil {
			api.made[n] = ago(100 * time.Hour)
		}
	}
	s := NewStore(api, "kerf", func() time.Time { return now })
	s.use(namePrefix + "asked for here")
	instance := func(template string, age time.Duration) *cloud.Instance {
		return &cloud.Instance{Tags: map[string]string{tagID: namePrefix + template}, LaunchedAt: *ago(age)}
	}
	n, err := s.Collect(t.Context(), time.Hour, []*cloud.Instance{
		instance("launched from lately", 59*time.Minute), instance("launched from lately", 10*time.Hour), instance("launched from before", 2*time.Hour),
		{LaunchedAt: now}, // of another template than ours
	})
	if want := []string{namePrefix + "launched from before", namePrefix + "unused"}; n != 2 || err != nil || !slices.Equal(api.deleted, want) {
		t.Errorf("%d were deleted, %q, want %q: %v", n, api.deleted, want, err)
	}
}
